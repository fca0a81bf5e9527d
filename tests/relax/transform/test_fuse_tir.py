"""FuseTIR: a group becomes one PrimFunc, its call a call_tir."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.programs import RelaxPassTest, arguments, assert_same, calls, run_interp
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.ir.span import SequentialSpan
from tvm.ir.transform import Sequential
from tvm.relax.expr import is_call_of
from tvm.relax.transform import AnnotateTIROpPattern, FuseOps, FuseTIR, LegalizeOps
from tvm.relax.transform.rebuild import all_bindings
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir.analysis import verify_well_formed
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure

FUSE = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps(2), FuseTIR()])


def fused(mod: IRModule) -> IRModule:
    """The module fused; it must still mean the same, and every PrimFunc be well formed."""
    after = FUSE(mod)
    args = arguments(mod["main"], {"n": 3, "m": 5})
    assert_same(run_interp(mod, args), run_interp(after, args))
    for func in after.functions.values():
        if isinstance(func, tir.PrimFunc):
            assert verify_well_formed(func)
    return after


def _blocks(func: tir.PrimFunc) -> list[str]:
    return [n.name_hint for n in walk(func.body) if isinstance(n, tir.Block) and n.iter_vars]


class TestChain(RelaxPassTest):
    run = FuseTIR()

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def add(x: T.Buffer((4,), "float32"), p: T.Buffer((), "float32"),
                out: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("add"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] + p[()]

        @T.prim_func(private=True)
        def square(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("square"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = x[vi] * x[vi]

        @R.function(private=True)
        def fused_add_square(
            x: R.Tensor((4,), "float32"), p: R.Tensor((), "float32")
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"Primitive": True})
            cls = Before
            with R.dataflow():
                lv = R.call_tir(cls.add, (x, p), R.Tensor((4,), "float32"))
                gv = R.call_tir(cls.square, (lv,), R.Tensor((4,), "float32"))
                R.output(gv)
            return gv

        @R.function
        def main(
            x: R.Tensor((4,), "float32"), p: R.Tensor((), "float32")
        ) -> R.Tensor((4,), "float32"):
            cls = Before
            with R.dataflow():
                gv: R.Tensor((4,), "float32") = cls.fused_add_square(x, p)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def fused_add_square(x: T.Buffer((T.int64(4),), "float32"), p: T.Buffer((), "float32"),
                             out: T.Buffer((T.int64(4),), "float32")):
            T.func_attr({"tir.noalias": True})
            lv = T.alloc_buffer((T.int64(4),), "float32")
            for i in range(4):
                with T.block("add"):
                    vi = T.axis.spatial(4, i)
                    lv[vi] = x[vi] + p[()]
            for i in range(4):
                with T.block("square"):
                    vi = T.axis.spatial(4, i)
                    out[vi] = lv[vi] * lv[vi]

        @R.function
        def main(
            x: R.Tensor((4,), "float32"), p: R.Tensor((), "float32")
        ) -> R.Tensor((4,), "float32"):
            cls = Expected
            with R.dataflow():
                gv = R.call_tir(cls.fused_add_square, (x, p), R.Tensor((4,), "float32"))
                R.output(gv)
            return gv


def test_a_kernel_used_twice_gets_variables_of_its_own():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                b = R.add(a, y)
                gv = R.add(b, b)
                R.output(gv)
            return gv

    after = fused(Mod)
    (name,) = calls(after)
    kernel = after[name]
    assert _blocks(kernel) == ["T_add", "T_add_1", "T_add_2"]
    loops = [n.loop_var for n in walk(kernel.body) if isinstance(n, tir.For)]
    assert len(set(loops)) == 3


def test_kernels_that_only_the_group_called_are_gone():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                gv = R.add(a, x)
                R.output(gv)
            return gv

    assert {v.name_hint for v in fused(Mod).functions} == {"main", "fused_relu_add"}


def test_private_buffers_of_kernels_move_into_the_root():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                a = R.mean(x, axis=[1])
                gv = R.exp(a)
                R.output(gv)
            return gv

    after = fused(Mod)
    (name,) = calls(after)
    root = after[name].body.block
    assert root.name_hint == "root"
    assert len(root.alloc_buffers) == 2


def test_a_tuple_between_kernels():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                lv = R.split(x, 2, axis=1)
                a = lv[0]
                b = lv[1]
                gv = R.add(a, b)
                R.output(gv)
            return gv

    after = fused(Mod)
    (name,) = calls(after)
    assert len(after[name].buffer_map) == 2


def _group(body: str) -> IRModule:
    """A module whose `main` calls the group `f` of this text; `double` and `two` are kernels."""
    text = f"""
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def double(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("double"):
                vi = T.axis.spatial(4, i)
                out[vi] = x[vi] * T.float32(2)

    @T.prim_func(private=True)
    def two(x: T.Buffer((4,), "float32"), a: T.Buffer((4,), "float32"),
            b: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("a"):
                vi = T.axis.spatial(4, i)
                a[vi] = x[vi] + T.float32(1)
        for i in range(4):
            with T.block("b"):
                vi = T.axis.spatial(4, i)
                b[vi] = x[vi] - T.float32(1)

    @T.prim_func(private=True)
    def scale(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32"), k: T.int64):
        for i in range(4):
            with T.block("scale"):
                vi = T.axis.spatial(4, i)
                out[vi] = x[vi] * T.Cast("float32", k)
{body}
"""
    from tvm.script import from_source

    return from_source(text)


def _check(mod: IRModule, **sizes: int) -> IRModule:
    args = arguments(mod["main"], sizes)
    after = FuseTIR()(mod)
    assert_same(run_interp(mod, args), run_interp(after, args))
    assert isinstance(after["f"], tir.PrimFunc)
    assert verify_well_formed(after["f"])
    return after


def test_a_tuple_parameter_becomes_several():
    after = _check(_group("""
    @R.function(private=True)
    def f(t: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))
          ) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = t[1]
            gv = R.call_tir(Module.double, (a,), R.Tensor((4,), "float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")
             ) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            t = (x, y)
            gv: R.Tensor((4,), "float32") = Module.f(t)
            R.output(gv)
        return gv
"""))
    assert len(after["f"].params) == 2  # the other field is not read
    assert "t" not in [binding.var.name_hint for binding in after["main"].body.blocks[0].bindings]


def test_several_results():
    after = _check(_group("""
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32")
          ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.call_tir(Module.double, (x,), R.Tensor((4,), "float32"))
            b = R.call_tir(Module.double, (a,), R.Tensor((4,), "float32"))
            R.output(a, b)
        return (a, b)

    @R.function
    def main(x: R.Tensor((4,), "float32")
             ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        with R.dataflow():
            gv: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")) = Module.f(x)
            R.output(gv)
        return gv
"""))
    assert len(after["f"].params) == 3
    assert after["f"].body.block.alloc_buffers == ()


def test_a_kernel_with_several_results_at_the_end():
    after = _check(_group("""
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32")
          ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.call_tir(Module.double, (x,), R.Tensor((4,), "float32"))
            gv = R.call_tir(Module.two, (a,), [R.Tensor((4,), "float32"),
                                               R.Tensor((4,), "float32")])
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32")
             ) -> R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")):
        with R.dataflow():
            gv: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32")) = Module.f(x)
            R.output(gv)
        return gv
"""))
    assert len(after["f"].params) == 3


def test_numbers_are_passed_as_scalars():
    after = _check(_group("""
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32"), s: R.Shape(["k"])) -> R.Tensor((4,), "float32"):
        k = T.int64()
        R.func_attr({"Primitive": True})
        with R.dataflow():
            a = R.call_tir(Module.double, (x,), R.Tensor((4,), "float32"))
            gv = R.call_tir(Module.scale, (a,), R.Tensor((4,), "float32"), tir_vars=R.shape([k]))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32"), s: R.Shape(["k"])) -> R.Tensor((4,), "float32"):
        k = T.int64()
        with R.dataflow():
            gv: R.Tensor((4,), "float32") = Module.f(x, R.shape([k]))
            R.output(gv)
        return gv
"""), k=3)
    scalar = after["f"].params[-1]
    assert scalar.dtype == "int64"
    assert scalar not in after["f"].buffer_map
    call = after["main"].body.blocks[0].bindings[0].value
    assert [v.name for v in call.args[2].values] == ["k"]


def test_symbolic_extents_are_those_of_the_group():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("m",), "float32")):
            with R.dataflow():
                a = R.add(x, y)
                gv = R.multiply(a, a)
                R.output(gv)
            return gv

    after = fused(Mod)
    kernel = after["fused_add_multiply"]
    shapes = [kernel.buffer_map[p].shape for p in kernel.params]
    assert shapes[0][1] is shapes[1][0]
    assert shapes[0][0] is shapes[2][0]


def test_a_size_that_only_the_result_has():
    @I.ir_module
    class Mod:
        @R.function
        def main(s: R.Shape(["n"])) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            with R.dataflow():
                a = R.full(R.shape([n]), R.const(2, "float32"), dtype="float32")
                gv = R.add(a, a)
                R.output(gv)
            return gv

    after = fused(Mod)
    assert calls(after) == ["fused_full_add"]


def test_the_call_has_the_spans_of_all_its_kernels():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                gv = R.add(a, x)
                R.output(gv)
            return gv

    wanted = [b.value.span.line for b in Mod["main"].body.blocks[0].bindings]
    after = FUSE(Mod)
    span = after["main"].body.blocks[0].bindings[0].value.span
    assert isinstance(span, SequentialSpan)
    assert [part.line for part in span.spans] == wanted


def test_the_kernel_of_a_public_group_is_private():
    mod = _group("""
    @R.function
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            gv = R.call_tir(Module.double, (x,), R.Tensor((4,), "float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        gv: R.Tensor((4,), "float32") = Module.f(x)
        return gv
""")
    assert dict(_check(mod)["f"].attrs.items()) == {"tir.noalias": True}


def test_sizes_of_a_shape_are_numbers_at_the_end():
    after = _check(_group("""
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32"), s: R.Shape(["m", "m"])) -> R.Tensor((4,), "float32"):
        m = T.int64()
        R.func_attr({"Primitive": True})
        with R.dataflow():
            gv = R.call_tir(Module.scale, (x,), R.Tensor((4,), "float32"), tir_vars=R.shape([m]))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor(("n",), "float32")
             ) -> R.Tensor((4,), "float32"):
        n = T.int64()
        with R.dataflow():
            s: R.Shape([n, n]) = R.shape([n, n])
            gv = Module.f(x, s)
            R.output(gv)
        return gv
"""), n=7)
    call = after["main"].body.blocks[-1].bindings[-1].value
    assert len(call.args[2].values) == 1
    assert len(after["f"].params) == 3


def _separated(first: str, second: str) -> IRModule:
    from tvm.script import from_source

    return from_source(f"""
# from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k1(x: T.Buffer((4, 4), "float32"), z: T.Buffer((4, 4), "float32", axis_separators=[1])):
        for i, j in T.grid(4, 4):
            with T.block("k1"):
                vi, vj = T.axis.remap("SS", [i, j])
                z[vi, vj] = x[vi, vj] + T.float32(1)

    @T.prim_func(private=True)
    def k2(x: T.Buffer((4, 4), "float32"{first}), z: T.Buffer((4, 4), "float32"{second})):
        for i, j in T.grid(4, 4):
            with T.block("k2"):
                vi, vj = T.axis.remap("SS", [i, j])
                z[vi, vj] = x[vi, vj] * T.float32(2)

    @R.function(private=True)
    def f(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        R.func_attr({{"Primitive": True}})
        with R.dataflow():
            a = R.call_tir(Module.k1, (x,), R.Tensor((4, 4), "float32"))
            gv = R.call_tir(Module.k2, (a,), R.Tensor((4, 4), "float32"))
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
        with R.dataflow():
            gv = Module.f(x)
            R.output(gv)
        return gv
""")


def test_axis_separators_stay():
    cut = ", axis_separators=[1]"
    kernel = FuseTIR()(_separated(cut, cut))["f"]
    params = [kernel.buffer_map[param] for param in kernel.params]
    assert [len(buffer.axis_separators) for buffer in params] == [0, 1]
    inner = kernel.body.block.alloc_buffers
    assert [len(buffer.axis_separators) for buffer in inner] == [1]
    with pytest.raises(TVMError, match=r"Inconsistent buffers .* mapped to the same relax var: a"):
        FuseTIR()(_separated("", cut))


def test_a_module_without_groups_stays_the_same():
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            gv = R.nn.relu(x)
            return gv

    assert FuseTIR()(Mod) is Mod


def test_rejects_a_group_that_is_more_than_kernels():
    mod = _group("""
    @R.function(private=True)
    def f(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        gv: R.Tensor((4,), "float32") = Module.f(x)
        return gv
""")
    with pytest.raises(TVMError, match=r"a group calls .*relax.nn.relu.*; legal: call_tir"):
        FuseTIR()(mod)


def test_rejects_shapes_that_are_not_known():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
    with bb.function("f", [x], {"Primitive": True}, private=True):
        with bb.dataflow():
            out = bb.emit_output(relax.op.exp(x))
        group = bb.emit_func_output(out)
    y = relax.Var("y", relax.TensorStructInfo(None, "float32", ndim=2))
    with bb.function("main", [y]):
        bb.emit_func_output(bb.emit(relax.Call(group, [y])))
    with pytest.raises(TVMError, match="FuseTIR: the shape of 'x' is not known"):
        FuseTIR()(bb.get())


class TestItemOfAKernelWithSeveralResults(RelaxPassTest):
    """The group's result is the second one; the others are temporaries."""

    run = FuseTIR()

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def halves(
            A: T.Buffer((T.int64(4),), "float32"),
            low: T.Buffer((T.int64(2),), "float32"),
            high: T.Buffer((T.int64(2),), "float32"),
        ):
            for i in range(T.int64(2)):
                with T.block("low"):
                    v = T.axis.spatial(T.int64(2), i)
                    low[v] = A[v]
            for i in range(T.int64(2)):
                with T.block("high"):
                    v = T.axis.spatial(T.int64(2), i)
                    high[v] = A[v + T.int64(2)]

        @R.function(private=True)
        def fused_halves(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
            R.func_attr({"Primitive": True})
            cls = Before
            with R.dataflow():
                lv = R.call_tir(
                    cls.halves, (x,),
                    out_sinfo=[R.Tensor((2,), "float32"), R.Tensor((2,), "float32")],
                )
                gv = lv[1]
                R.output(gv)
            return gv

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
            cls = Before
            with R.dataflow():
                gv: R.Tensor((2,), "float32") = cls.fused_halves(x)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def fused_halves(
            x: T.Buffer((T.int64(4),), "float32"), gv: T.Buffer((T.int64(2),), "float32")
        ):
            T.func_attr({"tir.noalias": True})
            low = T.alloc_buffer((T.int64(2),))
            for i in range(T.int64(2)):
                with T.block("low"):
                    v = T.axis.spatial(T.int64(2), i)
                    low[v] = x[v]
            for i in range(T.int64(2)):
                with T.block("high"):
                    v = T.axis.spatial(T.int64(2), i)
                    gv[v] = x[v + T.int64(2)]

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
            cls = Expected
            with R.dataflow():
                gv = R.call_tir(cls.fused_halves, (x,), out_sinfo=R.Tensor((2,), "float32"))
                R.output(gv)
            return gv


def test_the_kernels_variable_has_the_signature_of_the_kernel() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                y = R.exp(x)
                z = R.nn.relu(y)
                R.output(z)
            return z

    grouped = FuseOps(fuse_opt_level=4)(AnnotateTIROpPattern()(LegalizeOps()(Mod)))
    before = grouped.get_global_var("fused_tir_exp_relu")
    after = FuseTIR()(grouped).get_global_var("fused_tir_exp_relu")
    assert not after.struct_info.purity  # it writes to its last parameter
    assert len(after.struct_info.params) == 2
    assert len(before.struct_info.params) == 1


def test_kernels_of_a_device_stay_kernels_of_it() -> None:
    @I.ir_module
    class Mod:
        I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice("cuda")]})

        @R.function
        def main(x: R.Tensor((4,), "float32", "llvm:0"), y: R.Tensor((4,), "float32", "cuda:0")):
            with R.dataflow():
                a = R.exp(x)
                b = R.add(a, a)
                c = R.exp(y)
                d = R.add(c, c)
                R.output(b, d)
            return (b, d)

    passes = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps(), FuseTIR()])
    fused = {var.name_hint: func for var, func in passes(Mod).functions.items()}
    targets = {name: func.attrs.get("target") for name, func in fused.items() if name != "main"}
    assert {name: target.kind.name for name, target in targets.items()} == {
        "fused_tir_exp_llvm_add_llvm": "llvm",
        "fused_tir_exp_cuda_add_cuda": "cuda",
    }


