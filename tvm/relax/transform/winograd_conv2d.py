"""Convolutions of 3 x 3 with constant weights become Winograd's, where that is faster.

    y = conv2d(x, w)   ->   y = call_tir(winograd, (x, G w G^T))

The weights are transformed here, once. The kernel keeps its place in fusion: what follows a
convolution follows this one too. It multiplies 2.25 to 4 times less than a direct sum; what its
transforms cost, and lanes that stay empty, decides whether that pays.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.target.cpu_model import CpuModel
from tvm.te import Tensor
from tvm.tir.expr import IntImm
from tvm.tir.winograd import ANY_VECTORS, SPAN, TILE, max_vectors
from tvm.topi.nn.winograd_panels import Panels, transformed_weights, winograd_panels

LOAD_COST: Final = 0.7  # of a load, over a multiplication of vectors, as in dlight.cpu.tiles
DIRECT: Final = 1.3  # the same model's time of a direct sum, for each of its multiplications
TRANSFORM: Final = 14.4  # time of a tile of a channel transformed, over its 36 products with one
GAIN: Final = 0.8  # of the time of a direct sum that has to be enough
MAX_VECTORS: Final = 4
MAX_FILTERS: Final = 16


class WinogradConv2D(ModulePass):
    """Rewrites the convolutions that are faster so on a CPU."""

    def __init__(self, cpu: CpuModel) -> None:
        self._cpu = cpu
        super().__init__(self._run, PassInfo(0, "WinogradConv2D"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        bb = BlockBuilder(mod)
        changed: dict[Any, Any] = {}
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = rewrite_calls(func, {"relax.nn.conv2d": _Rewriter(self._cpu).conv2d}, bb)
                if new is not func:
                    changed[var] = new
        if not changed:
            return mod
        made = bb.get()
        return made.with_functions({**made.functions, **changed})


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

        def stages(x: Tensor, w: Tensor) -> Tensor:
            return winograd_panels(x, w, values.shape[0], padding, panels)

        transformed = Constant(transformed_weights(values, panels.filters))
        info = data.struct_info
        assert isinstance(info, TensorStructInfo), "as planned"
        assert isinstance(info.shape, ShapeExpr), "as planned"
        sizes = [Analyzer().simplify(extent) for extent in info.shape.values]
        alike = self._made.setdefault((values.shape, padding, panels), [])
        for known, equal in alike:
            if len(known) == len(sizes) and all(map(structural_equal, known, sizes)):
                kernel, _, *rest = equal.args
                operands = Tuple([data, transformed])
                return Call(equal.op, [kernel, operands, *rest], equal.attrs, equal.sinfo_args)
        made = bb.call_te(
            stages, data, transformed, primfunc_name_hint="conv2d_winograd",
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
        return None if plane is None else any_panels(cpu, kernel[1], kernel[0], plane)
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
        sums = filters * vectors
        cost = (1 + LOAD_COST * (filters + vectors) / sums) * max(1.0, cpu.fma_ports * 4 / sums)
        cost *= -(-outs // filters) * filters / outs
        if best is None or cost < best[0] - 1e-9:
            best = (cost, Panels(1, filters))
    assert best is not None, "one filter is always possible"
    products = SPAN * SPAN * (best[0] + TRANSFORM * (1 / channels + 1 / outs))
    for size in sizes:
        products *= 1 if size is None else -(-size // TILE) * TILE / size
    return best[1] if products < GAIN * DIRECT * 9 * TILE * TILE else None


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
            sums = filters * vectors
            cost = 1 + LOAD_COST * (filters + vectors) / sums
            cost *= max(1.0, cpu.fma_ports * 4 / sums)  # too few chains to fill the pipes
            cost *= vectors * lanes / (rows * across)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, Panels(rows, filters))
    if best is None:
        return None
    products = SPAN * SPAN * down * across * (best[0] + TRANSFORM * (1 / channels + 1 / outs))
    return best[1] if products < GAIN * DIRECT * 9 * high * wide else None
