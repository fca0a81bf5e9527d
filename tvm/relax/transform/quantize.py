"""Convolutions and products by constants compute with integers, or read weights of few bits.

    y = conv2d(x, w)   ->   q = quantised(x)                        # with a range: uint8, one scale
                            y = conv2d(scaled(q), scaled(w8))       # int8, a scale for each filter
    y = matmul(x, w)   ->   y = call_tir(product, (x, w8, scales))  # without one: weights alone

What is quantised is written in operators, and the pipeline of a CPU makes integer kernels of it
(`FoldDequantize`, `IntegerProducts`). Layers have numbers, in the order in which they stand in
`main`. `tvm.relax.quantization` finds ranges, and which layers are better kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tvm.error import ArgumentValueError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Var, is_call_of
from tvm.relax.packed_product import packed_product
from tvm.relax.transform.fold_dequantize import info_of, sizes_of
from tvm.relax.transform.rebuild import rewrite_calls
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import GROUP, Packed

Array = NDArray[Any]
WEIGHTS: Final = ("int8", "int4")
_NAMES: Final = ("relax.nn.conv2d", "relax.matmul")


class Range(NamedTuple):
    """What the inputs of a layer were seen to lie between."""

    low: float
    high: float


class Layer(NamedTuple):
    """A convolution or a product by a constant: its number, its weights as they are multiplied."""

    number: int
    call: Call
    weights: Array

    @property
    def kind(self) -> str:
        """The operator's name."""
        return "conv2d" if is_call_of(self.call, "relax.nn.conv2d") else "matmul"

    @property
    def one_row(self) -> bool:
        """Whether each weight is used once only: then it is memory that decides."""
        return self.kind == "matmul" and sizes_of(self.call.args[0])[-2:-1] in ([], [1])


def layers_of(func: Function) -> list[Layer]:
    """The layers of a function that can be quantised."""
    known: dict[Var, RelaxExpr] = {}
    found: list[Layer] = []
    for block in func.body.blocks:
        for binding in block.bindings:
            value = known[binding.var] = binding.value
            weights = _weights(value, known) if isinstance(value, Call) else None
            if weights is not None:
                assert isinstance(value, Call), "looked at before"
                found.append(Layer(len(found), value, weights))
    return found


def _weights(call: Call, known: Mapping[Var, RelaxExpr]) -> Array | None:
    """The constant that a call multiplies by, in float32; None for what is no layer."""
    if not any(is_call_of(call, name) for name in _NAMES):
        return None
    info, array = info_of(call.args[0]), _constant(call.args[1], known)
    attrs: Any = call.attrs
    if info is None or str(info.dtype) != "float32" or array is None or array.dtype != "float32":
        return None
    if str(attrs.out_dtype) not in ("void", "", "float32") or not np.isfinite(array).all():
        return None
    image = sizes_of(call.args[0])
    if is_call_of(call, "relax.matmul"):
        return array if array.ndim == 2 and len(image) > 1 and array.size else None
    plain = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) == ("NCHW", "OIHW", "NCHW")
    if not plain or len(image) != 4 or image[1] is None:
        return None
    groups = int(attrs.groups)
    alike = groups == 1 or groups == image[1] == array.shape[0]
    return array if array.size and alike else None


def _constant(expr: RelaxExpr, known: Mapping[Var, RelaxExpr]) -> Array | None:
    while isinstance(expr, Var) and expr in known:
        expr = known[expr]
    if isinstance(expr, Constant):
        array: Array = expr.data.numpy()
        return array
    if is_call_of(expr, "relax.permute_dims"):
        assert isinstance(expr, Call), "as asked"
        inner, attrs = _constant(expr.args[0], known), expr.attrs
        axes: Any = None if attrs is None else attrs.axes  # type: ignore[attr-defined]
        if inner is not None:
            moved: Array = inner.transpose(None if axes is None else [int(a) for a in axes])
            return moved
    return None