@I.ir_module
class TupleAmongResults:
    @R.function(private=True)
    def group(x: R.Tensor((4, 3), "float32")):
        with R.dataflow():
            a = R.tan(x)
            t = R.split(a, 2, axis=0)
            R.output(a, t)
        return (t, a)

    @R.function
    def main(x: R.Tensor((4, 3), "float32")):
        cls = TupleAmongResults
        with R.dataflow():
            lv = cls.group(x)
            t = lv[0]
            first = R.exp(t[0])
            a = lv[1]
            R.output(t, a, first)
        return (t, a, first)


def test_a_tuple_among_several_results() -> None:
    before = LegalizeOps()(TupleAmongResults)  # which leaves groups as they are
    group = before.get_global_var("group")
    marked = before[group].with_attr("Primitive", True)
    before = before.with_functions({**before.functions, group: marked})
    after = FuseTIR()(before)
    args = arguments(before["main"])
    assert_same(run_interp(before, args), run_interp(after, args))
    values = [binding.value for binding in all_bindings(after["main"])]
    info = next(value for value in values if is_call_of(value, "relax.call_tir")).sinfo_args[0]
    assert [list(field.shape.values) for field in info.fields] == [[2, 3], [2, 3], [4, 3]]
    assert relax.analysis.well_formed(after)


