"""Products of matrices and convolutions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tvm.error import message
from tvm.relax import op

from .program import Operation
from .registry import convert
from .shape import _dilated, extents

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


@convert("stablehlo.dot_general")
def dot_general(imp: StableHLOImporter, node: Operation, a: Any, b: Any) -> Any:
    """Sums over contracted axes; the result has the batch, then a's other axes, then b's."""
    n = node.attrs["dot_dimension_numbers"]
    shapes = [extents(operand) for operand in node.operands]
    batch = [n["lhs_batching_dimensions"], n["rhs_batching_dimensions"]]
    summed = [n["lhs_contracting_dimensions"], n["rhs_contracting_dimensions"]]
    free = [
        [i for i in range(len(shape)) if i not in batch[side] and i not in summed[side]]
        for side, shape in enumerate(shapes)
    ]
    dtype = node.results[0].dtype
    kinds = {str(x.struct_info.dtype) for x in (a, b)}
    if dtype not in kinds:
        a, b = op.astype(a, dtype), op.astype(b, dtype)
    heads = [shapes[0][i] for i in batch[0]]
    rows, columns = (prod(shapes[s][i] for i in free[s]) for s in (0, 1))
    inner = prod(shapes[0][i] for i in summed[0])
    a = _matrix(imp, a, shapes[0], [*batch[0], *free[0], *summed[0]], [*heads, rows, inner])
    b = _matrix(imp, b, shapes[1], [*batch[1], *summed[1], *free[1]], [*heads, inner, columns])
    product = op.matmul(a, b, out_dtype=dtype if len(kinds) > 1 else None)
    result = extents(node.results[0])
    return product if result == [*heads, rows, columns] else op.reshape(product, result)


def _matrix(
    imp: StableHLOImporter, x: Any, shape: list[int], order: list[int], wanted: list[int]
) -> Any:
    if order != list(range(len(shape))):
        x = imp.emit(op.permute_dims(x, order))
    return x if [shape[i] for i in order] == wanted else imp.emit(op.reshape(x, wanted))


_LETTERS = {1: "W", 2: "HW", 3: "DHW"}
_OPS = {1: op.nn.conv1d, 2: op.nn.conv2d, 3: op.nn.conv3d}
_DIRECT = {("NHWC", "HWIO"), ("NCHW", "OIHW")}


@convert("stablehlo.convolution")
def convolution(imp: StableHLOImporter, node: Operation, x: Any, w: Any) -> Any:
    """Any order of the axes, steps in the data (a transposed convolution), groups of channels."""
    n, attrs = node.attrs["dimension_numbers"], node.attrs
    space = len(n["input_spatial_dimensions"])
    if space not in _OPS:
        raise ValueError(message("convolution", found=f"{space} axes of space", legal="1, 2 or 3"))
    if attrs.get("batch_group_count", 1) != 1:
        found = f"batch_group_count {attrs['batch_group_count']}"
        raise ValueError(message("convolution", found=found, legal="1"))
    data = _order(n, "input_batch_dimension", "input_feature_dimension", "input")
    kernel = _order(
        n, "kernel_output_feature_dimension", "kernel_input_feature_dimension", "kernel"
    )
    out = _order(n, "output_batch_dimension", "output_feature_dimension", "output")
    letters = _LETTERS[space]
    layouts = (_text(data, "NC" + letters), _text(kernel, "OI" + letters))
    if layouts not in _DIRECT:
        x, w = (imp.emit(op.permute_dims(v, o)) for v, o in ((x, data), (w, kernel)))
        layouts = ("NC" + letters, "OI" + letters)
    w = _reversed(w, attrs, layouts[1], letters)
    x, pads = _spread(imp, x, attrs, layouts[0], letters)
    made = _OPS[space](
        x, w,
        strides=_numbers(attrs, "window_strides", [1] * space),
        padding=[low for low, _ in pads] + [high for _, high in pads],
        dilation=_numbers(attrs, "rhs_dilation", [1] * space),
        groups=attrs["feature_group_count"],
        data_layout=layouts[0], kernel_layout=layouts[1], out_dtype=node.results[0].dtype,
    )  # fmt: skip
    now = [layouts[0].index(letter) for letter in _text(out, "NC" + letters)]
    return made if now == sorted(now) else op.permute_dims(made, now)


def _order(numbers: Any, first: str, second: str, side: str) -> list[int]:
    return [numbers[first], numbers[second], *numbers[f"{side}_spatial_dimensions"]]


def _text(order: list[int], letters: str) -> str:
    """The layout's name, from the axis of each letter."""
    return "".join(letters[order.index(i)] for i in range(len(order)))


def _numbers(attrs: Any, name: str, default: list[int]) -> list[int]:
    return [int(i) for i in attrs[name]] if name in attrs else default


def _reversed(w: Any, attrs: Any, layout: str, letters: str) -> Any:
    for letter, turned in zip(letters, attrs.get("window_reversal", ())):
        w = op.flip(w, layout.index(letter)) if turned else w
    return w


def _spread(
    imp: StableHLOImporter, x: Any, attrs: Any, layout: str, letters: str
) -> tuple[Any, list[list[int]]]:
    """Data with zeros between its elements and its negative margins cut off, and the others."""
    space = len(letters)
    pads = [[int(i) for i in pair] for pair in attrs["padding"]] if "padding" in attrs else []
    pads = pads or [[0, 0] for _ in letters]
    steps = _numbers(attrs, "lhs_dilation", [1] * space)
    if any(step != 1 for step in steps):
        from .elementwise import constant

        strides = [steps[letters.index(c)] if c in letters else 1 for c in layout]
        zero = constant(0, x.struct_info.dtype)
        bb = imp.block_builder
        x = imp.emit(bb.call_te(_dilated, x, zero, strides, primfunc_name_hint="dilate"))
    if any(n < 0 for pair in pads for n in pair):
        axes = [layout.index(c) for c in letters]
        sizes = [int(x.struct_info.shape[axis]) for axis in axes]
        begin = [max(-low, 0) for low, _ in pads]
        end = [size - max(-high, 0) for size, (_, high) in zip(sizes, pads)]
        x = imp.emit(op.strided_slice(x, axes, begin, end))
        pads = [[max(low, 0), max(high, 0)] for low, high in pads]
    return x, pads
