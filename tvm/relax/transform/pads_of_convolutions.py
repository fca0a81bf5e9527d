"""Zeros around the data of a convolution are its own padding.

    lv = nn.pad(x, [0, 0, 0, 0, 0, 1, 0, 1])    ->    y = conv2d(x, w, padding=[0, 0, 1, 1])
    y = conv2d(lv, w, padding=0)

Keras and TensorFlow write them apart; the copy of the data is saved.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, is_call_of
from tvm.relax.op.layout_rules import options_of
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import all_bindings, rewrite_calls

_CONVOLUTIONS = ("relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d")


@relax_pass("PadsOfConvolutions")
def PadsOfConvolutions(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """For convolutions that read what `relax.nn.pad` made of zeros beside their windows' axes."""
    pads: dict[RelaxExpr, Call] = {
        b.var: b.value
        for b in all_bindings(func)
        if isinstance(b.value, Call) and is_call_of(b.value, "relax.nn.pad")
    }
    if not pads:
        return func

    def rule(bb: BlockBuilder, call: Call) -> RelaxExpr:
        return _with_padding(call, pads)

    new = rewrite_calls(func, dict.fromkeys(_CONVOLUTIONS, rule), BlockBuilder(mod))
    return func if new is func else remove_unused_bindings(new)


def _with_padding(call: Call, pads: Mapping[RelaxExpr, Call]) -> Call:
    """The convolution of what was padded, as often as it was."""
    data, options = call.args[0], options_of(call)
    layout, padding = str(options["data_layout"]), [int(n) for n in options["padding"]]
    while (pad := pads.get(data)) is not None:
        widths = _widths(pad, layout)
        if widths is None:
            break
        padding = [n + more for n, more in zip(padding, widths)]
        data = pad.args[0]
    if data is call.args[0]:
        return call
    kind: Any = type(call.attrs)
    attrs = kind(**{**options, "padding": tuple(padding)})
    return Call(call.op, [data, *call.args[1:]], attrs, call.sinfo_args, call.span)


def _widths(pad: Call, layout: str) -> list[int] | None:
    """Zeros before the axes of windows, then those after; None for other pads."""
    options = options_of(pad)
    widths = [int(n) for n in options["pad_width"]]
    if options["pad_mode"] != "constant" or options["pad_value"] != 0.0 or min(widths) < 0:
        return None
    pairs = dict(zip(layout, zip(widths[::2], widths[1::2])))
    if len(pairs) != len(layout) or any(pairs[axis] != (0, 0) for axis in "NC" if axis in pairs):
        return None
    space = [axis for axis in "DHW" if axis in pairs]
    return [pairs[axis][0] for axis in space] + [pairs[axis][1] for axis in space]