@pytest.mark.cpu
def test_a_tuple_among_several_results_runs() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((4, 6), "float32")):
            with R.dataflow():
                a = R.tan(x)
                t = R.split(a, 2, axis=1)
                first = R.exp(t[0])
                R.output(a, t, first)
            return (t, a, first)

    (x,) = arguments(Module["main"])
    vm = relax.VirtualMachine(tvm.compile(Module, target="llvm"), tvm.cpu())
    (low, high), a, first = vm["main"](tvm.runtime.tensor(x))
    np.testing.assert_allclose(a.numpy(), np.tan(x), rtol=1e-4)
    np.testing.assert_array_equal(np.hstack([low.numpy(), high.numpy()]), a.numpy())
    np.testing.assert_allclose(first.numpy(), np.exp(low.numpy()), rtol=1e-5)


def test_one_tensor_for_two_parameters_is_one_region():
    @I.ir_module
    class Twice:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            with R.dataflow():
                lv = R.add(x, x)
                gv = R.exp(lv)
                R.output(gv)
            return gv

    (func,) = [f for f in fused(Twice).functions.values() if isinstance(f, tir.PrimFunc)]
    reads = [len(n.reads) for n in walk(func.body) if isinstance(n, tir.Block) and n.iter_vars]
    assert reads == [1, 1]


