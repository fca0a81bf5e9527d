"""Convolutions, pooling and resizing in wanted layouts (the rules of `ConvertLayout`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call

from . import image, nn, vision
from .op import register_convert_op_layout

Rule = Callable[[Any, Sequence[RelaxExpr], Sequence[Any], Sequence[str]], Call]


def is_skipped() -> bool:
    """Whether the scope of `LayoutConfig` leaves out the convolution that is asked about."""
    from tvm.relay.transform.alter_layout import LayoutConfig

    config = LayoutConfig.current
    return config is not None and config.check_skip()


def _is_depthwise(attrs: Any, tinfos: Sequence[Any]) -> bool:
    """One filter a channel: as many groups as input channels, and one channel each."""
    if int(attrs.groups) == 1:
        return False
    layout = "".join(s for s in attrs.data_layout if s.isalpha())
    kernel = "".join(s for s in attrs.kernel_layout if s.isalpha())
    channels = int(tinfos[0].shape[layout.index("C")])
    if "c" in layout:
        channels *= int(tinfos[0].shape[layout.index("c")])
    shape = tinfos[1].shape
    one = int(shape[kernel.index("I")]) if kernel != "HWOI" else channels // int(attrs.groups)
    return channels == int(attrs.groups) and one == 1


def _refuse(name: str, wanted: str) -> ValueError:
    return ValueError(f"{name}: Layout {wanted} is not yet supported.")


def _pair(name: str, desired_layouts: Sequence[str]) -> tuple[str, str]:
    if len(desired_layouts) != 2:
        raise ValueError(
            f"A desired layout is expected for both of {name}'s inputs; "
            f"found {list(desired_layouts)}; "
            'legal: one of the data and one of the weight, as ["NHWC", "default"]'
        )
    data, kernel = map(str, desired_layouts)
    if data == "default":
        raise ValueError(f"{name}: Data layout cannot be default; legal: a layout such as NHWC")
    return data, kernel


def _convolution(name: str, kernels: Callable[[str, Any, Sequence[Any]], str | None]) -> Rule:
    def rule(
        attrs: Any, inputs: Sequence[RelaxExpr], tinfos: Sequence[Any],
        desired_layouts: Sequence[str],
    ) -> Call:  # fmt: skip
        op = Op.get(name)
        if is_skipped():
            return Call(op, inputs, attrs)
        data, kernel = _pair(name, desired_layouts)
        blocked = re.match(r"NCHW(\d+)c", data)
        if kernel == "default":
            if blocked:
                raise ValueError(f"{name}: Kernel layout cannot be default for {data}")
            chosen = kernels(data, attrs, tinfos)
            if chosen is None:
                raise _refuse(name, data)
            kernel = chosen
        made = attrs.replaced(data_layout=data, kernel_layout=kernel)
        if blocked and name == "nn.conv2d":
            depthwise = _is_depthwise(attrs, tinfos)
            kind = "depthwise_conv2d" if depthwise else "conv2d"
            op = Op.get(f"nn.contrib_{kind}_NCHWc")
        return Call(op, inputs, made)

    return rule


def _conv2d_kernel(data: str, attrs: Any, tinfos: Sequence[Any]) -> str | None:
    if data == "NHWC":
        return "HWOI" if _is_depthwise(attrs, tinfos) else "HWIO"
    return {"NCHW": "OIHW", "HWNC": "HWOI"}.get(data)


def _qnn_kernel(data: str, attrs: Any, tinfos: Sequence[Any]) -> str | None:
    if data == "NHWC":
        return "HWOI" if _is_depthwise(attrs, tinfos) else "HWIO"
    return "OIHW" if data == "NCHW" else None


def _table(**known: str) -> Callable[[str, Any, Sequence[Any]], str | None]:
    return lambda data, attrs, tinfos: known.get(data)


def _own_layout(name: str) -> Rule:
    """Pooling and resizing: one layout, of what comes and what goes."""

    def rule(
        attrs: Any, inputs: Sequence[RelaxExpr], tinfos: Sequence[Any],
        desired_layouts: Sequence[str],
    ) -> Call:  # fmt: skip
        wanted = str(desired_layouts[0])
        changes = {"layout": wanted}
        if "out_layout" in type(attrs).DEFAULTS:
            changes["out_layout"] = wanted
        return Call(Op.get(name), inputs, attrs.replaced(**changes))

    return rule


_CONVOLUTIONS = {
    "nn.conv2d": _conv2d_kernel,
    "nn.conv2d_transpose": _table(NCHW="IOHW", NHWC="HWIO"),
    "nn.conv3d": _table(NCDHW="OIDHW", NDHWC="DHWIO"),
    "nn.conv3d_transpose": _table(NCDHW="IODHW", NDHWC="DHWIO"),
    "nn.deformable_conv2d": _table(NCHW="OIHW", NHWC="HWIO"),
    "qnn.conv2d": _qnn_kernel,
    "qnn.conv2d_transpose": _table(NCHW="IOHW", NHWC="HWIO"),
}
_OWN = (
    "nn.max_pool2d", "nn.avg_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d",
    "image.resize1d", "image.resize2d", "vision.roi_align", "vision.roi_pool",
)  # fmt: skip

for _name, _kernels in _CONVOLUTIONS.items():
    if not _name.startswith("qnn."):
        register_convert_op_layout(_name, _convolution(_name, _kernels))
for _name in _OWN:
    register_convert_op_layout(_name, _own_layout(_name))


assert image and nn and vision, "they are declared before rules hang on them"


def register_qnn_rules() -> None:
    """The rules of the quantized convolutions, once those are declared."""
    for name, kernels in _CONVOLUTIONS.items():
        if name.startswith("qnn."):
            register_convert_op_layout(name, _convolution(name, kernels))
    register_convert_op_layout("qnn.avg_pool2d", _own_layout("qnn.avg_pool2d"))
