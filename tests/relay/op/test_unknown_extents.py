"""Extents that are known when a program runs, or are symbols: types, and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, te
from tvm.error import DiagnosticError

pytestmark = pytest.mark.cpu
ANY = relay.Any
N, M = te.size_var("n"), te.size_var("m")


def x(*shape: Any, dtype: str = "float32", name: str = "x") -> Any:
    return relay.var(name, relay.TensorType(shape, dtype))


def type_of(expr: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))["main"].body.checked_type


def q() -> Any:
    return ANY()


TYPES: list[tuple[Callable[[], Any], str]] = [
    (lambda: relay.add(x(q(), q()), x(4, 2)), "(4, 2)"),
    (lambda: relay.concatenate([x(4, 3), x(q(), 3, name="y")], 1), "(?, 6)"),
    (lambda: relay.concatenate([x(q(), q()), x(4, 3, name="y")], 1), "(4, ?)"),
    (lambda: relay.stack([x(q(), 3), x(2, 3, name="y")], 0), "(2, ?, 3)"),
    (lambda: relay.nn.batch_matmul(x(q(), 2, 4), x(3, 5, 4, name="y")), "(?, 2, 5)"),
    (lambda: relay.reshape(x(q(), 3, 4), (0, -1)), "(?, 12)"),
    (lambda: relay.reshape(x(q(), 3, 4), (1, 4, -1)), "(1, 4, ?)"),
    (lambda: relay.reshape(x(q(), q()), (-4, -1, 2, -2)), "(?, 2, ?)"),
    (lambda: relay.squeeze(x(q(), q(), 1), axis=[0]), "(?, 1)"),
    (lambda: relay.strided_slice(x(q(), 4), [1, 0], [3, 2]), "(?, 2)"),
    (lambda: relay.strided_slice(x(q(), 4), [None, 1], [None, None]), "(?, 3)"),
    (lambda: relay.sparse_to_dense(x(q(), 2, dtype="int32"), [3, 3], x(q())), "(3, 3)"),
    (lambda: relay.layout_transform(x(q(), 16, 4, 5), "NCHW", "NCHW8c"), "(?, 2, 4, 5, 8)"),
    (lambda: relay.einsum([x(q(), 3), x(3, 4)], "ij,jk->ik"), "(?, 4)"),
    (lambda: relay.nn.conv2d(x(q(), 3, 8, q()), x(8, 3, 3, 3)), "(?, 8, 6, ?)"),
]


@pytest.mark.parametrize("at", range(len(TYPES)))
def test_types_of_unknown_extents(at: int) -> None:
    make, shape = TYPES[at]
    assert str(type_of(make())) == f"Tensor[{shape}, float32]"


SYMBOLIC: list[tuple[Callable[[], Any], tuple[Any, ...]]] = [
    (lambda: relay.stack([x(N, M), x(N, M)], axis=-1), (N, M, 2)),
    (lambda: relay.repeat(x(N, M), 2, 1), (N, M * 2)),
    (lambda: relay.meshgrid([x(N), x(3)])[0], (N, 3)),
    (lambda: relay.image.resize2d(x(N, 3, 8, 8), (16, 16)), (N, 3, 16, 16)),
    (lambda: relay.nn.space_to_depth(x(N, 1, 4, 4), 2), (N, 4, 2, 2)),
    (lambda: relay.nn.deformable_conv2d(x(N, 3, 8, 8), x(N, 18, 6, 6), x(4, 3, 3, 3)),
     (N, 4, 6, 6)),
    (lambda: relay.strided_slice(x(N, 4), [None, 1], [None, None]), (N, 3)),
    (lambda: relay.nn.bitserial_dense(x(N, M, dtype="int16"), x(M, 32, dtype="int16"), units=32),
     (N, 32)),
]  # fmt: skip


@pytest.mark.parametrize("at", range(len(SYMBOLIC)))
def test_types_of_symbols(at: int) -> None:
    make, shape = SYMBOLIC[at]
    found = type_of(make())
    assert found == relay.TensorType(shape, found.dtype)


def test_axes_that_may_go_are_named() -> None:
    with pytest.raises(DiagnosticError, match="no axes are named"):
        type_of(relay.squeeze(x(1, q(), 2)))


def test_a_slice_from_the_back() -> None:
    data = np.arange(12, dtype="float32").reshape(3, 4)
    cases = [([None, 2], [None, None], [1, 1], data[:, 2:]),
             ([None, -1], [None, None], [-1, -1], data[::-1, ::-1]),
             ([1, None], [None, 3], [2, 2], data[1::2, :3:2])]  # fmt: skip
    for begin, end, strides, wanted in cases:
        sliced = relay.strided_slice(x(3, 4), begin, end, strides)
        assert type_of(sliced) == relay.TensorType(wanted.shape)
        func = relay.Function(relay.analysis.free_vars(sliced), sliced)
        np.testing.assert_array_equal(run(func, data), wanted)


def run(func: Any, *args: Any, kind: str = "debug") -> Any:
    made = relay.create_executor(kind, tvm.IRModule.from_expr(func)).evaluate()(*args)
    return made.numpy()


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_extents_any_of_which_may_be_one(kind: str) -> None:
    a, b = x(q(), q(), name="a"), x(q(), q(), name="b")
    rows, row = np.arange(12, dtype="float32").reshape(3, 4), np.ones((1, 4), "float32")
    column = np.array([[2], [3], [4]], "float32")
    total = relay.Function([a, b], relay.multiply(relay.add(a, b), relay.const(2.0)))
    np.testing.assert_array_equal(run(total, rows, row, kind=kind), (rows + row) * 2)
    np.testing.assert_array_equal(run(total, column, rows, kind=kind), (column + rows) * 2)
    joined = relay.Function([a, b], relay.concatenate([a, b], axis=0))
    np.testing.assert_array_equal(run(joined, rows, row, kind=kind), np.vstack([rows, row]))


def test_the_largest_of_an_unknown_number() -> None:
    a = x(q(), q())
    data = np.array([[3, 1, 2], [0, 5, 4]], "float32")
    func = relay.Function([a], relay.topk(a, k=2, ret_type="values"))
    np.testing.assert_array_equal(run(func, data), [[3, 2], [5, 4]])


def test_the_length_of_indices_may_be_told() -> None:
    index = x(q(), q(), dtype="int64", name="i")
    func = relay.Function([a := x(q(), q()), index], relay.gather_nd(a, index, index_rank=2))
    data = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(run(func, data, np.array([[0, 2], [1, 3]])), [1, 11])


@pytest.mark.parametrize(
    ("op", "layout"),
    [
        (relay.image.resize1d, "NCW"), (relay.image.resize1d, "NWC"),
        (relay.image.resize2d, "NCHW"), (relay.image.resize2d, "NHWC"),
        (relay.image.resize2d, "NCHW2c"), (relay.image.resize3d, "NCDHW"),
        (relay.image.resize3d, "NDHWC"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("out_dtype", [None, "float32"])
def test_sizes_of_images_may_be_variables(op: Any, layout: str, out_dtype: str | None) -> None:
    axes = [axis for axis in layout if axis.isalpha()]
    batch, sizes = tvm.te.size_var("n"), {a: tvm.te.var(a.lower()) for a in axes if a in "DHW"}
    known = {"N": batch, "C": 3, "c": 2}
    data = relay.TensorType([known.get(a, 8) for a in axes], "int8")
    call = op(relay.var("x", data), tuple(sizes.values()), layout=layout, out_dtype=out_dtype)
    found = relay.transform.InferType()(tvm.IRModule.from_expr(call))["main"].ret_type
    wanted = [known[a] if a in known else sizes[a] for a in axes]
    assert found == relay.TensorType(wanted, out_dtype or "int8")
