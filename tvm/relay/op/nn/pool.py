"""Pooling: windows, whole images, and a wanted number of windows."""

from __future__ import annotations

from typing import Any

from tvm import tir
from tvm.ir.type import Type
from tvm.relax import op as R
from tvm.relay.expr import Call
from tvm.relay.op.declare import (
    ATTRS_CLASSES,
    INJECTIVE,
    OUT_FUSABLE,
    REQUIRED,
    Expr,
    Lower,
    Relate,
    RelayOp,
    dynamic,
    is_open,
    relay_op,
    scalar,
    topi,
)
from tvm.relay.op.relations import extents, is_any, tensor, tensor_type
from tvm.relay.ty import Any as AnyDim

from .conv import _with_rank, arranged, letters
from .utils import all_sides, get_pad_tuple1d, get_pad_tuple2d, get_pad_tuple3d

_PADS = {1: get_pad_tuple1d, 2: get_pad_tuple2d, 3: get_pad_tuple3d}
_TE = {1: topi.nn.pool1d, 2: topi.nn.pool2d, 3: topi.nn.pool3d}


def _axes(layout: str) -> str:
    return "".join(s for s in layout if s in "DHW")


def _pool_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    o = ctx.attrs
    sizes = letters(o.layout, extents(x))
    axes = _axes(o.layout)
    pads = all_sides(o.padding, len(axes))
    for at, axis in enumerate(axes):
        if is_any(sizes[axis]):
            continue
        reach = (int(o.pool_size[at]) - 1) * int(o.dilation[at]) + 1
        room = sizes[axis] + pads[at] + pads[at + len(axes)] - reach
        stride = int(o.strides[at])
        if stride < 1:
            raise ctx.fail(f"a stride of {stride}", "1 or more")
        if isinstance(room, int) and room < 0:
            raise ctx.fail(f"a window of {reach} in {room + reach} along {axis}", "one that fits")
        sizes[axis] = (room + (stride - 1 if o.ceil_mode else 0)) // stride + 1
    return tensor_type(arranged(o.layout, sizes), x.dtype)


def _summed(bb: Any, x: Any, kind: str) -> Any:
    """The operand in a type that holds sums of it; the mean is of the operand's own again."""
    narrow = str(x.struct_info.dtype) in ("int8", "uint8", "int16", "uint16")
    return bb.normalize_argument(R.astype(x, "int32")) if kind == "avg" and narrow else x


def _pool_lower(count: int, kind: str) -> Lower:
    def lower(bb: Any, x: Any, **o: Any) -> Any:
        more = {"count_include_pad": o["count_include_pad"]} if kind == "avg" else {}
        return bb.call_te(
            _TE[count], _summed(bb, x, kind), list(o["pool_size"]), list(o["strides"]),
            list(o["dilation"]), list(all_sides(o["padding"], count)), kind, o["ceil_mode"],
            o["layout"], **more,
        )  # fmt: skip

    return lower


def _options(count: int, **o: Any) -> dict[str, Any]:
    for name in ("pool_size", "strides", "dilation"):
        o[name] = _with_rank(o[name], count)
    o["padding"] = _PADS[count](o["padding"])
    return o


