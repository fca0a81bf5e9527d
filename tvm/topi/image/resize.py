"""Pictures in another size: nearest, linear and cubic, in one to three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.tir.expr import as_expr
from tvm.tir.op.arith import literal
from tvm.topi import tag
from tvm.topi.common import check_same, compute, extents, known
from tvm.topi.utils import get_const_int, nchw_pack_layout, nchw_xc_layout

MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn",
         "tf_crop_and_resize")  # fmt: skip
ROUNDINGS = ("round", "floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


def can_convert_multiply_to_intdiv(origin_size: int, scaled_size: int) -> bool:
    """Whether scaling by origin / scaled is a division by a whole number."""
    quotient = float(scaled_size) / float(origin_size)
    return scaled_size % origin_size == 0 and quotient == int(quotient)


def get_1d_indices(indices: Sequence[Any], layout: str = "NCW") -> tuple[Any, ...]:
    """(n, c, x, inner c, inner n) of an element."""
    if layout == "NWC":
        n, x, c = indices
        return n, c, x, None, None
    if layout == "NCW":
        n, c, x = indices
        return n, c, x, None, None
    n, c, x, inner = indices
    return n, c, x, inner, None


def get_2d_indices(indices: Sequence[Any], layout: str = "NCHW") -> tuple[Any, ...]:
    """(n, c, y, x, inner c, inner n) of an element."""
    if layout == "NHWC":
        n, y, x, c = indices
        return n, c, y, x, None, None
    if layout == "NCHW":
        n, c, y, x = indices
        return n, c, y, x, None, None
    if nchw_pack_layout(layout):
        n, c, y, x, inner_n, inner_c = indices
        return n, c, y, x, inner_c, inner_n
    if not nchw_xc_layout(layout):
        raise ValueError(f"resize: layout {layout!r}; legal: NCHW, NHWC, NCHWinic, NCHWxc")
    n, c, y, x, inner = indices
    return n, c, y, x, inner, None


def get_3d_indices(indices: Sequence[Any], layout: str = "NCDHW") -> tuple[Any, ...]:
    """(n, c, z, y, x, inner c) of an element."""
    if layout == "NDHWC":
        n, z, y, x, c = indices
        return n, c, z, y, x, None
    if layout == "NCDHW":
        n, c, z, y, x = indices
        return n, c, z, y, x, None
    n, c, z, y, x, inner = indices
    return n, c, z, y, x, inner


def _kept(value: PrimExpr, extent: Any) -> PrimExpr:
    """A coordinate kept within the picture."""
    clipped: PrimExpr = te.max(te.min(value, as_expr(extent) - 1), tir.const(0, value.dtype))
    return clipped


def get_1d_pixel(
    data: te.Tensor, layout: str, image_width: Any, n: Any, c: Any, x: Any, cc: Any, ib: Any,
    ic: Any,
) -> PrimExpr:  # fmt: skip
    """An element of a row, the nearest one for coordinates outside."""
    x = _kept(x, image_width)
    if layout == "NWC":
        return data(n, x, c).astype("float")
    if layout == "NCW":
        return data(n, c, x).astype("float")
    return data(n, c, x, cc if ic is None else ic).astype("float")


def get_2d_pixel(
    data: te.Tensor, layout: str, image_height: Any, image_width: Any, n: Any, c: Any, y: Any,
    x: Any, cc: Any, ib: Any, ic: Any,
) -> PrimExpr:  # fmt: skip
    """An element of a picture, the nearest one for coordinates outside."""
    y, x = _kept(y, image_height), _kept(x, image_width)
    if layout == "NHWC":
        return data(n, y, x, c).astype("float")
    if layout == "NCHW":
        return data(n, c, y, x).astype("float")
    if nchw_pack_layout(layout):
        return data(n, c, y, x, ib, cc).astype("float")
    return data(n, c, y, x, cc).astype("float")


def get_3d_pixel(
    data: te.Tensor, layout: str, image_depth: Any, image_height: Any, image_width: Any, n: Any,
    c: Any, z: Any, y: Any, x: Any, cc: Any,
) -> PrimExpr:  # fmt: skip
    """An element of a volume, the nearest one for coordinates outside."""
    z, y, x = _kept(z, image_depth), _kept(y, image_height), _kept(x, image_width)
    if layout == "NDHWC":
        return data(n, z, y, x, c).astype("float")
    if layout == "NCDHW":
        return data(n, c, z, y, x).astype("float")
    return data(n, c, z, y, x, cc).astype("float")


def get_inx(
    x: PrimExpr, image_width: Any, target_width: Any, coordinate_transformation_mode: str,
    start_x: Any = 0, end_x: Any = -1, use_int_div: bool = False,
) -> PrimExpr:  # fmt: skip
    """The coordinate in the source of coordinate `x` in the result, in the given convention."""
    if use_int_div:
        return tir.div(x, _ratio_as_int(target_width, image_width))
    mode = coordinate_transformation_mode
    scale = tir.div(as_expr(image_width).astype("float"), as_expr(target_width).astype("float"))
    if mode in ("half_pixel", "pytorch_half_pixel") and literal(scale) == 1:
        return as_expr(x).astype("float")  # pixels stay where they are
    if mode == "half_pixel":
        return (as_expr(x).astype("float") + 0.5) * scale - 0.5
    if mode == "align_corners":
        last = (as_expr(image_width) - 1).astype("float")
        if known(target_width) and get_const_int(target_width) == 1:
            return tir.const(0, "float32")
        return tir.div(last, _steps(target_width)) * x
    if mode == "asymmetric":
        return scale * x
    if mode == "pytorch_half_pixel":
        several = as_expr(target_width) > 1
        return tir.if_then_else(several, (as_expr(x).astype("float") + 0.5) * scale - 0.5, 0.0)
    if mode == "tf_half_pixel_for_nn":
        return (as_expr(x).astype("float") + 0.5) * scale
    if mode == "tf_crop_and_resize":
        return _cropped(x, image_width, target_width, start_x, end_x)
    raise ValueError(
        f"Unsupported coordinate_transformation_mode: {mode!r}; legal: {', '.join(MODES)}"
    )


def _ratio_as_int(target: Any, source: Any) -> int:
    return get_const_int(target) // get_const_int(source)


def _cropped(x: PrimExpr, source: Any, target: Any, start: Any, end: Any) -> PrimExpr:
    """Coordinates spread evenly over the part from start to end (fractions of the picture)."""
    last = (as_expr(source) - 1).astype("float")
    if known(target) and get_const_int(target) <= 1:
        return (as_expr(start) + as_expr(end)) * last * 0.5
    # the fraction of the way never exceeds one, so that the last one stays within the part
    way = tir.div(as_expr(x).astype("float"), _steps(target))
    coord: PrimExpr = as_expr(start) * last + (as_expr(end) - start) * last * way
    if known(target):
        return coord
    middle = (as_expr(start) + as_expr(end)) * last * 0.5
    return tir.Select(as_expr(target) <= 1, middle, coord)


def _steps(target: Any) -> PrimExpr:
    """From the first pixel to the last; one where there is one pixel alone."""
    steps = as_expr(target) - 1
    return (steps if known(target) else tir.max(steps, 1)).astype("float")


def get_closest_index(
    in_x: PrimExpr, rounding_method: str, boxes: Any, use_int_div: bool = False
) -> PrimExpr:
    """The pixel nearest to a coordinate, rounded as the method says."""
    if use_int_div:
        return in_x.astype("int32")
    if rounding_method == "round" or boxes is not None:
        return tir.round(in_x).astype("int32")
    if rounding_method == "round_prefer_floor":
        return tir.ceil(in_x - 0.5).astype("int32")
    if rounding_method == "round_prefer_ceil":
        return tir.floor(in_x + 0.5).astype("int32")
    if rounding_method == "floor":
        # a little above, since 0.9999999 of a product of fractions is meant to be 1
        return tir.floor(in_x + 1e-5).astype("int32")
    if rounding_method == "ceil":
        return tir.ceil(in_x - 1e-5).astype("int32")
    raise ValueError(f"Unknown rounding method: {rounding_method!r}; legal: {', '.join(ROUNDINGS)}")


def cubic_weights(part: PrimExpr, alpha: float) -> list[PrimExpr]:
    """The weights of the four elements around a coordinate (R. Keys, Cubic convolution, 1981)."""
    one, two, three = part, part * part, part * part * part
    return [
        alpha * (three - 2.0 * two + one),
        (alpha + 2.0) * three - (3.0 + alpha) * two + 1.0,
        -(alpha + 2.0) * three + (3.0 + 2.0 * alpha) * two - alpha * one,
        -alpha * three + alpha * two,
    ]


class _Resizer:
    """How one call resizes: conventions, sizes, and how an element is read."""

    def __init__(
        self, data: te.Tensor, layout: str, sources: Sequence[Any], targets: Sequence[Any],
        method: str, mode: str, rounding: str, alpha: float, exclude: int, extrapolation: float,
        out_dtype: str | None,
    ) -> None:  # fmt: skip
        if mode not in MODES:
            raise ValueError(
                f"Unsupported coordinate_transformation_mode: {mode!r}; legal: {', '.join(MODES)}"
            )
        self.data, self.layout = data, layout
        self.sources, self.targets = list(sources), list(targets)
        self.method, self.mode = method, mode
        self.rounding = rounding or ("round" if mode == "align_corners" else "floor")
        self.alpha, self.exclude, self.extrapolation = alpha, exclude, extrapolation
        self.dtype = data.dtype if out_dtype in (None, "") else out_dtype

    def load(self, n: Any, c: Any, coords: Sequence[PrimExpr], inner: Sequence[Any]) -> PrimExpr:
        """The element at whole coordinates, the nearest one for coordinates outside."""
        inner_c, inner_n = inner
        data, layout = self.data, self.layout
        if len(coords) == 1:
            (width,), (x,) = self.sources, coords
            return get_1d_pixel(data, layout, width, n, c, x, inner_c, inner_n, None)
        if len(coords) == 2:
            (height, width), (y, x) = self.sources, coords
            return get_2d_pixel(data, layout, height, width, n, c, y, x, inner_c, inner_n, inner_c)
        (depth, height, width), (z, y, x) = self.sources, coords
        return get_3d_pixel(data, layout, depth, height, width, n, c, z, y, x, inner_c)

    def value(
        self, n: Any, c: Any, at: Sequence[Any], inner: Sequence[Any], roi: Sequence[Any],
        boxes: Any = None,
    ) -> PrimExpr:  # fmt: skip
        """The result at an index."""
        dims = len(at)
        # the region lists all starts, then all ends
        starts = roi[:dims] if roi else [0] * dims
        ends = roi[dims:] if roi else [-1] * dims
        divides = [self._divides(*sizes) for sizes in zip(self.sources, self.targets)]
        coords = [
            get_inx(x, source, target, self.mode, start, end, divided)
            for x, source, target, start, end, divided in zip(
                at, self.sources, self.targets, starts, ends, divides
            )
        ]
        rule = {"nearest": self._nearest, "linear": self._linear, "cubic": self._cubic}
        value = rule[self.method](n, c, coords, inner, divides, boxes)
        if self.mode == "tf_crop_and_resize":
            outside = [
                tir.any(p < 0, p > (as_expr(source) - 1).astype(p.dtype))
                for p, source in zip(coords, self.sources)
            ]
            beyond = tir.const(self.extrapolation, value.dtype)
            value = tir.if_then_else(tir.any(*outside), beyond, value)
        return value.astype(self.dtype)

    def _divides(self, source: Any, target: Any) -> bool:
        """Each pixel of a row becomes some, side by side, however coordinates are rounded."""
        plain = self.method == "nearest" and self.mode == "asymmetric"
        return bool(
            plain
            and known(source)
            and known(target)
            and can_convert_multiply_to_intdiv(get_const_int(source), get_const_int(target))
        )

    def _nearest(
        self, n: Any, c: Any, coords: Sequence[PrimExpr], inner: Sequence[Any],
        divides: Sequence[bool], boxes: Any,
    ) -> PrimExpr:  # fmt: skip
        whole = [
            get_closest_index(p, self.rounding, boxes, divided)
            for p, divided in zip(coords, divides)
        ]
        return self.load(n, c, whole, inner)

    def _linear(
        self, n: Any, c: Any, coords: Sequence[PrimExpr], inner: Sequence[Any], *_: Any
    ) -> PrimExpr:
        lows = [tir.floor(p).astype("int32") for p in coords]
        parts = [p - low.astype("float") for p, low in zip(coords, lows)]

        def between(chosen: list[PrimExpr]) -> PrimExpr:
            k = len(chosen)
            if k == len(coords):
                return self.load(n, c, chosen, inner)
            left, right = between([*chosen, lows[k]]), between([*chosen, lows[k] + 1])
            return left * (1.0 - parts[k]) + right * parts[k]

        return between([])

    def _cubic(
        self, n: Any, c: Any, coords: Sequence[PrimExpr], inner: Sequence[Any], *_: Any
    ) -> PrimExpr:
        lows = [tir.floor(p) for p in coords]
        weights = []
        for coord, low, source in zip(coords, lows, self.sources):
            own = cubic_weights(coord - low, self.alpha)
            weights.append(self._excluded(own, low.astype("int32"), source))
        whole = [low.astype("int32") for low in lows]

        def along(chosen: list[PrimExpr]) -> PrimExpr:
            """The sum over the axes that are not chosen yet, the last of them innermost."""
            k = len(chosen)
            if k == len(coords):
                return self.load(n, c, chosen, inner)
            taps = [along([*chosen, whole[k] + (t - 1)]) * weights[k][t] for t in range(4)]
            return taps[0] + taps[1] + taps[2] + taps[3]

        return along([])

    def _excluded(self, weights: list[PrimExpr], low: PrimExpr, source: Any) -> list[PrimExpr]:
        """Weights of elements outside are zero if they are to be left out; the rest sums to one."""
        if not self.exclude:
            return weights
        kept = [
            tir.if_then_else(tir.any(low + (k - 1) < 0, low + (k - 1) >= source), 0.0, w)
            for k, w in enumerate(weights)
        ]
        total = kept[0] + kept[1] + kept[2] + kept[3]
        return [w / total for w in kept]


def _check_size(size: Sequence[Any], dims: int) -> None:
    if len(size) != dims:
        raise ShapeError(
            message(f"resize{dims}d", found=f"a size of {len(size)} extents", legal=f"{dims}")
        )


def _roi(roi: Any) -> list[Any]:
    if roi is None:
        return []
    return [roi(tir.const(k, "int32")) for k in range(get_const_int(roi.shape[0]))] if isinstance(
        roi, te.Tensor
    ) else [tir.const(float(v), "float32") for v in roi]  # fmt: skip


@explained
def resize1d(
    data: te.Tensor, roi: Any, size: Sequence[Any], layout: str = "NCW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    bicubic_alpha: float = -0.75, bicubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Rows in another length."""
    _check_size(size, 1)
    method = _method(method)
    dim = layout.index("W")
    source = data.shape[dim]
    shape = output_shape or [size[0] if k == dim else s for k, s in enumerate(data.shape)]
    resizer = _Resizer(
        data, layout, [source], size, method, coordinate_transformation_mode, rounding_method,
        bicubic_alpha, bicubic_exclude, extrapolation_value, out_dtype,
    )  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        n, c, x, inner_c, inner_n = get_1d_indices(i, layout)
        return resizer.value(n, c, [x], (inner_c, inner_n), _roi(roi))

    return compute(shape, element, name="resize", tag=tag.INJECTIVE)


