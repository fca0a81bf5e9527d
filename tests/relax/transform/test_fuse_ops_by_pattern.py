"""FuseOpsByPattern: composite functions of what patterns describe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import arguments, assert_same, run_interp
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.dpl.pattern import (
    is_const,
    is_op,
    is_tuple,
    is_tuple_get_item,
    make_fused_bias_activation_pattern,
    wildcard,
)
from tvm.relax.transform import (
    FuseOpsByPattern,
    FusionPattern,
    MergeCompositeFunctions,
    PatternCheckContext,
)
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

CONV_RELU = make_fused_bias_activation_pattern("relax.nn.conv2d", activation="relax.nn.relu")
CONV = make_fused_bias_activation_pattern("relax.nn.conv2d")


def check(mod: IRModule, patterns: list[Any], expected: IRModule, **options: Any) -> IRModule:
    after = FuseOpsByPattern(patterns, **options)(mod)
    assert relax.analysis.well_formed(after)
    tvm.ir.assert_structural_equal(after, expected)
    return after


@I.ir_module
class Conv2dReLU:
    @R.function
    def main(
        data: R.Tensor((1, 64, 56, 56), "float32"), weight1: R.Tensor((64, 64, 3, 3), "float32")
    ):
        with R.dataflow():
            conv1 = R.nn.relu(R.nn.conv2d(data, weight1, padding=(1, 1)))
            R.output(conv1)
        return conv1


@I.ir_module
class Conv2dReLU_composite:
    @R.function
    def main(
        data: R.Tensor((1, 64, 56, 56), "float32"), weight1: R.Tensor((64, 64, 3, 3), "float32")
    ) -> R.Tensor((1, 64, 56, 56), "float32"):
        cls = Conv2dReLU_composite
        with R.dataflow():
            gv = cls.fused_relax_nn_conv2d_relax_nn_relu(data, weight1)
            R.output(gv)
        return gv

    @R.function(private=True)
    def fused_relax_nn_conv2d_relax_nn_relu(
        data1: R.Tensor((1, 64, 56, 56), "float32"), weight11: R.Tensor((64, 64, 3, 3), "float32")
    ) -> R.Tensor((1, 64, 56, 56), "float32"):
        R.func_attr({"Composite": "dnnl.conv2d_relu", "Primitive": True})
        with R.dataflow():
            lv = R.nn.conv2d(data1, weight11, padding=(1, 1))
            gv1 = R.nn.relu(lv)
            R.output(gv1)
        return gv1


@I.ir_module
class Conv2dReLU_annotated:
    @R.function
    def main(
        data: R.Tensor((1, 64, 56, 56), "float32"), weight1: R.Tensor((64, 64, 3, 3), "float32")
    ) -> R.Tensor((1, 64, 56, 56), "float32"):
        cls = Conv2dReLU_annotated
        with R.dataflow():
            gv = cls.fused_relax_nn_conv2d_relax_nn_relu_dnnl(data, weight1)
            R.output(gv)
        return gv

    @R.function
    def fused_relax_nn_conv2d_relax_nn_relu_dnnl(
        data1: R.Tensor((1, 64, 56, 56), "float32"), weight11: R.Tensor((64, 64, 3, 3), "float32")
    ) -> R.Tensor((1, 64, 56, 56), "float32"):
        R.func_attr({"Codegen": "dnnl"})

        @R.function
        def gv1(
            data2: R.Tensor((1, 64, 56, 56), "float32"),
            weight12: R.Tensor((64, 64, 3, 3), "float32"),
        ) -> R.Tensor((1, 64, 56, 56), "float32"):
            R.func_attr({"Composite": "dnnl.conv2d_relu"})
            with R.dataflow():
                lv = R.nn.conv2d(data2, weight12, padding=(1, 1))
                gv2 = R.nn.relu(lv)
                R.output(gv2)
            return gv2

        gv11 = gv1(data1, weight11)
        return gv11


def test_a_chain() -> None:
    patterns = [("dnnl.conv2d_relu", CONV_RELU)]
    check(Conv2dReLU, patterns, Conv2dReLU_composite)
    check(Conv2dReLU, patterns, Conv2dReLU_annotated, annotate_codegen=True)


def test_patterns_are_tried_in_order() -> None:
    @I.ir_module
    class Two:
        @R.function
        def main(x: R.Tensor((1, 8, 8, 8), "float32"), w: R.Tensor((8, 8, 3, 3), "float32")):
            with R.dataflow():
                a = R.nn.conv2d(x, w, padding=(1, 1))
                b = R.nn.relu(a)
                c = R.nn.conv2d(b, w, padding=(1, 1))
                R.output(c)
            return c

    after = FuseOpsByPattern([("x.conv2d_relu", CONV_RELU), ("x.conv2d", CONV)])(Two)
    names = sorted(var.name_hint for var in after.functions)
    assert names == ["fused_relax_nn_conv2d", "fused_relax_nn_conv2d_relax_nn_relu", "main"]
    after = FuseOpsByPattern([("x.conv2d", CONV), ("x.conv2d_relu", CONV_RELU)])(Two)
    assert sorted(var.name_hint for var in after.functions) == ["fused_relax_nn_conv2d", "main"]
    assert "R.nn.relu" in str(after["main"])


@pytest.mark.parametrize("bind", [True, False])
def test_constants(bind: bool) -> None:
    weight = relax.const(np.ones((8, 8, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((1, 8, 8, 8), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.nn.conv2d(x, weight))
        bb.emit_func_output(out)
    after = FuseOpsByPattern([("x.conv2d", CONV)], bind_constants=bind)(bb.get())
    func = after["fused_relax_nn_conv2d"]
    call = func.body.blocks[0].bindings[0].value
    assert isinstance(call.args[1], relax.Constant) is bind
    assert len(func.params) == (1 if bind else 2)


@I.ir_module
class Split:
    @R.function
    def main(inp: R.Tensor((16, 32), "float32")):
        with R.dataflow():
            tup = R.split(inp, [16], axis=1)
            out = R.add(tup[0], tup[1])
            R.output(out)
        return out


def test_items_of_tuples() -> None:
    @I.ir_module
    class Whole:
        @R.function(private=True)
        def fused_relax_split_relax_add(
            inp: R.Tensor((16, 32), "float32"),
        ) -> R.Tensor((16, 16), "float32"):
            R.func_attr({"Composite": "x.split", "Primitive": True})
            with R.dataflow():
                tup = R.split(inp, indices_or_sections=[16], axis=1)
                lv1 = tup[0]
                lv2 = tup[1]
                out = R.add(lv1, lv2)
                R.output(out)
            return out

        @R.function
        def main(inp: R.Tensor((16, 32), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Whole
            with R.dataflow():
                out = cls.fused_relax_split_relax_add(inp)
                R.output(out)
            return out

    @I.ir_module
    class Alone:
        @R.function(private=True)
        def fused_relax_split(
            inp: R.Tensor((16, 32), "float32"),
        ) -> R.Tuple(R.Tensor((16, 16), "float32"), R.Tensor((16, 16), "float32")):
            R.func_attr({"Composite": "x.split", "Primitive": True})
            with R.dataflow():
                gv = R.split(inp, indices_or_sections=[16], axis=1)
                R.output(gv)
            return gv

        @R.function
        def main(inp: R.Tensor((16, 32), "float32")) -> R.Tensor((16, 16), "float32"):
            cls = Alone
            with R.dataflow():
                lv = cls.fused_relax_split(inp)
                lv1 = lv[0]
                lv2 = lv[1]
                out = R.add(lv1, lv2)
                R.output(out)
            return out

    split = is_op("relax.split")(wildcard())
    add = is_op("relax.add")(is_tuple_get_item(split, 0), is_tuple_get_item(split, 1))
    check(Split, [("x.split", add)], Whole)
    check(Split, [("x.split", split)], Alone)


def test_checks_see_names_and_bindings() -> None:
    lhs, rhs = wildcard(), is_const()
    conv = is_op("relax.exp")(lhs)
    pattern = is_op("relax.add")(conv, rhs)
    seen: list[PatternCheckContext] = []

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.add(a, R.const(1.0, "float32"))
                R.output(b)
            return b

    def never(context: PatternCheckContext) -> bool:
        seen.append(context)
        return False

    parts = {"lhs": lhs, "rhs": rhs, "exp": conv, "root": pattern}
    assert "fused" not in str(FuseOpsByPattern([("x.a", pattern, parts, never)])(Mod))
    context = seen[0]
    a, b = Mod["main"].body.blocks[0].bindings
    assert context.matched_expr is b.value
    assert isinstance(context.annotated_expr["lhs"], relax.Var)
    assert isinstance(context.annotated_expr["rhs"], relax.Constant)
    assert context.annotated_expr["exp"] is a.value
    assert context.annotated_expr["root"] is b.value
    assert dict(context.matched_bindings) == {a.var: a.value, b.var: b.value}
    assert context.var_usages[a.var] == [b.var]
    assert context.value_to_bound_var[a.value] is a.var


def test_attributes_of_the_function() -> None:
    x = wildcard()
    pattern = FusionPattern(
        "x.exp",
        is_op("relax.exp")(x),
        {"x": x},
        attrs_getter=lambda found: {"input": found["x"].name_hint},
    )
    assert pattern.name == "x.exp"
    assert pattern.annotation_patterns == {"x": x}
    assert pattern.check is None

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                R.output(a)
            return a

    after = FuseOpsByPattern([pattern])(Mod)
    assert after["fused_relax_exp"].attrs["input"] == "x"
    copied = relax.utils.copy_with_new_vars(Mod["main"]).with_attr("global_symbol", "other")
    other = tvm.IRModule({"other": copied, **Mod.functions})
    assert "fused" not in str(FuseOpsByPattern([pattern], entry_functions=["other"])(other)["main"])
    with pytest.raises(ValueError, match="Cannot find global var 'other'"):
        FuseOpsByPattern([pattern], entry_functions=["other"])(Mod)


def test_a_tuple_from_outside_is_one_parameter() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.concat((x, y))
                c = R.concat((a, y))
                R.output(b, c)
            return (b, c)

    joined = is_op("relax.concat")(wildcard())
    after = FuseOpsByPattern([("x.join", joined)])(Mod)
    assert [str(p.struct_info) for p in after["fused_relax_concat"].params] == [
        'R.Tuple(R.Tensor((4,), dtype="float32"), R.Tensor((4,), dtype="float32"))'
    ]
    assert relax.analysis.well_formed(after)
    made = is_op("relax.concat")(is_tuple([is_op("relax.exp")(wildcard()), wildcard()]))
    after = FuseOpsByPattern([("x.both", made)])(Mod)
    assert len(after["fused_relax_exp_relax_concat"].params) == 2  # `a` is its own
    with pytest.raises(TVMError, match="a compiler name followed by period"):
        FuseOpsByPattern([("join", joined)], annotate_codegen=True)(Mod)


def test_a_value_that_others_read_comes_out_too() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.tanh(a)
                c = R.sigmoid(a)
                d = R.add(b, c)
                R.output(d)
            return d

    pattern = is_op("relax.tanh")(is_op("relax.exp")(wildcard()))
    after = FuseOpsByPattern([("x.f", pattern)])(Mod)
    assert relax.analysis.well_formed(after)
    assert len(after["fused_relax_exp_relax_tanh"].ret_struct_info.fields) == 2


def test_a_group_that_would_need_itself_is_refused() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.tanh(a)
                c = R.add(a, b)
                R.output(c)
            return c

    pattern = is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard())
    with pytest.raises(TVMError, match=r"A cyclic dependency detected.*pattern 'x.f'"):
        FuseOpsByPattern([("x.f", pattern)])(Mod)
    left = FuseOpsByPattern([("x.f", pattern, {}, lambda context: False)])(Mod)
    assert "fused" not in str(left)


def test_the_later_and_larger_match_stands() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                R.output(b)
            return b

    exp = is_op("relax.exp")(wildcard())
    after = FuseOpsByPattern([("x.f", exp | is_op("relax.sin")(exp))])(Mod)
    assert sorted(v.name_hint for v in after.functions) == ["fused_relax_exp_relax_sin", "main"]


def test_results_come_as_they_are_first_read() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(a)
                c = R.cos(b)
                d = R.cos(a)
                e = R.add(c, d)
                R.output(e)
            return e

    pattern = is_op("relax.sin")(is_op("relax.exp")(wildcard()))
    after = FuseOpsByPattern([("x.f", pattern)])(Mod)
    fused = after["fused_relax_exp_relax_sin"]
    made = {b.var: b.value.op.name for b in fused.body.blocks[0].bindings}
    assert [made[field] for field in fused.body.body.fields] == ["relax.sin", "relax.exp"]
    bindings = after["main"].body.blocks[0].bindings
    assert [b.value.index for b in bindings[1:3]] == [1, 0]
    assert_structural_equal(after["main"].ret_struct_info, Mod["main"].ret_struct_info)


def test_a_wrapper_has_the_symbols_of_what_it_wraps() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            with R.dataflow():
                a = R.exp(x)
                R.output(a)
            return a

    pattern = is_op("relax.exp")(wildcard())
    after = FuseOpsByPattern([("x.f", pattern)], annotate_codegen=True)(Mod)
    outer = after["fused_relax_exp_x"]
    inner = outer.body.blocks[0].bindings[0].value
    assert inner.params[0].struct_info.shape[0] is outer.params[0].struct_info.shape[0]
    assert relax.analysis.well_formed(after)


def test_blocks_in_branches_and_symbols() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor(("n", 4), "float32")):
            if c:
                with R.dataflow():
                    a = R.exp(x)
                    y = R.tanh(a)
                    R.output(y)
            else:
                y = R.exp(x)
            return y

    pattern = is_op("relax.tanh")(is_op("relax.exp")(wildcard()))
    after = FuseOpsByPattern([("x.f", pattern)])(Mod)
    assert relax.analysis.well_formed(after)
    assert "fused_relax_exp_relax_tanh(x)" in str(after["main"])


def test_the_codegen_function_that_merging_makes_has_a_number() -> None:
    pattern = [("compiler_A.matmul", is_op("relax.matmul")(wildcard(), wildcard()))]

    @I.ir_module
    class Mod:
        @R.function
        def main(a: R.Tensor((4, 4), "float32"), b: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                c = R.matmul(a, b)
                R.output(c)
            return c

    one = FuseOpsByPattern(pattern, annotate_codegen=True)(Mod)
    two = MergeCompositeFunctions()(FuseOpsByPattern(pattern)(Mod))
    assert sorted(v.name_hint for v in one.functions) == ["fused_relax_matmul_compiler_A", "main"]
    assert sorted(v.name_hint for v in two.functions) == ["fused_relax_matmul1_compiler_A", "main"]


def test_rejects() -> None:
    with pytest.raises(TypeError, match="the pattern is a DFPattern"):
        FusionPattern("x", 3)  # type: ignore[arg-type]
    twice = Conv2dReLU.with_functions(
        {**Conv2dReLU.functions, tvm.ir.GlobalVar("copy"): Conv2dReLU["main"]}
    )
    with pytest.raises(ValueError, match="is defined in"):
        FuseOpsByPattern([("x", CONV)])(twice)


def test_composites_that_no_codegen_takes_compile() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 8), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.nn.relu(a)
                t = (x, b)
                c = R.concat(t, axis=1)
                R.output(t, c)
            return (t, c)

    product = is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard()))
    joined = is_op("relax.concat")(wildcard())
    mod = FuseOpsByPattern([("x.product", product), ("x.joined", joined)])(Mod)
    kernels = relax.transform.FuseTIR()(relax.transform.LegalizeOps()(mod))
    assert relax.analysis.well_formed(kernels)
    assert isinstance(kernels["fused_relax_matmul_relax_nn_relu"], tvm.tir.PrimFunc)
    args = arguments(Mod["main"], {"n": 3})
    assert_same(run_interp(Mod, args), run_interp(kernels, args))


def test_items_of_tuples_from_outside_are_operands() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(
            x: R.Tensor((8,), "float32"),
            t: R.Tuple(R.Tensor((8,), "float32"), R.Tensor((8,), "float32")),
        ):
            with R.dataflow():
                b = t[1]
                c = R.add(x, b)
                d = R.split(c, 2)
                e = d[0]
                f = R.negative(e)
                R.output(f)
            return f

    added = is_op("relax.add")(wildcard(), is_tuple_get_item(wildcard()))
    halved = is_op("relax.negative")(is_tuple_get_item(is_op("relax.split")(wildcard()), 0))
    mod = FuseOpsByPattern([("x.added", added), ("x.halved", halved)])(Mod)
    infos = [p.struct_info for p in mod["fused_relax_add"].params]
    assert all(isinstance(one, relax.TensorStructInfo) for one in infos)
    assert len(mod["fused_relax_split_relax_negative"].params) == 1
    args = arguments(Mod["main"], {})
    assert_same(run_interp(Mod, args), run_interp(mod, args))