@relay_op("nn.max_pool1d", "MaxPool1DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(1, "max"))  # fmt: skip
def max_pool1d(
    data: Expr, pool_size: Any = (1,), strides: Any = (1,), dilation: Any = (1,),
    padding: Any = (0,), layout: str = "NCW", out_layout: str = "", ceil_mode: bool = False,
) -> Call:  # fmt: skip
    """The greatest value of each window along one axis."""
    return max_pool1d.call(data, **_options(
        1, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode))  # fmt: skip


@relay_op("nn.max_pool2d", "MaxPool2DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(2, "max"))  # fmt: skip
def max_pool2d(
    data: Expr, pool_size: Any = (1, 1), strides: Any = (1, 1), dilation: Any = (1, 1),
    padding: Any = (0, 0), layout: str = "NCHW", out_layout: str = "", ceil_mode: bool = False,
) -> Call:  # fmt: skip
    """The greatest value of each window of images."""
    return max_pool2d.call(data, **_options(
        2, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode))  # fmt: skip


@relay_op("nn.max_pool3d", "MaxPool3DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(3, "max"))  # fmt: skip
def max_pool3d(
    data: Expr, pool_size: Any = (1, 1, 1), strides: Any = (1, 1, 1), dilation: Any = (1, 1, 1),
    padding: Any = (0, 0, 0), layout: str = "NCDHW", out_layout: str = "",
    ceil_mode: bool = False,
) -> Call:  # fmt: skip
    """The greatest value of each window of volumes."""
    return max_pool3d.call(data, **_options(
        3, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode))  # fmt: skip


@relay_op("nn.avg_pool1d", "AvgPool1DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(1, "avg"))  # fmt: skip
def avg_pool1d(
    data: Expr, pool_size: Any = (1,), strides: Any = (1,), dilation: Any = (1,),
    padding: Any = (0,), layout: str = "NCW", out_layout: str = "", ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:  # fmt: skip
    """The mean of each window along one axis."""
    return avg_pool1d.call(data, **_options(
        1, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad))  # fmt: skip


@relay_op("nn.avg_pool2d", "AvgPool2DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(2, "avg"))  # fmt: skip
def avg_pool2d(
    data: Expr, pool_size: Any = (1, 1), strides: Any = (1, 1), dilation: Any = (1, 1),
    padding: Any = (0, 0), layout: str = "NCHW", out_layout: str = "", ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:  # fmt: skip
    """The mean of each window of images."""
    return avg_pool2d.call(data, **_options(
        2, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad))  # fmt: skip


@relay_op("nn.avg_pool3d", "AvgPool3DAttrs", optional={"pool_size": REQUIRED},
          operands=("data",), relation=_pool_type, level=2,
          pattern=OUT_FUSABLE, lower=_pool_lower(3, "avg"))  # fmt: skip
def avg_pool3d(
    data: Expr, pool_size: Any = (1, 1, 1), strides: Any = (1, 1, 1), dilation: Any = (1, 1, 1),
    padding: Any = (0, 0, 0), layout: str = "NCDHW", out_layout: str = "",
    ceil_mode: bool = False, count_include_pad: bool = False,
) -> Call:  # fmt: skip
    """The mean of each window of volumes."""
    return avg_pool3d.call(data, **_options(
        3, pool_size=pool_size, strides=strides, dilation=dilation, padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad))  # fmt: skip


def _global_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    sizes = letters(ctx.attrs.layout, extents(x))
    sizes.update(dict.fromkeys(_axes(ctx.attrs.layout), 1))
    return tensor_type(arranged(ctx.attrs.layout, sizes), x.dtype)


def _whole(kind: str) -> Lower:
    def lower(bb: Any, x: Any, *, layout: str, out_layout: str) -> Any:
        return bb.call_te(topi.nn.adaptive_pool, _summed(bb, x, kind), [1, 1], kind, layout)

    return lower


def _global(kind: str) -> RelayOp[...]:
    def build(data: Expr, layout: str = "NCHW", out_layout: str = "") -> Call:
        return made.call(data, layout=layout, out_layout=out_layout)

    build.__name__ = build.__qualname__ = f"global_{kind}_pool2d"
    build.__doc__ = f"The {'greatest value' if kind == 'max' else 'mean'} of each channel."
    made = relay_op(
        f"nn.global_{kind}_pool2d", "GlobalPool2DAttrs", operands=("data",),
        relation=_global_type, pattern=OUT_FUSABLE, level=2, lower=_whole(kind),
    )(build)  # fmt: skip
    return made


global_max_pool2d = _global("max")
global_avg_pool2d = _global("avg")


def _adaptive_type(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    o = ctx.attrs
    sizes, axes = letters(o.layout, extents(x)), _axes(o.layout)
    if o.output_size:
        wanted = _with_rank(o.output_size, len(axes))
        sizes.update(zip(axes, wanted))
    return tensor_type(arranged(o.layout, sizes), x.dtype)


def _adaptive_lower(count: int, kind: str) -> Lower:
    func = {1: topi.nn.adaptive_pool1d, 2: topi.nn.adaptive_pool, 3: topi.nn.adaptive_pool3d}

    def lower(bb: Any, x: Any, *, output_size: Any, layout: str, out_layout: str) -> Any:
        if not output_size:
            return x
        size = list(_with_rank(output_size, count))
        return bb.call_te(func[count], _summed(bb, x, kind), size, kind, layout)

    return lower


def _adaptive(count: int, kind: str, layout: str) -> RelayOp[...]:
    default = layout

    def build(
        data: Expr, output_size: Any = None, layout: str = default, out_layout: str = ""
    ) -> Call:
        size = (output_size,) if isinstance(output_size, int) else output_size
        size = None if size is None else tuple(size)
        return made.call(data, output_size=size, layout=layout, out_layout=out_layout)

    build.__name__ = build.__qualname__ = f"adaptive_{kind}_pool{count}d"
    build.__doc__ = f"The {kind} of as many windows as are wanted."
    made = relay_op(
        f"nn.adaptive_{kind}_pool{count}d", f"AdaptivePool{count}DAttrs", operands=("data",),
        relation=_adaptive_type, pattern=OUT_FUSABLE, level=10,
        lower=_adaptive_lower(count, kind), optional={"output_size": ()},
    )(build)  # fmt: skip
    return made


adaptive_max_pool1d = _adaptive(1, "max", "NCW")
adaptive_max_pool2d = _adaptive(2, "max", "NCHW")
adaptive_max_pool3d = _adaptive(3, "max", "NCDHW")
adaptive_avg_pool1d = _adaptive(1, "avg", "NCW")
adaptive_avg_pool2d = _adaptive(2, "avg", "NCHW")
adaptive_avg_pool3d = _adaptive(3, "avg", "NCDHW")


def global_max_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The greatest value of each channel."""
    made: Call = adaptive_max_pool1d(data, 1, layout, out_layout)
    return made


def global_max_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The greatest value of each channel."""
    made: Call = adaptive_max_pool3d(data, (1, 1, 1), layout, out_layout)
    return made


def global_avg_pool1d(data: Expr, layout: str = "NCW", out_layout: str = "") -> Call:
    """The mean of each channel."""
    made: Call = adaptive_avg_pool1d(data, 1, layout, out_layout)
    return made


def global_avg_pool3d(data: Expr, layout: str = "NCDHW", out_layout: str = "") -> Call:
    """The mean of each channel."""
    made: Call = adaptive_avg_pool3d(data, (1, 1, 1), layout, out_layout)
    return made


def _second(ctx: Relate) -> Type | None:
    return tensor(ctx, 1)


def _grad_lower(kind: str) -> Lower:
    def lower(bb: Any, g: Any, x: Any, **o: Any) -> Any:
        return bb.call_te(
            topi.nn.pool_grad, g, x, list(o["pool_size"]), list(o["strides"]),
            list(all_sides(o["padding"], 2)), kind, o["ceil_mode"],
            o.get("count_include_pad", False), o["layout"],
        )  # fmt: skip

    return lower


@relay_op("nn.max_pool2d_grad", "MaxPool2DAttrs", optional={"pool_size": REQUIRED},
          operands=("out_grad", "data"), level=2,
          relation=_second, lower=_grad_lower("max"), pattern=OUT_FUSABLE)  # fmt: skip
def max_pool2d_grad(
    out_grad: Expr, data: Expr, pool_size: Any = (1, 1), strides: Any = (1, 1),
    padding: Any = (0, 0), layout: str = "NCHW", out_layout: str = "", ceil_mode: bool = False,
) -> Call:  # fmt: skip
    """The gradient of `max_pool2d`."""
    return max_pool2d_grad.call(out_grad, data, **_options(
        2, pool_size=pool_size, strides=strides, dilation=(1, 1), padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode))  # fmt: skip


@relay_op("nn.avg_pool2d_grad", "AvgPool2DAttrs", optional={"pool_size": REQUIRED},
          operands=("out_grad", "data"), level=2,
          relation=_second, lower=_grad_lower("avg"), pattern=OUT_FUSABLE)  # fmt: skip
def avg_pool2d_grad(
    out_grad: Expr, data: Expr, pool_size: Any = (1, 1), strides: Any = (1, 1),
    padding: Any = (0, 0), layout: str = "NCHW", out_layout: str = "", ceil_mode: bool = False,
    count_include_pad: bool = False,
) -> Call:  # fmt: skip
    """The gradient of `avg_pool2d`."""
    return avg_pool2d_grad.call(out_grad, data, **_options(
        2, pool_size=pool_size, strides=strides, dilation=(1, 1), padding=padding,
        layout=layout, out_layout=out_layout, ceil_mode=ceil_mode,
        count_include_pad=count_include_pad))  # fmt: skip


def _scaled(ctx: Relate) -> Type | None:
    x = tensor(ctx, 0)
    if x is None:
        return None
    o = ctx.attrs
    sizes = letters(o.layout, extents(x))
    scales = {"H": o.scale_h, "W": o.scale_w}
    if "D" in o.layout:
        scales["D"] = o.scale_d
    for axis, scale in scales.items():
        extent = sizes[axis]
        sizes[axis] = _times(extent, float(scale))
    return tensor_type(arranged(o.layout, sizes), x.dtype)


def _times(extent: Any, scale: float) -> Any:
    if is_any(extent):
        return AnyDim()
    if isinstance(extent, int):
        return round(extent * scale)
    product = tir.Cast("float64", extent) * tir.const(scale, "float64")
    return tir.Cast("int32", tir.round(product))


def _upsampled(
    x: Any, scale_h: float, scale_w: float, layout: str, method: str, align_corners: bool
) -> Any:
    """As TOPI, but for the cubic weights, which are Relay's (of its resize2d)."""
    if method != "bicubic":
        return topi.nn.upsampling(x, scale_h, scale_w, layout, method, align_corners)
    sizes = dict(zip(layout, x.shape))
    size = [_times(getattr(sizes[axis], "value", sizes[axis]), float(scale))
            for axis, scale in (("H", scale_h), ("W", scale_w))]  # fmt: skip
    mode = "align_corners" if align_corners else "asymmetric"
    return topi.image.resize2d(
        x, (0.0, 0.0, 0.0, 0.0), size, layout, "cubic", mode, bicubic_alpha=-0.5
    )


@relay_op("nn.upsampling", "UpSamplingAttrs", operands=("data",), relation=_scaled, level=2,
          pattern=INJECTIVE, optional={"scale_h": 1.0, "scale_w": 1.0},
          lower=lambda bb, x, *, scale_h, scale_w, layout, method, align_corners: bb.call_te(
              _upsampled, x, scale_h, scale_w, layout, method, align_corners)
          )  # fmt: skip
def upsampling(
    data: Expr, scale_h: Any = 1, scale_w: Any = 1, layout: str = "NCHW",
    method: str = "nearest_neighbor", align_corners: bool = False,
) -> Call:  # fmt: skip
    """Images made larger by factors."""
    if is_open(scale_h, scale_w):
        attrs = ATTRS_CLASSES["UpSamplingAttrs"](
            scale_h=0.0, scale_w=0.0, layout=layout, method=method, align_corners=align_corners
        )
        return dynamic("dyn.nn.upsampling", attrs, data, scale_h, scale_w)
    return upsampling.call(
        data, scale_h=scalar(scale_h), scale_w=scalar(scale_w), layout=layout, method=method,
        align_corners=align_corners,
    )  # fmt: skip


@relay_op("nn.upsampling3d", "UpSampling3DAttrs", operands=("data",), relation=_scaled, level=2,
          pattern=INJECTIVE, optional={"scale_d": 1.0, "scale_h": 1.0, "scale_w": 1.0},
          lower=lambda bb, x, **o: bb.call_te(
              topi.nn.upsampling3d, x, o["scale_d"], o["scale_h"], o["scale_w"], o["layout"],
              o["method"], o["coordinate_transformation_mode"]))  # fmt: skip
def upsampling3d(
    data: Expr, scale_d: Any = 1, scale_h: Any = 1, scale_w: Any = 1, layout: str = "NCDHW",
    method: str = "nearest_neighbor", coordinate_transformation_mode: str = "half_pixel",
) -> Call:  # fmt: skip
    """Volumes made larger by factors."""
    if is_open(scale_d, scale_h, scale_w):
        attrs = ATTRS_CLASSES["UpSampling3DAttrs"](
            scale_d=0.0, scale_h=0.0, scale_w=0.0, layout=layout, method=method,
            coordinate_transformation_mode=coordinate_transformation_mode,
        )  # fmt: skip
        return dynamic("dyn.nn.upsampling3d", attrs, data, scale_d, scale_h, scale_w)
    return upsampling3d.call(
        data, scale_d=scalar(scale_d), scale_h=scalar(scale_h), scale_w=scalar(scale_w),
        layout=layout, method=method,
        coordinate_transformation_mode=coordinate_transformation_mode,
    )  # fmt: skip
