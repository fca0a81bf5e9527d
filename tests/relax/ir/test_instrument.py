"""Programs checked around passes."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.ir.instrument import WellFormedInstrument
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Good:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y


def _bad() -> IRModule:
    x = relax.Var("x", R.Tensor((4,), "float32"))
    func = relax.Function([x], relax.SeqExpr([], relax.Var("y", x.struct_info)), x.struct_info)
    return IRModule({relax.GlobalVar("main"): func.with_attr("global_symbol", "main")})


@tvm.transform.module_pass(opt_level=0, name="Break")
def break_it(mod: IRModule, ctx: PassContext) -> IRModule:
    return _bad()


def test_good_programs_pass() -> None:
    with PassContext(instruments=[WellFormedInstrument()]):
        after = relax.transform.LegalizeOps()(Good)
    assert len(after.functions) == 2


def test_bad_programs_are_refused() -> None:
    with PassContext(instruments=[WellFormedInstrument()]):
        with pytest.raises(AssertionError, match=r"after pass 'Break'[\s\S]*'y' is used and not"):
            break_it(Good)
        with pytest.raises(AssertionError, match="before pass 'FoldConstant'"):
            relax.transform.FoldConstant()(_bad())


def test_options() -> None:
    fold = relax.transform.CanonicalizeBindings()
    with PassContext(instruments=[WellFormedInstrument(validate_before_transform=False)]):
        with pytest.raises(AssertionError, match="after pass"):
            fold(_bad())
    with PassContext(instruments=[WellFormedInstrument()]):
        relax.transform.Normalize()(_bad())


def test_the_default_context_takes_it() -> None:
    context = PassContext.current()
    context.override_instruments([WellFormedInstrument()])
    try:
        with pytest.raises(AssertionError, match="Break"):
            break_it(Good)
    finally:
        context.override_instruments([])
