"""Kernels as TVM has them, and as programs that run get them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm import relax, tir
from tvm.relax import interp
from tvm.relax.op.for_programs import FOR_PROGRAMS

pytestmark = pytest.mark.pure
op = relax.op


def module(infos: list[tuple[Any, str]], made: Callable[..., relax.Expr]) -> Any:
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(*info)) for i, info in enumerate(infos)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(bb.emit(made(*params)))
        bb.emit_func_output(out)
    return bb.get()


def kernel(mod: Any, name: str, rules: Any = None) -> str:
    return str(relax.transform.LegalizeOps(rules)(mod)[name].script())


def run(mod: Any, *args: Any) -> Any:
    return interp.run(relax.transform.LegalizeOps(FOR_PROGRAMS)(mod), *args)


X = np.arange(6, dtype="float32")


def test_indices_of_any_sign() -> None:
    mod = module([((6,), "float32"), ((2, 1), "int64"), ((2,), "float32")], op.scatter_nd)
    assert "if_then_else" not in kernel(mod, "scatter_nd")
    got = run(mod, X, np.array([[-1], [1]]), np.float32([10, 20]))
    assert got.tolist() == [0, 20, 2, 3, 4, 10]
    mod = module([((6,), "float32"), ((2,), "int64")], lambda x, i: op.index_tensor(x, [i]))
    assert "if_then_else" not in kernel(mod, "index_tensor")
    assert run(mod, X, np.array([-1, 1])).tolist() == [5, 1]


def test_slices_of_any_bounds() -> None:
    n = tir.Var("n", "int64")
    mod = module([((n,), "float32")], lambda x: op.strided_slice(x, [0], [1], [9]))
    assert "[v_ax0 + T.int64(1)]" in kernel(mod, "strided_slice")
    assert run(mod, X).tolist() == [1, 2, 3, 4, 5]
    mod = module([((n,), "float32")], lambda x: op.strided_slice(x, [0], [9], [-99], [-2]))
    assert run(mod, X).tolist() == [5, 3, 1]
    bounds = [((1,), "int64")] * 3
    mod = module([((6,), "float32"), *bounds], op.dynamic_strided_slice)
    assert "T.min(x1[T.int64(0)], T.int64(5))" in kernel(mod, "dynamic_strided_slice")


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_by_the_batch_in_training(training: bool) -> None:
    x = np.random.default_rng(0).random((4, 3, 2), "float32")
    ones, mean = np.ones(3, "float32"), np.full(3, 0.25, "float32")
    mod = module(
        [((4, 3, 2), "float32"), *[((3,), "float32")] * 4],
        lambda *t: op.nn.batch_norm(*t, axis=1, training=training),
    )
    got = run(mod, x, ones, 0 * ones, mean, ones)[0]
    mid, var = (x.mean((0, 2)), x.var((0, 2))) if training else (mean, ones)
    wanted = (x - mid[:, None]) / np.sqrt(var[:, None] + 1e-5)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4)
    # TVM's own kernels have it the other way round
    assert ("T_reshape[v_ax0, v_ax1, v_ax2] = x3[" in kernel(mod, "batch_norm")) == training
