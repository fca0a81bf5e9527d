"""MergeCompositeFunctions: neighbours of one code generator join."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.dpl.pattern import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern, MergeCompositeFunctions
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def _merged(mod: IRModule, *patterns: tuple[str, str]) -> IRModule:
    made = [(name, is_op(op)(wildcard())) for name, op in patterns]
    after = MergeCompositeFunctions()(FuseOpsByPattern(made)(mod))
    assert relax.analysis.well_formed(after)
    return after


def test_a_chain() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Before
            with R.dataflow():
                lv = cls.fused_relax_exp(x)
                gv = cls.fused_relax_tanh(lv)
                R.output(gv)
            return gv

        @R.function(private=True)
        def fused_relax_exp(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Composite": "dnnl.exp", "Primitive": True})
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            return gv

        @R.function(private=True)
        def fused_relax_tanh(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            R.func_attr({"Composite": "dnnl.tanh", "Primitive": True})
            with R.dataflow():
                gv = R.tanh(x)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Expected
            with R.dataflow():
                gv = cls.fused_relax_exp_relax_tanh_dnnl(x)
                R.output(gv)
            return gv

        @R.function
        def fused_relax_exp_relax_tanh_dnnl(
            x: R.Tensor((4,), "float32"),
        ) -> R.Tensor((4,), "float32"):
            R.func_attr({"Codegen": "dnnl"})

            @R.function
            def lv(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                R.func_attr({"Composite": "dnnl.exp"})
                with R.dataflow():
                    a = R.exp(y)
                    R.output(a)
                return a

            lv1 = lv(x)

            @R.function
            def lv2(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
                R.func_attr({"Composite": "dnnl.tanh"})
                with R.dataflow():
                    a = R.tanh(y)
                    R.output(a)
                return a

            gv = lv2(lv1)
            return gv

    after = MergeCompositeFunctions()(Before)
    assert relax.analysis.well_formed(after)
    tvm.ir.assert_structural_equal(after, Expected)


@I.ir_module
class Diamond:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.tanh(a)
            c = R.sigmoid(a)
            d = R.add(b, c)
            R.output(d)
        return d


def test_another_kind_in_the_middle_stays_out() -> None:
    after = _merged(Diamond, ("A.exp", "relax.exp"), ("A.tanh", "relax.tanh"))
    assert len(after.functions) == 2
    assert str(after["main"]).count("fused_relax_exp_relax_tanh_A") == 1
    mixed = _merged(
        Diamond, ("A.exp", "relax.exp"), ("A.tanh", "relax.tanh"), ("B.sig", "relax.sigmoid")
    )
    assert sorted(v.name_hint for v in mixed.functions) == [
        "fused_relax_exp_relax_tanh_A", "fused_relax_sigmoid1_B", "main",
    ]  # fmt: skip


def test_a_circle_is_not_closed() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sigmoid(a)
                c = R.add(a, b)
                R.output(c)
            return c

    add = ("A.add", is_op("relax.add")(wildcard(), wildcard()))
    exp = ("A.exp", is_op("relax.exp")(wildcard()))
    after = MergeCompositeFunctions()(FuseOpsByPattern([exp, add])(Mod))
    assert relax.analysis.well_formed(after)
    assert len(after.functions) == 3


def test_one_local_function_for_equal_composites() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.exp(a)
                R.output(b)
            return b

    after = _merged(Mod, ("A.exp", "relax.exp"))
    text = str(after["fused_relax_exp_relax_exp_A"])
    assert text.count("@R.function") == 2


def test_without_composites_nothing_changes() -> None:
    assert MergeCompositeFunctions()(Diamond).same_as(Diamond)


def test_another_name_goes_along_and_items_stay_outside() -> None:
    @I.ir_module
    class Split:
        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((2,), "float32"):
            with R.dataflow():
                lv = R.exp(x)
                lv1 = lv
                lv2 = R.split(lv1, 2)
                lv3 = lv2[0]
                gv = R.exp(lv3)
                R.output(gv)
            return gv

    after = _merged(Split, ("dnnl.exp", "relax.exp"), ("dnnl.split", "relax.split"))
    made = [f for f in after.functions.values() if "Codegen" in f.attrs]
    assert sorted(str(f.ret_struct_info) for f in made) == [
        'R.Tensor((2,), dtype="float32")',
        'R.Tuple(R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32"))',
    ]
    values = [type(b.value).__name__ for b in after["main"].body.blocks[0].bindings]
    assert values == ["Call", "TupleGetItem", "Call"]
