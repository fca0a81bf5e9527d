"""Pooling over the last one to three axes; a picture without a batch gets one for the while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant
from tvm.relax.frontend.pools import first_largest, max_pool_indices, within_data
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import IntImm
from tvm.topi.nn.pooling import adaptive_pool, adaptive_pool1d, adaptive_pool3d

from .registry import convert
from .values import Expr, dtype_of, lengths, product, rank, scalar, sizes, spread

_LAYOUT: Final = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_MAX: Final = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVG: Final = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}
_ADAPTIVE: Final = {
    1: op.nn.adaptive_avg_pool1d, 2: op.nn.adaptive_avg_pool2d, 3: op.nn.adaptive_avg_pool3d,
}  # fmt: skip


def _batched(
    bb: BlockBuilder, x: Expr, n: int, rule: Callable[[Expr], Expr]
) -> Expr:
    if rank(x) == n + 2:
        return rule(x)
    made = bb.emit(rule(bb.emit(op.expand_dims(x, 0))))
    return op.squeeze(made, [0])


def max_pool(
    bb: BlockBuilder, input: Expr, n: int, kernel_size: Any, stride: Any = None, padding: Any = 0,
    dilation: Any = 1, ceil_mode: bool = False,
) -> Expr:  # fmt: skip
    kernel, pads, apart = spread(kernel_size, n), spread(padding, n), spread(dilation, n)
    strides = spread(stride, n) if stride not in (None, [], ()) else kernel

    def rule(x: Expr) -> Expr:
        made = _MAX[n](
            x, pool_size=kernel, strides=strides, padding=pads, dilation=apart,
            ceil_mode=ceil_mode, layout=_LAYOUT[n],
        )  # fmt: skip
        return _within(bb, x, made, kernel, strides, pads, apart) if ceil_mode else made

    return _batched(bb, input, n, rule)


def _within(
    bb: BlockBuilder, x: Expr, made: Expr, kernel: Sequence[int], strides: Sequence[int],
    pads: Sequence[int], dilations: Sequence[int],
) -> Expr:  # fmt: skip
    both = [*pads, *pads]
    return within_data(bb, made, sizes(x)[2:], kernel, strides, both, dilations)


def _max_indices(bb: BlockBuilder, x: Expr, n: int, table: Any, out: Sequence[Any]) -> Expr:
    """In the flat picture, where the largest element of each window is."""
    lead = sizes(x)[:-n]
    flat = bb.emit(op.reshape(x, [*lead, product(sizes(x)[-n:])]))
    seen = bb.emit(op.take(flat, Constant(np.maximum(table, 0)), len(lead)))
    least = scalar(-float("inf"), dtype_of(x))
    seen = bb.emit(op.where(Constant(table >= 0), seen, least))
    best = bb.emit(op.argmax(seen, -1))
    # of window number w, the element number `best` of its row in the table
    base = np.arange(table.shape[0], dtype="int64") * table.shape[1]
    at = bb.emit(op.add(best, Constant(base)))
    found = op.take(Constant(np.ascontiguousarray(table.reshape(-1))), at, 0)
    return op.reshape(found, [*lead, *out])


def _max_with_indices(n: int) -> Callable[..., Any]:
    def apply(
        bb: BlockBuilder, input: Expr, kernel_size: Any, stride: Any = None, padding: Any = 0,
        dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = True,
    ) -> Any:  # fmt: skip
        values = bb.emit(
            max_pool(bb, input, n, kernel_size, stride, padding, dilation, ceil_mode)
        )

        def indices() -> Expr:
            kernel = spread(kernel_size, n)
            strides = spread(stride, n) if stride not in (None, [], ()) else kernel
            lead = [1] if rank(input) == n + 1 else []
            out = [*lead, *sizes(values)]
            window = kernel, strides, spread(padding, n), spread(dilation, n)
            return _batched(
                bb, input, n, lambda x: max_pool_indices(bb, x, out, *window, of_plane=True)
            )

        return values, indices

    return apply


def _max(n: int) -> Callable[..., Any]:
    def apply(
        bb: BlockBuilder, input: Expr, kernel_size: Any, stride: Any = None, padding: Any = 0,
        dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = False,
    ) -> Any:  # fmt: skip
        options = kernel_size, stride, padding, dilation, ceil_mode
        if return_indices:
            return _max_with_indices(n)(bb, input, *options)
        return max_pool(bb, input, n, *options)

    return apply


def avg_pool(
    bb: BlockBuilder, input: Expr, n: int, kernel_size: Any, stride: Any = None, padding: Any = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Expr:  # fmt: skip
    kernel, pads = spread(kernel_size, n), spread(padding, n)
    strides = spread(stride, n) if stride not in (None, [], ()) else kernel
    options: dict[str, Any] = {"count_include_pad": count_include_pad} if any(pads) else {}
    if divisor_override is not None:
        options["count_include_pad"] = True

    def rule(x: Expr) -> Any:
        if divisor_override is not None and ceil_mode:
            return divided(_filled_up(bb, x, kernel, strides, pads))
        return pooled(x)

    def divided(x: Expr) -> Any:
        return avg_pool(bb, x, n, kernel, strides, divisor_override=divisor_override)

    def pooled(x: Expr) -> Any:
        made = _AVG[n](
            x, pool_size=kernel, strides=strides, padding=pads, ceil_mode=ceil_mode,
            layout=_LAYOUT[n], **options,
        )  # fmt: skip
        if ceil_mode:
            made = _within(bb, x, made, kernel, strides, pads, [1] * n)
        if divisor_override is None:
            return made
        factor = float(np.prod(kernel)) / divisor_override
        return op.multiply(made, scalar(factor, dtype_of(x)))

    return _batched(bb, input, n, rule)


def _filled_up(
    bb: BlockBuilder, x: Expr, kernel: list[int], strides: list[int], pads: list[int]
) -> Expr:
    """Zeros around a picture, so that windows which begin inside it end there, too."""
    width = [0, 0, 0, 0]
    extents = lengths(x, "avg_pool: divisor_override with ceil_mode")[2:]
    for extent, k, step, pad in zip(extents, kernel, strides, pads):
        count = -(-(extent + 2 * pad - k) // step) + 1
        if (count - 1) * step >= extent + pad:  # it would begin in the padding
            count -= 1
        width += [pad, max(0, (count - 1) * step + k - extent - pad)]
    return bb.emit(op.nn.pad(x, width))


def _average(n: int) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Expr, kernel_size: Any, *args: Any, **options: Any) -> Expr:
        return avg_pool(bb, input, n, kernel_size, *args, **options)

    return apply


def adaptive_avg_pool(bb: BlockBuilder, input: Expr, n: int, output_size: Any) -> Expr:
    """None keeps an extent."""
    wanted = _output(input, n, output_size)
    if any(isinstance(o, PrimExpr) and not isinstance(o, IntImm) for o in wanted):
        return _adaptive_of_call(bb, input, n, wanted, "avg")
    return _batched(
        bb, input, n, lambda x: _ADAPTIVE[n](x, output_size=wanted, layout=_LAYOUT[n])
    )


def _adaptive_of_call(bb: BlockBuilder, x: Expr, n: int, wanted: list[Any], kind: str) -> Expr:
    """As many windows as the call says."""
    rule = {1: adaptive_pool1d, 2: adaptive_pool, 3: adaptive_pool3d}
    lead = sizes(x)[:-n]
    batched = x if len(lead) == 2 else bb.emit(op.expand_dims(x, 0))
    made = bb.emit_te(rule[n], batched, list(wanted), kind)
    return bb.emit(op.reshape(made, [*lead, *wanted]))


def _output(x: Expr, n: int, output_size: Any) -> list[Any]:
    extents = sizes(x)[-n:]
    return [e if o is None else o for e, o in zip(extents, spread(output_size, n))]


def _adaptive_max(n: int) -> Callable[..., Any]:
    def apply(
        bb: BlockBuilder, input: Expr, output_size: Any, return_indices: Any = True
    ) -> Any:
        """Windows from floor(i * size / out) to ceil((i + 1) * size / out)."""
        asked = [*sizes(input)[-n:], *_output(input, n, output_size)]
        if any(isinstance(extent, PrimExpr) for extent in asked):
            return _symbolic_adaptive_max(bb, input, n, output_size, return_indices)
        extents = [int(extent) for extent in sizes(input)[-n:]]  # type: ignore[arg-type]
        wanted = [int(o) for o in _output(input, n, output_size)]
        table = _adaptive_windows(extents, wanted)
        lead = sizes(input)[:-n]
        flat = bb.emit(op.reshape(input, [*lead, int(np.prod(extents))]))
        seen = bb.emit(op.take(flat, Constant(np.maximum(table, 0)), len(lead)))
        least = scalar(-float("inf"), dtype_of(input))
        held = op.where(Constant(table >= 0), seen, least)
        values = bb.emit(op.reshape(op.max(held, -1), [*lead, *wanted]))
        if return_indices is False:
            return values
        return values, lambda: _max_indices(bb, input, n, table, wanted)

    return apply


def _symbolic_adaptive_max(
    bb: BlockBuilder, x: Expr, n: int, output_size: Any, return_indices: Any
) -> Any:
    """Windows by the extents of the call."""
    wanted = _output(x, n, output_size)
    lead, axes = sizes(x)[:-n], list(range(-n, 0))
    values: Expr
    if all(isinstance(o, int) and o == 1 for o in wanted):
        values = bb.emit(op.max(x, axes, True))
    else:
        values = _adaptive_of_call(bb, x, n, wanted, "max")

    def indices() -> Any:
        if not all(isinstance(o, int) and o == 1 for o in wanted):
            return _places_of_call(bb, x, n, wanted)
        flat = op.reshape(x, [*lead, product(sizes(x)[-n:])])
        return op.reshape(op.argmax(flat, -1), [*lead, *wanted])

    return values if return_indices is False else (values, indices)


def _places_of_call(bb: BlockBuilder, x: Expr, n: int, wanted: list[Any]) -> Expr:
    """The flat place of the first largest element of each window."""
    lead, extents = sizes(x)[:-n], sizes(x)[-n:]

    def compute(data: te.Tensor, wanted: Any) -> Any:
        have = data.shape[1:]
        taps = [te.reduce_axis((0, have[d] // wanted[d] + 2), f"k{d}") for d in range(n)]

        def element(plane: Any, *at: Any) -> Any:
            flat, inside, places = tir.const(0, "int64"), [], []
            for d in range(n):
                place = at[d] * have[d] // wanted[d] + taps[d].var
                inside.append(place < ((at[d] + 1) * have[d] + wanted[d] - 1) // wanted[d])
                places.append(place)
                flat = flat * have[d] + place
            value = tir.if_then_else(tir.all(*inside), data(plane, *places), tir.min_value(
                data.dtype
            ))  # fmt: skip
            return first_largest((flat.astype("int64"), value), axis=taps)

        return te.compute([data.shape[0], *wanted], element, name="places")[0]

    planes = bb.emit(op.reshape(x, [product(lead), *extents]))
    made = bb.emit_te(compute, planes, list(wanted), primfunc_name_hint="adaptive_places")
    return bb.emit(op.reshape(made, [*lead, *wanted]))


def _adaptive_windows(extents: Sequence[int], wanted: Sequence[int]) -> np.ndarray[Any, Any]:
    """Places that each window looks at, in the flat picture: (windows, largest); -1 is none."""
    rows = []
    for extent, out in zip(extents, wanted):
        starts = [i * extent // out for i in range(out)]
        ends = [-(-(i + 1) * extent // out) for i in range(out)]
        widest = max(b - a for a, b in zip(starts, ends))
        rows.append([[*range(a, b), *[-1] * (widest - b + a)] for a, b in zip(starts, ends)])
    table = np.zeros((1, 1), "int64")
    for extent, row in zip(extents, rows):
        indices = np.asarray(row, "int64")
        joined = table[:, None, :, None] * extent + indices[None, :, None, :]
        missing = (table[:, None, :, None] < 0) | (indices[None, :, None, :] < 0)
        joined = np.where(missing, -1, joined)
        table = joined.reshape(table.shape[0] * indices.shape[0], -1)
    return table


def lp_pool(
    bb: BlockBuilder, input: Expr, n: int, norm_type: float, kernel_size: Any, stride: Any = None,
    ceil_mode: bool = False,
) -> Expr:  # fmt: skip
    """The p-norm of each window, by the mean of powers."""
    dtype = dtype_of(input)
    powers = bb.emit(op.power(input, scalar(float(norm_type), dtype)))
    mean = bb.emit(avg_pool(bb, powers, n, kernel_size, stride, 0, ceil_mode))
    count = float(np.prod(spread(kernel_size, n)))
    total = op.multiply(op.nn.relu(mean), scalar(count, dtype))
    return op.power(total, scalar(1.0 / norm_type, dtype))


def _lp(n: int) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Expr, norm_type: float, *args: Any, **options: Any) -> Expr:
        return lp_pool(bb, input, n, norm_type, *args, **options)

    return apply


def _adaptive_average(n: int) -> Callable[..., Expr]:
    def apply(bb: BlockBuilder, input: Expr, output_size: Any) -> Expr:
        return adaptive_avg_pool(bb, input, n, output_size)

    return apply


for _n in (1, 2, 3):
    convert(f"max_pool{_n}d")(_max(_n))
    convert(f"max_pool{_n}d_with_indices")(_max_with_indices(_n))
    convert(f"avg_pool{_n}d")(_average(_n))
    convert(f"adaptive_avg_pool{_n}d", f"_adaptive_avg_pool{_n}d")(_adaptive_average(_n))
    convert(f"adaptive_max_pool{_n}d", f"adaptive_max_pool{_n}d_with_indices")(_adaptive_max(_n))
    convert(f"lp_pool{_n}d")(_lp(_n))


def max_unpool(
    bb: BlockBuilder, n: int, input: Expr, indices: Expr, kernel_size: Any, stride: Any = None,
    padding: Any = 0, output_size: Any = None,
) -> Any:  # fmt: skip
    """Values of a pool at the places they came from, zeros elsewhere."""
    extents = sizes(input)[-n:]
    kernel, pads = spread(kernel_size, n), spread(padding, n)
    steps = spread(stride, n) if stride not in (None, [], ()) else kernel
    whole = None if output_size is None else list(output_size)[-n:]
    if whole is None:
        whole = [(e - 1) * s - 2 * p + k for e, s, p, k in zip(extents, steps, pads, kernel)]
    return _put_back(bb, input, indices, whole)


def _put_back(bb: BlockBuilder, input: Expr, indices: Expr, whole: list[Any]) -> Any:
    lead, extents = sizes(input)[: -len(whole)], sizes(input)[-len(whole) :]
    flat = [product(lead), product(extents)]
    zeros = op.zeros(ShapeExpr([flat[0], product(whole)]), dtype_of(input))
    values, places = (bb.emit(op.reshape(x, flat)) for x in (input, indices))
    made = op.scatter_elements(bb.emit(zeros), places, values, 1)
    return op.reshape(made, [*lead, *whole])


def _unpool(n: int) -> Callable[..., Any]:
    """Of `torch.nn.functional`."""

    def apply(bb: BlockBuilder, input: Expr, indices: Expr, *args: Any, **options: Any) -> Any:
        return max_unpool(bb, n, input, indices, *args, **options)

    return apply


for _n in (1, 2, 3):
    convert(f"max_unpool{_n}d.functional")(_unpool(_n))


@convert("max_unpool2d", "max_unpool3d")
def max_unpool_to(
    bb: BlockBuilder, input: Expr, indices: Expr, output_size: Any, *rest: Any
) -> Any:
    """Of aten, which is told the extents."""
    return _put_back(bb, input, indices, list(output_size))