def _method(method: str) -> str:
    plain = {"nearest_neighbor": "nearest", "bilinear": "linear", "trilinear": "linear",
             "bicubic": "cubic", "tricubic": "cubic"}.get(method, method)  # fmt: skip
    if plain not in ("nearest", "linear", "cubic"):
        raise ValueError(f"resize: method {method!r}; legal: nearest_neighbor, linear, cubic")
    return plain


@explained
def resize2d(
    data: te.Tensor, roi: Any, size: Sequence[Any], layout: str = "NCHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    bicubic_alpha: float = -0.75, bicubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Pictures in another size."""
    _check_size(size, 2)
    method = _method(method)
    if layout == "NHWC":
        coords = (1, 2)
    elif layout == "NCHW" or nchw_pack_layout(layout) or nchw_xc_layout(layout):
        coords = (2, 3)
    else:
        raise ValueError(f"{layout} layout is not supported; legal: NCHW, NHWC, NCHWinic, NCHWxc")
    shape = list(output_shape or data.shape)
    if not output_shape:
        shape[coords[0]], shape[coords[1]] = size
    resizer = _Resizer(
        data, layout, [data.shape[p] for p in coords], size, method,
        coordinate_transformation_mode, rounding_method, bicubic_alpha, bicubic_exclude,
        extrapolation_value, out_dtype,
    )  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        n, c, y, x, inner_c, inner_n = get_2d_indices(i, layout)
        return resizer.value(n, c, [y, x], (inner_c, inner_n), _roi(roi))

    return compute(shape, element, name="resize", tag=tag.INJECTIVE)


@explained
def crop_and_resize(
    data: te.Tensor, boxes: te.Tensor, box_indices: te.Tensor, crop_size: Sequence[Any],
    layout: str = "NCHW", method: str = "bilinear", extrapolation_value: float | None = None,
    out_dtype: str | None = None,
) -> te.Tensor:  # fmt: skip
    """Boxes (y0, x0, y1, x1, as fractions) of pictures in one size.   (b, 4) -> (b, c, h, w)"""
    _check_size(crop_size, 2)
    if boxes.ndim != 2 or (isinstance(boxes.shape[1], tir.IntImm) and int(boxes.shape[1]) != 4):
        raise ShapeError(f"crop_and_resize: boxes of shape {boxes.shape}; legal: (boxes, 4)")
    if layout not in ("NCHW", "NHWC"):
        raise ValueError(f"{layout} layout is not supported; legal: NCHW, NHWC")
    coords = (2, 3) if layout == "NCHW" else (1, 2)
    extents(data, layout.lower(), "crop_and_resize")
    count, corners = extents(boxes, "bk", "crop_and_resize")
    check_same("crop_and_resize", "corners of a box", corners, 4)
    check_same(
        "crop_and_resize", "boxes and their pictures", count,
        extents(box_indices, "b", "crop_and_resize")[0],
    )  # fmt: skip
    shape = [count, *data.shape[1:]]
    shape[coords[0]], shape[coords[1]] = crop_size
    resizer = _Resizer(
        data, layout, [data.shape[p] for p in coords], crop_size, _method(method),
        "tf_crop_and_resize", "", -0.75, 0, extrapolation_value or 0.0, out_dtype,
    )  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        n, c, y, x, inner_c, inner_n = get_2d_indices(i, layout)
        box = [boxes(n, k) for k in range(4)]
        return resizer.value(box_indices(n), c, [y, x], (inner_c, inner_n), box, boxes)

    return compute(shape, element, name="crop_and_resize", tag=tag.INJECTIVE)


@explained
def resize3d(
    data: te.Tensor, roi: Any, size: Sequence[Any], layout: str = "NCDHW", method: str = "linear",
    coordinate_transformation_mode: str = "half_pixel", rounding_method: str = "",
    bicubic_alpha: float = -0.75, bicubic_exclude: int = 0, extrapolation_value: float = 0.0,
    out_dtype: str | None = None, output_shape: Any = None,
) -> te.Tensor:  # fmt: skip
    """Volumes in another size."""
    _check_size(size, 3)
    method = _method(method)
    first = layout.index("D")
    shape = list(output_shape or data.shape)
    if not output_shape:
        shape[first : first + 3] = size
    resizer = _Resizer(
        data, layout, data.shape[first : first + 3], size, method, coordinate_transformation_mode,
        rounding_method, bicubic_alpha, bicubic_exclude, extrapolation_value, out_dtype,
    )  # fmt: skip

    def element(*i: Any) -> PrimExpr:
        n, c, z, y, x, inner_c = get_3d_indices(i, layout)
        return resizer.value(n, c, [z, y, x], (inner_c, None), _roi(roi))

    return compute(shape, element, name="resize", tag=tag.INJECTIVE)
