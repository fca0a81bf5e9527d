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
from tvm.relax.expr import Call, Function
from tvm.relax.op.layout_rules import LayoutOutput
from tvm.relax.transform.convert_layout import Converter
from tvm.relax.transform.integer_convolutions import CHANNELS_LAST, is_convolution, is_taken
from tvm.relax.transform.pass_form import FunctionPass
from tvm.relax.transform.rebuild import all_bindings

_WANTED: Final = {name: [data, kernel] for name, (data, kernel) in CHANNELS_LAST.items()}


class _Integers(Converter):
    RULES = (*Converter.RULES, "FFollowLayout")

    def _ask(self, call: Call) -> LayoutOutput | None:
        """The layouts of what is no convolution, or one of those; others keep theirs."""
        if is_convolution(call) and not is_taken(call):
            return None
        return super()._ask(call)


def IntegerLayouts() -> FunctionPass:
    """For the convolutions that `IntegerProducts` knows."""

    def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        values = [binding.value for binding in all_bindings(func)]
        if not any(is_convolution(value) and is_taken(value) for value in values):
            return func
        return _Integers(func, mod, _WANTED).run()

    return FunctionPass(run, PassInfo(0, "IntegerLayouts", ()))
