"""Convolutions of integers take their channels last, where the CPU multiplies groups of them.

    y = conv2d(x, w)    ->    lv = permute_dims(x, [0, 2, 3, 1])
                              lv1 = conv2d(lv, w', data_layout="NHWC", kernel_layout="OHWI")
                              y = permute_dims(lv1, [0, 3, 1, 2])

What stands between two of them follows (`ConvertLayout`), so bytes are transposed at the ends only.
Convolutions of floats keep their layout: their own schedules know it.
"""

from __future__ import annotations

from typing import Final

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, PassInfo
from tvm.relax.expr import Call, Function, is_call_of
from tvm.relax.op.layout_rules import LayoutOutput
from tvm.relax.transform.convert_layout import Converter
from tvm.relax.transform.integer_convolutions import is_taken
from tvm.relax.transform.pass_form import FunctionPass
from tvm.relax.transform.rebuild import all_bindings

_WANTED: Final = {"relax.nn.conv2d": ["NHWC", "OHWI"]}


class _Integers(Converter):
    RULES = (*Converter.RULES, "FFollowLayout")

    def _ask(self, call: Call) -> LayoutOutput | None:
        """The layouts of what is no convolution, or one of those; others keep theirs."""
        if is_call_of(call, "relax.nn.conv2d") and not is_taken(call):
            return None
        return super()._ask(call)


def IntegerLayouts() -> FunctionPass:
    """For the convolutions that `IntegerProducts` knows."""

    def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        calls = [b.value for b in all_bindings(func) if is_call_of(b.value, "relax.nn.conv2d")]
        if not any(is_taken(call) for call in calls):
            return func
        return _Integers(func, mod, _WANTED).run()

    return FunctionPass(run, PassInfo(0, "IntegerLayouts", ()))
