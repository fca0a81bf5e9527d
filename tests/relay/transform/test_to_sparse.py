"""Weights that are mostly zeros as blocks: the same results, from fewer products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError
from tvm.relay.analysis import sparse_conv2d, sparse_dense
from tvm.relay.analysis.sparse_weights import block_sparse
from tvm.relay.data_dep_optimization import bsr_conv2d, bsr_dense

pytestmark = pytest.mark.cpu


def blocks(rng: Any, rows: int, columns: int, block: tuple[int, int], share: float) -> Any:
    kept = rng.random((rows // block[0], columns // block[1])) < share
    return (rng.normal(size=(rows, columns)) * np.kron(kept, np.ones(block))).astype("float32")


def value(func: Any, params: Any, *args: Any) -> Any:
    made = relay.create_executor("graph", tvm.IRModule.from_expr(func), params=params)
    return made.evaluate()(*args).numpy()


def names(func: Any) -> list[str]:
    found: list[str] = []
    relay.analysis.post_order_visit(func, lambda e: found.append(e.op.name)
                                    if isinstance(e, relay.Call) else None)  # fmt: skip
    return found


def test_dense() -> None:
    rng = np.random.default_rng(0)
    x, w, v = (relay.var(n, shape=s) for n, s in
               (("x", (4, 32)), ("w", (16, 32)), ("v", (8, 16))))  # fmt: skip
    func = relay.Function([x, w, v], relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), v))
    given = {"w": tvm.nd.array(blocks(rng, 16, 32, (4, 1), 0.2)),
             "v": tvm.nd.array(rng.normal(size=(8, 16)).astype("float32"))}  # fmt: skip
    made, params = bsr_dense.convert(func, given, (4, 1), 0.6)
    assert names(made) == ["nn.sparse_dense", "nn.relu", "nn.dense"]
    assert sorted(params) == ["v", "w.data", "w.indices", "w.indptr"]
    assert [p.name_hint for p in made.params] == ["x", "v", "w.data", "w.indices", "w.indptr"]
    assert sorted(given) == ["v", "w"]
    data = rng.normal(size=(4, 32)).astype("float32")
    np.testing.assert_allclose(value(made, params, data), value(func, given, data), rtol=1e-4,
                               atol=1e-5)  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [1, 3])
def test_conv2d(layout: str, size: int) -> None:
    rng = np.random.default_rng(size)
    flat = blocks(rng, 8, size * size * 4, (4, 1), 0.3).reshape(8, size, size, 4)
    order, shape, kernel = {
        "NHWC": ((1, 2, 3, 0), (1, 5, 6, 4), "HWIO"), "NCHW": ((0, 3, 1, 2), (1, 4, 5, 6), "OIHW"),
    }[layout]  # fmt: skip
    weight = np.ascontiguousarray(flat.transpose(order))
    x, w = relay.var("x", shape=shape), relay.var("w", shape=weight.shape)
    body = relay.nn.conv2d(x, w, channels=8, kernel_size=(size, size), data_layout=layout,
                           kernel_layout=kernel, padding=(size // 2, size // 2))  # fmt: skip
    func, given = relay.Function([x, w], body), {"w": tvm.nd.array(weight)}
    data = rng.normal(size=shape).astype("float32")
    wanted = value(func, given, data)
    for convert in (bsr_conv2d.convert, bsr_conv2d.convert2):
        made, params = convert(func, given, (4, 1), 0.5, layout, size)
        assert names(made) == ["nn.sparse_conv2d"]
        np.testing.assert_allclose(value(made, params, data), wanted, rtol=1e-4, atol=1e-5)


def test_what_is_not_sparse_enough_stays() -> None:
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    func = relay.Function([x, w], relay.nn.dense(x, w))
    params = {"w": tvm.nd.array(np.ones((4, 8), "float32"))}
    assert sparse_dense.process_params(func, params, (1, 1), 0.1).weight_name == []
    assert sorted(params) == ["w"]
    assert names(bsr_dense.convert(func, params, (1, 1), 0.1)[0]) == ["nn.dense"]
    image, k = relay.var("x", shape=(1, 8, 8, 4)), relay.var("k", shape=(1, 1, 4, 8))
    strided = relay.nn.conv2d(image, k, channels=8, kernel_size=(1, 1), strides=(2, 2),
                              data_layout="NHWC", kernel_layout="HWIO")  # fmt: skip
    zeros = {"k": tvm.nd.array(np.zeros((1, 1, 4, 8), "float32"))}
    found = sparse_conv2d.process_params(strided, zeros, (1, 1), 0.5, "NHWC", 1)
    assert found.weight_name == []


def test_blocks_of_a_matrix() -> None:
    matrix = np.zeros((4, 6), "float32")
    matrix[2, 3] = matrix[3, 0] = 1
    data, columns, starts = block_sparse(matrix, (2, 3))
    assert data.shape == (2, 2, 3)
    assert columns.tolist() == [0, 1]
    assert starts.tolist() == [0, 0, 2]
    with pytest.raises(TVMError, match="do not cover"):
        block_sparse(matrix, (3, 1))
