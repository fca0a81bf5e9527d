"""FoldConstant: what depends on constants only is computed while compiling."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import arguments, assert_same, calls, run_interp
from tvm import relax, topi
from tvm.ir import IRModule, SourceName, Span, assert_structural_equal
from tvm.ir.span import span_scope
from tvm.relax import op
from tvm.relax.transform import FoldConstant, LegalizeOps
from tvm.relax.transform.fold_constant import LARGEST_FROM_NOTHING
from tvm.relax.transform.kernel_runner import SMALL, SMALL_AT_ONCE, KernelRunner
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(3)


def _const(*shape: int, dtype: str = "float32") -> relax.Constant:
    return relax.const(RNG.uniform(-2, 2, shape).astype(dtype))


def _module(build, *shapes: tuple[int, ...]) -> IRModule:
    """A module whose `main` has a dataflow block made by `build(bb, *params)`."""
    bb = relax.BlockBuilder()
    params = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(shapes)
    ]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(build(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


def folded(mod: IRModule) -> IRModule:
    after = FoldConstant()(mod)
    args = arguments(mod["main"])
    assert_same(run_interp(mod, args), run_interp(after, args))
    assert relax.analysis.well_formed(after)
    return after


def test_operators_by_their_reference():
    a, b = _const(4, 3), _const(4, 3)

    def build(bb, x):
        product = bb.emit(op.multiply(bb.emit(op.permute_dims(a)), op.permute_dims(b)))
        return bb.emit(op.add(x, product))

    after = folded(_module(build, (3, 4)))
    assert calls(after) == ["relax.add"]
    call = after["main"].body.blocks[0].bindings[0].value
    np.testing.assert_allclose(call.args[1].data.numpy(), (a.data.numpy() * b.data.numpy()).T)


@pytest.mark.parametrize(
    "extent", [4, SMALL, SMALL_AT_ONCE], ids=["interpreted", "at once", "native"]
)
def test_kernels_by_running_them(extent: int):
    a, b = _const(extent, 3), _const(extent, 3)
    mod = LegalizeOps()(_module(lambda bb, x: op.add(x, bb.emit(op.multiply(a, b))), (extent, 3)))
    after = FoldConstant()(mod)
    assert calls(after) == ["add"]
    operands = after["main"].body.blocks[0].bindings[0].value.args[1]
    np.testing.assert_allclose(
        operands.fields[1].data.numpy(), a.data.numpy() * b.data.numpy(), rtol=1e-6
    )


@pytest.mark.parametrize("compiled", [False, True], ids=["at once", "with a sum"])
def test_which_kernels_are_compiled(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[object] = []
    native = KernelRunner._native
    monkeypatch.setattr(
        KernelRunner, "_native", lambda self, kernel: used.append(kernel) or native(self, kernel)
    )
    weight = _const(64, 48)
    make = op.sum if compiled else op.permute_dims
    mod = LegalizeOps()(_module(lambda bb, x: op.add(x, bb.emit(make(weight))), (48, 64)))
    operand = FoldConstant()(mod)["main"].body.blocks[0].bindings[0].value.args[1].fields[1]
    values = weight.data.numpy()
    np.testing.assert_allclose(operand.data.numpy(), values.sum() if compiled else values.T, 1e-4)
    assert bool(used) == compiled


def test_tuple_results_are_taken_apart():
    whole = _const(2, 6)

    def build(bb, x):
        parts = bb.emit(op.split(whole, 2, axis=1))
        return op.subtract(bb.emit(op.add(x, bb.emit(parts[1]))), bb.emit(parts[0]))

    for mod in (_module(build, (2, 3)), LegalizeOps()(_module(build, (2, 3)))):
        after = folded(mod)
        assert len(calls(after)) == 2


def test_a_result_may_be_constant():
    mod = _module(lambda bb, x: op.exp(_const(3)), (3,))
    after = folded(mod)
    assert calls(after) == []
    assert isinstance(after["main"].body.body, relax.Constant)
    assert not after["main"].body.blocks


def test_the_type_of_the_result_is_kept():
    for dtype in ("float16", "int8", "bool"):
        mod = _module(lambda bb, x, d=dtype: op.astype(relax.const(np.float32([0, 1, 2])), d), (3,))
        value = FoldConstant()(mod)["main"].body.body
        assert value.struct_info.dtype == dtype
        assert value.data.numpy().tolist() == np.float32([0, 1, 2]).astype(dtype).tolist()


def test_spans_go_to_the_constant():
    span = Span(SourceName("model"), 7, 7, 1, 2)

    def build(bb, x):
        with span_scope(span):
            folded_away = bb.emit(op.exp(_const(3)))
        return op.add(x, folded_away)

    mod = _module(build, (3,))
    assert mod["main"].body.blocks[0].bindings[0].value.span is span
    call = FoldConstant()(mod)["main"].body.blocks[0].bindings[0].value
    assert call.args[1].span is span


@pytest.mark.parametrize("legal", [False, True])
def test_small_constants_are_made_from_nothing_and_large_ones_are_not(legal: bool):
    def folds(size: int) -> bool:
        mod = _module(lambda bb, x: op.add(x, bb.emit(op.zeros((size,), "float32"))), (size,))
        after = FoldConstant()(LegalizeOps()(mod) if legal else mod)
        return len(calls(after)) == 1

    assert not folds(LARGEST_FROM_NOTHING + 1)
    if legal:
        assert folds(LARGEST_FROM_NOTHING)


def test_parameters_stay():
    mod = _module(lambda bb, x, y: op.add(bb.emit(op.multiply(x, _const(3))), y), (3,), (3,))
    assert FoldConstant()(mod) is not None
    assert calls(FoldConstant()(mod)) == ["relax.multiply", "relax.add"]


def test_symbolic_results_stay():
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            with R.dataflow():
                gv = R.broadcast_to(R.const([1.0], "float32"), R.shape([n]))
                R.output(gv)
            return gv

    assert calls(FoldConstant()(Mod)) == ["relax.broadcast_to"]


def test_impure_calls_stay():
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            _ = R.print(R.const([1.0], "float32"), format="{}")
            gv = R.call_packed("some.function", R.const([1.0], "float32"),
                               sinfo_args=R.Tensor((1,), "float32"))
            return gv

    assert len(calls(FoldConstant()(Mod))) == 2


def test_opaque_kernels_stay():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            gv = R.call_dps_packed("some.function", (R.const([1.0], "float32"),),
                                   out_sinfo=R.Tensor((1,), "float32"))
            return gv

    assert len(calls(FoldConstant()(Mod))) == 1


def test_match_cast_of_a_constant_stays():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            with R.dataflow():
                a = R.add(R.const([1.0, 2.0], "float32"), R.const([1.0, 2.0], "float32"))
                b = R.match_cast(a, R.Tensor((2,), "float32"))
                gv = R.add(b, x)
                R.output(gv)
            return gv

    after = folded(Mod)
    assert calls(after) == ["relax.add"]
    assert any(isinstance(b, relax.MatchCast) for b in after["main"].body.blocks[0].bindings)


def test_constants_stand_at_their_uses_everywhere():
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
            a = R.add(R.const([1.0, 2.0], "float32"), R.const([1.0, 2.0], "float32"))
            with R.dataflow():
                b = R.multiply(a, a)
                d = R.multiply(x, b)
                R.output(b, d)
            if c:
                e = R.add(b, d)
            else:
                e = R.exp(b)
            return (a, e)

    @I.ir_module
    class Expected:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
            with R.dataflow():
                d = R.multiply(x, R.const([4.0, 16.0], "float32"))
                R.output(d)
            if c:
                e = R.add(R.const([4.0, 16.0], "float32"), d)
            else:
                e = R.const(np.exp(np.float32([4.0, 16.0])))
            return (R.const([2.0, 4.0], "float32"), e)

    assert_structural_equal(folded(Mod), Expected)


def test_shapes_and_tensors_that_hold_them():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((24,), "float32")):
            with R.dataflow():
                s = R.shape([6, 5])
                t = R.shape_to_tensor(s)
                u = R.take(t, R.const([0], "int64"))
                v = R.concat((u, R.const([4], "int64")))
                w = R.tensor_to_shape(v)
                y = R.reshape(x, w)
                R.output(y)
            return y

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((24,), "float32")):
            with R.dataflow():
                y: R.Tensor((6, 4), "float32") = R.reshape(x, R.shape([6, 4]))
                R.output(y)
            return y

    assert_structural_equal(folded(Mod), Expected)


def test_constants_in_branches():
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
            if c:
                a = R.add(R.const([1.0, 2.0], "float32"), R.const([1.0, 2.0], "float32"))
                r = R.add(a, x)
            else:
                r = R.subtract(x, x)
            return r

    args = arguments(Mod["main"])
    assert_same(run_interp(Mod, args), run_interp(FoldConstant()(Mod), args))


def test_nothing_to_fold_is_the_same_function():
    mod = _module(lambda bb, x: op.exp(x), (3,))
    assert FoldConstant()(mod)["main"] is mod["main"]


def test_a_weight_that_is_used_twice_is_packed_once() -> None:
    """Kernels of the same constants give the same one."""
    weight = relax.const(np.arange(16, dtype="float32").reshape(4, 4))
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4, 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            first, again = (bb.emit_te(topi.transpose, weight) for _ in range(2))
            value = bb.emit(relax.op.matmul(x, first))
            out = bb.emit_output(relax.op.matmul(value, again))
        bb.emit_func_output(out)
    after = FoldConstant()(bb.get())
    values = [b.value for block in after["main"].body.blocks for b in block.bindings]
    found = [v.args[1] for v in values if isinstance(v, relax.Call)]
    assert len(found) == 2
    assert isinstance(found[0], relax.Constant)
    assert found[0].data is found[1].data
    np.testing.assert_array_equal(found[0].data.numpy(), weight.data.numpy().T)


def test_what_grows_beyond_memory_stays_a_call() -> None:
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        with bb.dataflow():
            tiled = bb.emit(op.tile(relax.const(np.ones((1, 1), "float32")), (2**31, 2**31)))
            out = bb.emit_output(tiled)
        bb.emit_func_output(out)
    mod = bb.finalize()
    for run in (FoldConstant(), LegalizeOps()):
        mod = run(mod)
    assert len(calls(FoldConstant()(mod))) == 1


def test_small_tensors_that_are_made_from_nothing() -> None:
    @R.function(private=True)
    def func(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            a = R.ones(R.shape([2]), "float32")
            dead = R.exp(x)
            gv = R.add(x, a)
            R.output(gv)
        return gv

    block = FoldConstant()(IRModule({"func": func}))["func"].body.blocks[0]
    assert len(block.bindings) == 1
    np.testing.assert_array_equal(block.bindings[0].value.args[1].data.numpy(), [1, 1])
