"""Relax programs in Relay mean the same: each operator's cases, open extents, control."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.op.cases import CASES, Case
from tvm import relax, relay
from tvm.error import OpNotImplemented
from tvm.relax import interp
from tvm.relay.from_relax import from_relax
from tvm.relay.from_relax.translate import RULES
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def module(case: Case, arrays: list[Any]) -> Any:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{at}", relax.TensorStructInfo(a.shape, str(a.dtype)))
        for at, a in enumerate(arrays)
    ]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(case.build(*params)))
    return bb.finalize()


def leaves(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value.numpy() if hasattr(value, "numpy") else np.asarray(value)]


def same(found: Any, wanted: Any, tolerance: float = 1e-4) -> None:
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        a, b = (v.astype("float64") if v.dtype.kind == "V" else v for v in (a, b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-5)


def run(mod: Any, *arrays: Any) -> Any:
    return relay.create_executor("debug", mod).evaluate()(*arrays)


def check_case(case: Case) -> None:
    rng = np.random.default_rng(0)
    arrays = [x.array(rng) for x in case.tensors]
    mod = module(case, arrays)
    same(run(from_relax(mod), *arrays), interp.run(mod, *arrays), max(case.tolerance, 1e-4))


@pytest.mark.parametrize("case", CASES[::5], ids=str)
def test_operators(case: Case) -> None:
    check_case(case)


@pytest.mark.long
@pytest.mark.parametrize("case", [c for at, c in enumerate(CASES) if at % 5], ids=str)
def test_all_cases_of_operators(case: Case) -> None:
    check_case(case)


@I.ir_module
class Open:
    @R.function
    def main(
        x: R.Tensor(("n", 3, 4), "float32"),
        w: R.Tensor((4, 5), "float32"),
        y: R.Tensor(("n", 5, 2), "float32"),
    ) -> R.Tensor(("n", 3, 2), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.matmul(a, y)
            c = R.reshape(b, R.shape([n * 3, 2]))
            d = R.strided_slice(c, axes=[0], begin=[0], end=[n], strides=[1])
            e = R.broadcast_to(R.expand_dims(d, axis=[1]), R.shape([n, 3, 2]))
            f = R.add(e, R.zeros(R.shape([n, 3, 2]), "float32"))
            R.output(f)
        return f


def test_extents_that_may_be_any() -> None:
    mod = from_relax(Open)
    assert "Tensor[(?, 3, 4), float32]" in str(mod)
    rng = np.random.default_rng(1)
    w = rng.uniform(-1, 1, (4, 5)).astype("float32")
    for n in (1, 3):
        x = rng.uniform(-1, 1, (n, 3, 4)).astype("float32")
        y = rng.uniform(-1, 1, (n, 5, 2)).astype("float32")
        c = ((x @ w) @ y).reshape(n * 3, 2)
        same(run(mod, x, w, y), np.broadcast_to(c[:n, None], (n, 3, 2)))


@I.ir_module
class Control:
    @R.function
    def half(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"relax.force_pure": False})
        y: R.Tensor((2,), "float32") = R.multiply(x, R.const(0.5, "float32"))
        return y

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Control
        if c:
            y: R.Tensor((2,), "float32") = cls.half(x)
            z: R.Tensor((2,), "float32") = R.add(y, x)
        else:
            z: R.Tensor((2,), "float32") = R.negative(x)
        return z


def test_conditionals_and_functions() -> None:
    mod = from_relax(Control)
    assert "@half(" in str(mod["main"])
    x = np.array([2, 4], "float32")
    same(run(mod, np.array(True), x), x * 1.5)
    same(run(mod, np.array(False), x), -x)


def text(build: Any, *shapes: tuple[int, ...]) -> str:
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{at}", relax.TensorStructInfo(s, "float32")) for at, s in enumerate(shapes)
    ]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(build(*params)))
    return str(from_relax(bb.finalize()))


def test_forms_that_patterns_look_for() -> None:
    op = relax.op
    dense = text(lambda x, w, b: op.add(op.matmul(x, op.permute_dims(w)), b), (2, 3), (4, 3), (4,))
    assert "transpose" not in dense
    assert "nn.bias_add(%0, %x2, axis=-1)" in dense
    conv = text(
        lambda x, w, b: op.add(op.nn.conv2d(x, w), op.reshape(b, (1, 4, 1, 1))),
        (1, 3, 5, 5), (4, 3, 3, 3), (4,),
    )  # fmt: skip
    assert "nn.conv2d(%x0, %x1, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3])" in conv
    assert "nn.bias_add(%0, %x2)" in conv
    # one number is no number a channel
    assert "bias_add" not in text(lambda x, w, b: op.add(op.matmul(x, w), b), (2, 3), (3, 3), (1,))


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("flags", [(0, 0, 0), (1, 1, 1), (0, 1, 0)])
def test_distinct_elements(is_sorted: bool, flags: tuple[int, ...]) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 5), "int64"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.unique(x, is_sorted, *map(bool, flags))))
    mod, values = bb.finalize(), np.array([[3, 1, 3, 7, 1], [0, 0, 3, 3, 9]])
    same(run(from_relax(mod), values), interp.run(mod, values))


def test_kernels_stay_kernels() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    with bb.function("main", [x]):
        made = bb.emit_te(lambda a: tvm.te.compute((3,), lambda i: a[2 - i] * 2.0), x)
        bb.emit_func_output(made)
    mod = from_relax(bb.finalize())
    x_data = np.array([1, 2, 3], "float32")
    same(run(mod, x_data), x_data[::-1] * 2)
    same(relay.create_executor("graph", mod).evaluate()(x_data), x_data[::-1] * 2)


def test_kernels_of_open_extents() -> None:
    """Their extents, and what is computed from them, are numbers when they run."""
    n = tvm.tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((n, 2), "float32"))

    def twice(a: Any) -> Any:
        rows = a.shape[0]
        return tvm.te.compute((rows * 2, 2), lambda i, j: a[rows - 1 - i // 2, j] * 2.0)

    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit_te(twice, x))
    mod = from_relax(bb.finalize())
    assert str(mod["main"].body.checked_type) == "Tensor[(?, 2), float32]"
    for rows in (3, 1):
        values = np.arange(2 * rows, dtype="float32").reshape(rows, 2)
        same(run(mod, values), np.repeat(values[::-1], 2, 0) * 2)
    fixed = relay.Function([], relay.build_module.bind_params_by_name(
        mod["main"], {"x": np.ones((3, 2), "float32")}).body)  # fmt: skip
    folded = relay.transform.FoldConstant()(tvm.IRModule.from_expr(fixed))
    assert folded["main"].body.data.shape == (6, 2)


def test_refuses() -> None:
    n = tvm.tir.Var("n", "int64")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    y = relax.Var("y", relax.TensorStructInfo((n,), "float32"))
    a = tvm.te.placeholder((n,), name="a")
    kernel = tvm.te.create_prim_func([a, tvm.te.compute((n,), lambda i: a[i])])
    with bb.function("main", [x, y]):
        var = bb.add_func(kernel.without_attr("global_symbol"), "kernel")
        bb.emit_func_output(
            bb.emit(relax.op.call_tir(var, [x], relax.TensorStructInfo((n,), "float32")))
        )
    with pytest.raises(OpNotImplemented, match=r"in Relay\n  found: extents that may be any"):
        from_relax(bb.finalize())
    assert "relax.call_tir" in RULES
