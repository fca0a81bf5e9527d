"""Convolutions of floats take their channels first, as the schedules of a CPU are fastest.

    y = conv2d(x, w, data_layout="NHWC")    ->    lv = permute_dims(x, [0, 3, 1, 2])
                                                  lv1 = conv2d(lv, w')
                                                  y = permute_dims(lv1, [0, 2, 3, 1])

What stands between two of them follows (`ConvertLayout`), so the data is transposed at the ends
only. A convolution by one element is a product of matrices with its channels last, too: it goes
with what it reads.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, Final

import numpy as np

from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, PassInfo
from tvm.relax.expr import Call, Constant, Function, is_call_of
from tvm.relax.op.layout_rules import (
    Layout,
    LayoutOutput,
    broadcast,
    extents_of,
    initial,
    initial_of,
    is_plain,
    layout_axis,
    ndim_of,
    options_of,
)
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo, const_int
from tvm.relax.transform.convert_layout import Converter
from tvm.relax.transform.pass_form import FunctionPass
from tvm.relax.transform.rebuild import all_bindings

_WANTED: Final = {
    "relax.nn.conv1d": ["NCW", "OIW"],
    "relax.nn.conv2d": ["NCHW", "OIHW"],
    "relax.nn.conv3d": ["NCDHW", "OIDHW"],
    "relax.nn.conv2d_transpose": ["NCHW", "IOHW"],
}


class _Floats(Converter):
    RULES = (*Converter.RULES, "FFollowLayout")

    def _ask(self, call: Call) -> LayoutOutput | None:
        """The layouts of what is no convolution, or one of floats; others keep theirs."""
        if _wanted(call) is not None:
            given = self._layout_of(call.args[0])
            stays = _is_pointwise(call) and given == initial_of(call.args[0].struct_info_)
            if stays or not _is_float(call):
                return None
        if is_call_of(call, "relax.concat"):
            return self._joined(call) or super()._ask(call)
        return self._widened(call) or super()._ask(call)

    def _joined(self, call: Call) -> LayoutOutput | None:
        """Parts that came in several layouts take that of most elements, which others follow."""
        names, info = self._layout_of(call.args[0]), call.args[0].struct_info_
        if not isinstance(names, tuple) or len(set(names)) < 2:
            return None
        assert isinstance(info, TupleStructInfo), "what has several layouts"
        weights: Counter[Layout] = Counter()
        for name, field in zip(names, info.fields):
            weights[name] += _elements(field)
        most = weights.most_common(1)[0][0]
        axis = options_of(call)["axis"]
        if not isinstance(most, str) or not is_plain(most) or axis is None:
            return None
        position = layout_axis(most, axis)
        return LayoutOutput(((most,) * len(names),), most, {"axis": position})

    def _moved(self, value: RelaxExpr, now: Layout, to: Layout) -> RelaxExpr:
        """Constants are moved here, so that later passes know them as such."""
        if isinstance(value, Constant) and isinstance(now, str) and isinstance(to, str):
            order = [now.index(letter) for letter in to]
            return Constant(np.asarray(value.data.numpy().transpose(order), order="C"))
        return super()._moved(value, now, to)

    def _widened(self, call: Call) -> LayoutOutput | None:
        """A bias, [C] beside [N, H, W, C], becomes one of all dimensions, and moves with them."""
        if not isinstance(call.op, Op) or call.op.get_attr(self.RULES[0]) is not broadcast:
            return None
        few, many = sorted((0, 1), key=lambda i: ndim_of(call.args[i]))
        name, extents = self._layout_of(call.args[many]), extents_of(call.args[few])
        more = ndim_of(call.args[many]) - ndim_of(call.args[few])
        if more == 0 or not extents or not isinstance(name, str) or not is_plain(name):
            return None
        own = initial_of(call.args[many].struct_info_)
        if name == own or self._layout_of(call.args[few]) != initial(len(extents)):
            return None
        shape, given = ShapeExpr([*[1] * more, *extents]), self._current(call.args[few])
        wide: RelaxExpr = Call(Op.get("relax.reshape"), [given, shape])
        if isinstance(given, Constant):
            data = given.data.numpy()
            wide = Constant(data.reshape((1,) * more + data.shape))
        inputs: list[Layout] = [name, name]
        inputs[few] = initial(len(extents))
        return LayoutOutput(tuple(inputs), name, {}, {few: self._moved(wide, own, name)})


def _elements(info: StructInfo) -> int:
    """How many elements a tensor has; extents that are open count as one."""
    values = info.values if isinstance(info, TensorStructInfo) else None
    return prod(const_int(extent) or 1 for extent in values or ())


def _wanted(call: Call) -> list[str] | None:
    return next((_WANTED[name] for name in _WANTED if is_call_of(call, name)), None)


def _is_float(call: Call) -> bool:
    infos = [arg.struct_info_ for arg in call.args]
    return all(isinstance(i, TensorStructInfo) and "float" in str(i.dtype) for i in infos)


def _is_pointwise(call: Call) -> bool:
    """One element a window, each read."""
    attrs: Any = call.attrs
    weights = call.args[1].struct_info_
    if not isinstance(weights, TensorStructInfo) or weights.values is None:
        return False
    window = [
        const_int(extent) for extent, letter in zip(weights.values, attrs.kernel_layout)
        if letter in "DHW"
    ]  # fmt: skip
    whole = all(int(n) == 1 for n in attrs.strides) and not any(int(n) for n in attrs.padding)
    return whole and all(n == 1 for n in window)


def _is_moved(call: Call) -> bool:
    """A convolution that stands otherwise than it is wanted, and counts."""
    wanted, attrs = _wanted(call), call.attrs
    if wanted is None or not _is_float(call) or ndim_of(call.args[0]) == -1:
        return False
    layout = str(attrs.data_layout)  # type: ignore[union-attr]
    return layout != wanted[0] and layout.isalpha() and not _is_pointwise(call)


def ChannelsFirst() -> FunctionPass:
    """For functions with convolutions whose channels are last, which have windows or steps."""

    def run(func: Function, mod: IRModule, ctx: PassContext) -> Function:
        calls = [b.value for b in all_bindings(func) if isinstance(b.value, Call)]
        if not any(_is_moved(call) for call in calls):
            return func
        return _Floats(func, mod, _WANTED).run()

    return FunctionPass(run, PassInfo(0, "ChannelsFirst", ()))
