"""Convolutions of 3 x 3 with constant weights become Winograd's, where that is faster.

    y = conv2d(x, w)   ->   y = call_tir(winograd, (x, G w G^T))

The weights are transformed here, once. The kernel is fused as before: what follows a
convolution follows this one too. It multiplies 2.25 to 4 times less than a direct sum; what its
transforms cost, and lanes that stay empty, decides whether that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Call,
    Constant,
    Function,
    ShapeExpr,
    Tuple,
)
from tvm.relax.op_pattern import OpPatternKind
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.rebuild import rewrite_calls, rewrite_functions
from tvm.target.cpu_model import CpuModel
from tvm.te import Tensor
from tvm.tir.expr import IntImm, Select, make_const
from tvm.tir.op.arith import is_one, less, less_equal
from tvm.tir.winograd import ANY_VECTORS, SPAN, TILE, max_vectors
from tvm.topi.nn.winograd_panels import (
    Panels,
    transformed_weights,
    winograd_or_direct,
    winograd_panels,
)

LOAD_COST: Final = 0.7  # of a load, over a multiplication of vectors, as in dlight.cpu.tiles
DIRECT: Final = 1.3  # the same model's time of a direct sum, for each of its multiplications
DIRECT_LANES: Final = 1.2  # the same where filters are lanes
TRANSFORM: Final = 14.4  # time of a tile of a channel transformed, over its 36 products with one
# For each lane: a vector of tiles transformed, where few make a vector; a vector of a plane of open
# size packed for direct sums, over its product with one filter. Fitted to planes of 3x3 to 56x56.
TRANSFORM_LANE: Final = 0.9
PACK_LANE: Final = 1.5
UNIT: Final = 16  # of modelled time, which generated code compares as whole numbers
GAIN: Final = 0.8  # of the time of a direct sum that has to be enough
MAX_VECTORS: Final = 4
MAX_FILTERS: Final = 16


class WinogradConv2D(ModulePass):
    """Rewrites the convolutions that are faster so on a CPU."""

    def __init__(self, cpu: CpuModel) -> None:
        self._cpu = cpu
        super().__init__(self._run, PassInfo(0, "WinogradConv2D"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        def rewritten(bb: BlockBuilder, func: Function) -> Function:
            return rewrite_calls(func, {"relax.nn.conv2d": _Rewriter(self._cpu).conv2d}, bb)

        return rewrite_functions(mod, rewritten)


class _Rewriter:
    def __init__(self, cpu: CpuModel) -> None:
        self._cpu = cpu
        # by what decides the kernel, beside the sizes of the data
        self._made: dict[object, list[tuple[list[PrimExpr], Call]]] = {}

    def conv2d(self, bb: BlockBuilder, call: Call) -> RelaxExpr:
        data, weight = call.args
        panels = _plan(call, self._cpu)
        if panels is None or not isinstance(weight, Constant):
            return call
        values, padding = weight.data.numpy(), _padding(call)

        info = data.struct_info
        assert isinstance(info, TensorStructInfo), "as planned"
        assert isinstance(info.shape, ShapeExpr), "as planned"
        plane = None if _known(info) else _plane(call.struct_info, info)
        several = has_two_forms(self._cpu, panels.filters, values.shape, plane)

        def stages(x: Tensor, w: Tensor, plain: Tensor | None = None) -> Tensor:
            if plain is None:
                return winograd_panels(x, w, values.shape[0], padding, panels)
            tiles_pay = partial(pays, self._cpu, panels.filters, values.shape)
            return winograd_or_direct(x, w, plain, padding, panels, tiles_pay)

        transformed = Constant(transformed_weights(values, panels.filters))
        weights = [transformed, weight] if several else [transformed]
        sizes = [Analyzer().simplify(extent) for extent in info.shape.values]
        alike = self._made.setdefault((values.shape, padding, panels), [])
        for known, equal in alike:
            if len(known) == len(sizes) and all(map(structural_equal, known, sizes)):
                kernel, _, *rest = equal.args
                operands = Tuple([data, *weights])
                return Call(equal.op, [kernel, operands, *rest], equal.attrs, equal.sinfo_args)
        made = bb.call_te(
            stages, data, *weights, primfunc_name_hint="conv2d_winograd",
            primfunc_attrs={"op_pattern": int(OpPatternKind.kOutEWiseFusable)},
        )  # fmt: skip
        if isinstance(made, Call):
            alike.append((sizes, made))
        return made


def _padding(call: Call) -> tuple[int, int, int, int]:
    top, left, bottom, right = (int(p) for p in call.attrs.padding)  # type: ignore[union-attr]
    return top, left, bottom, right


def _plan(value: Call, cpu: CpuModel) -> Panels | None:
    """The panels of a convolution that is faster in them; None for others."""
    if not isinstance(value.args[1], Constant):
        return None
    attrs: Any = value.attrs
    data, weight = value.args[0].struct_info, value.args[1].struct_info
    assert isinstance(data, TensorStructInfo), "a convolution is of a tensor"
    assert isinstance(weight, TensorStructInfo), "and so are its weights"
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or attrs.data_layout)
    plain = [*attrs.strides, *attrs.dilation, attrs.groups]
    if layouts != ("NCHW", "OIHW", "NCHW") or any(int(x) != 1 for x in plain):
        return None
    if str(data.dtype) != "float32" or str(weight.dtype) != "float32":
        return None
    if attrs.out_dtype and str(attrs.out_dtype) not in ("float32", "void"):
        return None
    sizes, kernel = _known(data), _known(weight)
    if kernel is None or kernel[2:] != [3, 3] or min(_padding(value)) < 0:
        return None
    top, left, bottom, right = _padding(value)
    if sizes is None:
        plane = _plane(value.struct_info, data)
        if plane is None:
            return None
        return any_panels(cpu, kernel[1], kernel[0], plane)
    high, wide = sizes[2] + top + bottom - 2, sizes[3] + left + right - 2
    if min(high, wide, *sizes) < 1:
        return None
    return choose_panels(cpu, sizes[1], kernel[0], high, wide)


def any_panels(
    cpu: CpuModel, channels: int, outs: int, sizes: Sequence[int | None] = ()
) -> Panels | None:
    """Panels for outputs of any size, if those of large planes are faster so; else None.

    `sizes` are those of the output that are known: tiles may reach past its end.
    """
    best: tuple[float, Panels] | None = None
    for filters in range(1, min(MAX_FILTERS, outs) + 1):
        vectors = max_vectors(cpu, filters)
        if vectors < ANY_VECTORS and cpu.vector_registers > 2 * ANY_VECTORS:
            break  # panels of too few sizes to choose from
        cost = _sum_cost(cpu, filters, vectors)
        cost *= -(-outs // filters) * filters / outs
        if best is None or cost < best[0] - 1e-9:
            best = (cost, Panels(1, filters))
    assert best is not None, "one filter is always possible"
    products = SPAN * SPAN * (best[0] + TRANSFORM * (1 / channels + 1 / outs))
    for size in sizes:
        products *= 1 if size is None else -(-size // TILE) * TILE / size
    return best[1] if products < GAIN * DIRECT * 9 * TILE * TILE else None


def has_two_forms(
    cpu: CpuModel, filters: int, weights: Sequence[int], plane: Sequence[int | None] | None
) -> bool:
    """Whether a convolution in panels of so many filters gets the direct form as well.

    Few tiles do not pay: of how many there are, a call decides, but for planes of which one image
    has enough. `plane` is that of the result; None where all sizes are known.
    """
    if plane is None:
        return False
    one = [IntImm("int64", size) for size in (1, *plane) if size is not None]
    if len(one) < 3:
        return True
    return not is_one(Analyzer().simplify(pays(cpu, filters, weights, *one)))


def pays(
    cpu: CpuModel, filters: int, weights: Sequence[int], images: PrimExpr, high: PrimExpr,
    wide: PrimExpr,
) -> PrimExpr:  # fmt: skip
    """Whether tiles of a result of this size are faster than direct sums.

    Sums take the tiles of all rows together, transforms those of a row, however few these are.
    """
    lanes = cpu.lanes(32)

    def vectors_of(count: PrimExpr) -> PrimExpr:
        return (count + (lanes - 1)) // lanes

    rows, across = images * ((high + (TILE - 1)) // TILE), (wide + (TILE - 1)) // TILE
    vectors, direct_vectors = vectors_of(rows * across), vectors_of(images * high * wide)
    counts = range(1, max_vectors(cpu, filters) + 1)
    costs = [round(UNIT * SPAN * SPAN * _sum_cost(cpu, filters, count)) for count in counts]
    transform = TRANSFORM_LANE * lanes * (1 / weights[0] + 1 / weights[1])
    open_plane = not isinstance(high, IntImm) or not isinstance(wide, IntImm)
    direct = DIRECT * (1 + PACK_LANE * lanes / weights[0] if open_plane else 1)
    direct_time = direct_vectors * round(UNIT * 9 * direct)
    if open_plane and weights[0] % lanes == 0:  # no lanes are empty: `dlight.cpu.direct_any`
        direct_time = images * high * wide * round(UNIT * 9 * DIRECT_LANES / lanes)
    one, many = (make_const(cost, vectors.dtype) for cost in (costs[0], min(costs)))
    sums: PrimExpr = Select(less(vectors, make_const(2, vectors.dtype)), one, vectors * many)
    time = sums + rows * vectors_of(across) * round(UNIT * SPAN * SPAN * transform)
    return less_equal(time, direct_time)


def _sum_cost(cpu: CpuModel, filters: int, vectors: int) -> float:
    """Modelled time for each product of so many filters by so many vectors of tiles."""
    sums = filters * vectors
    # with fewer chains of sums, the pipes are not full
    return (1 + LOAD_COST * (filters + vectors) / sums) * max(1.0, cpu.fma_ports * 4 / sums)


def _number(extent: PrimExpr) -> int | None:
    return extent.value if isinstance(extent, IntImm) else None


def _plane(result: object, data: TensorStructInfo) -> list[int | None] | None:
    """Rows and columns of a result, as far as they are known; None for another rank, or none."""
    if not isinstance(result, TensorStructInfo) or not isinstance(result.shape, ShapeExpr):
        return None
    if not isinstance(data.shape, ShapeExpr):
        return None
    sizes = [_number(Analyzer().simplify(extent)) for extent in result.shape.values]
    return None if len(sizes) != 4 or 0 in sizes else sizes[2:]


def _known(info: TensorStructInfo) -> list[int] | None:
    if not isinstance(info.shape, ShapeExpr):
        return None
    shape = [Analyzer().simplify(extent) for extent in info.shape.values]
    values = [extent.value for extent in shape if isinstance(extent, IntImm)]
    return values if len(values) == 4 == len(shape) else None


def choose_panels(
    cpu: CpuModel, channels: int, outs: int, high: int, wide: int
) -> Panels | None:
    """The fastest panels for outputs of high x wide, by arithmetic; None if no panels pay."""
    down, across = -(-high // TILE), -(-wide // TILE)
    lanes = cpu.lanes(32)
    best: tuple[float, Panels] | None = None
    for rows in range(1, down + 1):
        vectors = -(-rows * across // lanes)
        if down % rows or vectors > MAX_VECTORS:
            continue
        for filters in range(1, MAX_FILTERS + 1):
            if outs % filters or (filters + 1) * vectors + 1 > cpu.vector_registers:
                continue
            cost = _sum_cost(cpu, filters, vectors)
            cost *= vectors * lanes / (rows * across)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, Panels(rows, filters))
    if best is None:
        return None
    products = SPAN * SPAN * down * across * (best[0] + TRANSFORM * (1 / channels + 1 / outs))
    return best[1] if products < GAIN * DIRECT * 9 * high * wide else None