def test_names_of_buffers_come_from_the_kernels():
    @I.ir_module
    class Chain:
        @R.function
        def main(x: R.Tensor((4, "n"), "float32")):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = R.negative(lv)
                gv = R.add(lv1, x)
                R.output(gv)
            return gv

    (func,) = [f for f in fused(Chain).functions.values() if isinstance(f, tir.PrimFunc)]
    names = [func.buffer_map[param].name for param in func.params]
    assert names == ["x", "T_add_intermediate"]
    assert [param.name for param in func.params] == ["p_x", "p_output0"]
    inner = [buffer.name for buffer in func.body.block.alloc_buffers]
    assert inner == ["compute_intermediate", "compute_intermediate_1"]


def test_what_a_group_gives_twice_is_written_twice() -> None:
    """A tuple, and items of it."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def both(
            x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32"), z: T.Buffer((4,), "int32")
        ):
            for i in range(4):
                with T.block("y"):
                    v = T.axis.spatial(4, i)
                    y[v] = x[v] + T.float32(1)
            for i in range(4):
                with T.block("z"):
                    v = T.axis.spatial(4, i)
                    z[v] = T.Cast("int32", x[v])

        @R.function(private=True)
        def group(x: R.Tensor((4,), "float32")):
            R.func_attr({"Primitive": True})
            with R.dataflow():
                lv = R.call_tir(
                    Mod.both, (x,), out_sinfo=[R.Tensor((4,), "float32"), R.Tensor((4,), "int32")]
                )
                gv = lv[0]
                gv1 = lv[1]
                R.output(lv, gv, gv1)
            return (lv, gv, gv1, gv)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                gv = Mod.group(x)
                R.output(gv)
            return gv

    after = FuseTIR()(Mod)
    args = arguments(Mod["main"], {})
    assert_same(run_interp(Mod, args), run_interp(after, args))
    assert _blocks(after["group"]) == ["y", "z", "same", "same_1", "same_2"]