class Quantize(ModulePass):
    """Quantises the layers of `main`.

    Parameters
    ----------
    weights : "int8" or "int4", the latter for products without a range only.
    group : how many weights of a product without a range share a scale: a multiple of 32, or 0 for
        all of an output.
    ranges : by number of a layer, what its inputs lie between; such layers compute with integers.
        Products of one row have no form for that: of them, and of products that are not named, the
        weights alone become integers. Convolutions that are not named stay.
    keep : numbers of layers that stay in float32.
    """

    def __init__(
        self, weights: str = "int8", group: int = GROUP, *,
        ranges: Mapping[int, Range] | None = None, keep: Collection[int] = (),
    ) -> None:  # fmt: skip
        if weights not in WEIGHTS:
            raise ArgumentValueError(
                message("Quantize: weights", found=repr(weights), legal=", ".join(WEIGHTS))
            )
        if group < 0 or group % GROUP:
            raise ArgumentValueError(
                message("Quantize: group", found=str(group), legal=f"0, or a multiple of {GROUP}")
            )
        self._weights, self._group = weights, group
        self._ranges, self._keep = dict(ranges or {}), frozenset(keep)
        super().__init__(self._run, PassInfo(0, "Quantize"))

    def _run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        var, func = main_of(mod)
        numbers = {layer.call: layer for layer in layers_of(func)}
        wrong = {*self._ranges, *self._keep} - {layer.number for layer in numbers.values()}
        if wrong:
            raise ArgumentValueError(message(
                "Quantize: numbers of layers", found=str(sorted(wrong)),
                legal=f"0 to {len(numbers) - 1}" if numbers else "none: there is no layer",
            ))  # fmt: skip
        bb = BlockBuilder(mod)

        def rule(bb: BlockBuilder, call: Call) -> RelaxExpr:
            layer = numbers.get(call)
            return call if layer is None else self.quantised(bb, layer)

        new = rewrite_calls(func, dict.fromkeys(_NAMES, rule), bb)
        if new is func:
            return mod
        made = bb.get()
        return made.with_functions({**made.functions, var: new})

    def quantised(self, bb: BlockBuilder, layer: Layer) -> RelaxExpr:
        """What takes a layer's place; its own call if it stays."""
        form = self.form_of(layer)
        if form == "float32":
            return layer.call
        if form == "integers":
            return _by_integers(bb, layer, self._ranges[layer.number])
        return self._few_bits(bb, layer)

    def form_of(self, layer: Layer) -> str:
        """What a layer becomes: `integers`, `weights`, or `float32` if it stays."""
        if layer.number in self._keep:
            return "float32"
        if layer.number in self._ranges and not layer.one_row:
            return "integers"
        return "weights" if layer.kind == "matmul" else "float32"

    def rounded(self, layer: Layer) -> Array:
        """The weights that a layer multiplies by afterwards, in float32."""
        form = self.form_of(layer)
        if form == "integers":
            numbers, sizes = _by_filters(layer)
            return np.asarray(numbers * sizes)
        if form == "float32":
            return layer.weights
        inputs, outputs = layer.weights.shape
        packed = few_bits.pack(layer.weights.T, self._weights, self._group_of(inputs))
        values: Array = few_bits.unpack(*packed, self._weights)[:outputs, :inputs].T
        return values

    def _group_of(self, inputs: int) -> int:
        return self._group or -(-inputs // GROUP) * GROUP

    def _few_bits(self, bb: BlockBuilder, layer: Layer) -> RelaxExpr:
        """A product whose kernel widens weights where it reads them."""
        inputs, outputs = layer.weights.shape
        group = self._group_of(inputs)
        numbers, scale = few_bits.pack(layer.weights.T, self._weights, group)
        assert scale is not None, "integers have scales"
        form = Packed(outputs, -(-inputs // group) * group, self._weights, group)
        return packed_product(bb, layer.call.args[0], form, [Constant(numbers), Constant(scale)])


def main_of(mod: IRModule) -> tuple[Any, Function]:
    """The name and the function `main`."""
    for var, func in mod.functions.items():
        if var.name_hint == "main" and isinstance(func, Function):
            return var, func
    raise ArgumentValueError(message(
        "Quantize: a function main of Relax", found=", ".join(v.name_hint for v in mod.functions),
        legal="a module that has one",
    ))  # fmt: skip


def steps_of(given: Range) -> tuple[np.float32, int]:
    """The scale and the zero point of uint8 such that 0 is exact and the range is used."""
    low, high = min(given.low, 0.0), max(given.high, 0.0)
    scale = np.float32((high - low) / 255)
    if not np.isfinite(scale):
        raise ArgumentValueError(
            message("Quantize: a range", found=f"{low} to {high}", legal="finite numbers")
        )
    if scale < np.finfo("float32").tiny:
        return np.float32(1), 0
    return scale, int(np.clip(np.rint(-low / float(scale)), 0, 255))


def _by_integers(bb: BlockBuilder, layer: Layer, given: Range) -> RelaxExpr:
    """The layer on inputs and weights that went through integers."""
    scale, zero = steps_of(given)
    emit: Callable[[RelaxExpr], Var] = bb.emit
    steps = emit(op.round(emit(op.divide(layer.call.args[0], Constant(scale)))))
    moved = emit(op.add(steps, Constant(np.float32(zero))))
    stored = emit(op.astype(emit(op.clip(moved, 0.0, 255.0)), "uint8"))
    whole = emit(op.subtract(emit(op.astype(stored, "int32")), Constant(np.int32(zero))))
    x = emit(op.multiply(emit(op.astype(whole, "float32")), Constant(scale)))
    numbers, sizes = _by_filters(layer)
    wide = emit(op.astype(emit(op.astype(Constant(numbers), "int32")), "float32"))
    w = emit(op.multiply(wide, Constant(sizes)))
    return Call(layer.call.op, [x, w], layer.call.attrs, layer.call.sinfo_args, layer.call.span)


def _by_filters(layer: Layer) -> tuple[Array, Array]:
    """Weights as int8, and the scale of each filter or column."""
    along = (1, 2, 3) if layer.kind == "conv2d" else 0
    sizes = np.abs(layer.weights).max(axis=along, keepdims=True) / np.float32(127)
    sizes = np.where(sizes < np.finfo("float32").tiny, np.float32(1), sizes).astype("float32")
    return np.clip(np.rint(layer.weights / sizes), -127, 127).astype("int8"), sizes
