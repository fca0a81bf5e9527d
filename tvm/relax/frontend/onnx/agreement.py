"""Which extents of a node's inputs have to agree; what importing cannot prove, running checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.relax.extents import (
    agreeing,
    broadcast,
    common_extent,
    extents_of,
    fitted,
    repeated,
)
from tvm.relax.op.declare import show_extents
from tvm.relax.shape_math import same_extent
from tvm.tir.expr import INT64, IntImm

from .window import kernel_shape

if TYPE_CHECKING:
    from .node import Node

Rule = Callable[["Node"], None]


def reconcile(node: Node) -> None:
    """Give a node inputs whose extents fit together as its operator asks."""
    rule = _RULES.get(node.op_type)
    if rule is not None and node.domain in ("", "ai.onnx", "com.microsoft"):
        for i in range(len(node.inputs)):
            if node.has(i):
                node.rank(i)  # which must be known
        rule(node)


def _elements(node: Node) -> None:
    """All inputs are broadcast to one shape."""
    if node.opset < 7 and "axis" in node.attrs and not node.domain:
        return  # the second operand is put beside the first one's axes
    given = [i for i in range(len(node.inputs)) if node.has(i)]
    for i, value in zip(given, broadcast(node.bb, [node[i] for i in given])):
        node.replace(i, value)


def _toward_first(node: Node) -> None:
    """The second input is broadcast to the first one."""
    own, slope = extents_of(node[0]), extents_of(node[1])
    if own is None or slope is None or len(slope) > len(own) or node.opset < 7:
        return
    node.replace(1, fitted(node.bb, node[1], own))


def _concat(node: Node) -> None:
    """All extents but the one along the axis are the first input's."""
    shapes = [extents_of(node[i]) for i in range(len(node.inputs))]
    first = next((shape for shape in shapes if shape is not None), None)
    if first is None or not first:
        return
    axis = int(node.attr("axis", 1)) % len(first)
    _same(node, list(range(len(shapes))), [None if a == axis else e for a, e in enumerate(first)])


def _same(node: Node, inputs: Sequence[int], wanted: Sequence[PrimExpr | None]) -> None:
    for i in inputs:
        if node.has(i):
            node.replace(i, agreeing(node.bb, node[i], wanted))


def _products(first: int, second: int) -> Rule:
    def rule(node: Node) -> None:
        """Rows and columns meet in one extent; what stands before is broadcast."""
        a, b = extents_of(node[first]), extents_of(node[second])
        if not a or not b:
            return
        if len(a) == 1 or len(b) == 1:
            length = b[0 if len(b) == 1 else -2]
            _same(node, [first], [*[None] * (len(a) - 1), length])
            return
        _same(node, [first], [*[None] * (len(a) - 1), b[-2]])
        outer_a, outer_b = a[:-2], b[:-2]
        if outer_a and outer_b:
            pairs = _aligned(outer_a, outer_b)
            outer = [x if y is None else y if x is None else common_extent(node.bb, x, y)
                     for x, y in pairs]  # fmt: skip
            for i, own in ((first, outer_a), (second, outer_b)):
                inner = extents_of(node[i]) or ()
                whole = [*[e for e in outer[len(outer) - len(own) :] if e is not None], *inner[-2:]]
                node.replace(i, repeated(node.bb, node[i], whole))

    return rule


def _aligned(
    a: Sequence[PrimExpr], b: Sequence[PrimExpr]
) -> list[tuple[PrimExpr | None, PrimExpr | None]]:
    rank = max(len(a), len(b))
    left = [None] * (rank - len(a)) + list(a)
    right = [None] * (rank - len(b)) + list(b)
    return list(zip(left, right))


def _gemm(node: Node) -> None:
    """The inner extents meet; what is added is broadcast to the product."""
    a, b = extents_of(node[0]), extents_of(node[1])
    if a is None or b is None or len(a) != 2 or len(b) != 2:
        return
    rows, inner = (a[1], 1) if node.attr("transA", 0) else (a[0], 0)
    columns, length = (b[0], b[1]) if node.attr("transB", 0) else (b[1], b[0])
    _same(node, [0], [length, None] if inner else [None, length])
    if node.has(2):
        node.replace(2, fitted(node.bb, node[2], [rows, columns]))


def _windows(data: int, weight: int) -> Rule:
    def rule(node: Node) -> None:
        """The data's channels are those that the weight takes, times the groups."""
        own, taken = extents_of(node[data]), extents_of(node[weight])
        if own is None or taken is None or len(own) < 3:
            return
        channels = taken[0] if "Transpose" in node.op_type else taken[1] * node.attr("group", 1)
        _same(node, [data], [None, channels, *[None] * (len(own) - 2)])

    return rule


def _channels(node: Node) -> None:
    """The data's channels are as many as there are scales."""
    own, scales = extents_of(node[0]), extents_of(node[1])
    if own is not None and scales is not None and len(own) > 1 and len(scales) == 1:
        _same(node, [0], [None, scales[0], *[None] * (len(own) - 2)])


def _last_axes(node: Node) -> None:
    """The data's last extents are those of the scale, where it is not repeated along them."""
    own, scales = extents_of(node[0]), extents_of(node[1])
    if own is not None and scales is not None and len(scales) < len(own):
        last = [None if isinstance(e, IntImm) and e.value == 1 else e for e in scales]
        _same(node, [0], [*[None] * (len(own) - len(scales)), *last])


def _sum_then_norm(node: Node) -> None:
    """What is added to the data is broadcast; the scale is as long as its last axis."""
    added = broadcast(node.bb, [node[0], node[1]])
    node.replace(0, added[0])
    node.replace(1, added[1])


def _steps(gates: int) -> Rule:
    def rule(node: Node) -> None:
        """Weights and states fit the layer's size and the data's batch, as kernels take it."""
        hidden = int(node.required("hidden_size"))
        swapped = bool(node.attr("layout", 0))
        ways = 2 if node.attr("direction", "forward") == "bidirectional" else 1
        own, *_ = (extents_of(node[i]) for i in (0, 1, 2))  # which must all be there
        if own is None or len(own) != 3 or hidden < 1:
            raise node.unfit(0, "of rank 3, and hidden_size positive", f"{own}, {hidden}")
        batch = own[0 if swapped else 1]
        state: list[PrimExpr | int] = [batch, ways, hidden] if swapped else [ways, batch, hidden]
        exactly(node, 1, [ways, gates * hidden, own[2]])
        exactly(node, 2, [ways, gates * hidden, hidden])
        exactly(node, 3, [ways, 2 * gates * hidden])
        exactly(node, 4, [batch])
        exactly(node, 5, state)
        exactly(node, 6, state)
        exactly(node, 7, [ways, 3 * hidden])

    return rule


def _regions(numbers: int) -> Rule:
    def rule(node: Node) -> None:
        """Each region has so many numbers; those that say of which image are as many as regions."""
        own, regions = extents_of(node[0]), extents_of(node[1])
        if own is None or regions is None or len(own) != 4 or len(regions) != 2:
            raise node.unfit(1, "of rank 2, and the data of rank 4", f"{regions}, {own}")
        exactly(node, 1, [regions[0], numbers])
        exactly(node, 2, [regions[0]])

    return rule


def _places(node: Node) -> None:
    """Each picture has its places, with a coordinate for each dimension."""
    own, grid = extents_of(node[0]), extents_of(node[1])
    if own is None or grid is None or len(own) != len(grid) or len(own) < 3:
        raise node.unfit(1, "of the data's rank", grid and show_extents(grid))
    exactly(node, 1, [own[0], *grid[1:-1], len(own) - 2])


def _moved_taps(node: Node) -> None:
    """Offsets and mask have a value for each tap at each place; groups share the channels."""
    data, weight, offset = (extents_of(node[i]) for i in range(3))
    shapes = (data, weight, offset)
    if data is None or weight is None or offset is None or any(len(x or ()) != 4 for x in shapes):
        raise node.unfit(2, "of rank 4, as data and weight are", offset and show_extents(offset))
    groups, moving = int(node.attr("group", 1)), int(node.attr("offset_group", 1))
    counts = [*weight, data[1]]
    known = [e.value for e in counts if isinstance(e, IntImm)]
    if len(known) < len(counts) or min(groups, moving) < 1:
        raise node.unfit(1, "of known extents, as the data's channels", show_extents(counts))
    filters, own, kh, kw, channels = known
    strides, pads = node.attr("strides", [1, 1]), node.attr("pads", [0] * 4)
    steps = node.attr("dilations", [1, 1])
    if channels % moving or filters % groups or kernel_shape(node) != [kh, kw]:
        found = f"{channels} channels, {filters} filters of {kh} x {kw}"
        raise node.unfit(1, "as kernel_shape says, channels and filters shared by groups", found)
    places = [
        tir.floordiv(extent + (pads[d] + pads[d + 2] - (k - 1) * steps[d] - 1), strides[d]) + 1
        for d, (extent, k) in enumerate(zip(data[2:], (kh, kw)))
    ]
    exactly(node, 0, [data[0], own * groups, data[2], data[3]])
    exactly(node, 2, [data[0], 2 * moving * kh * kw, *places])
    exactly(node, 3, [filters])
    exactly(node, 4, [data[0], moving * kh * kw, *places])


def _cache(node: Node) -> None:
    """What is written has the cache's extents, but along the axis; each batch has its place."""
    own, new = extents_of(node[0]), extents_of(node[1])
    if own is None or new is None or len(own) != len(new):
        raise node.unfit(1, "of the cache's rank", new and show_extents(new))
    axis = int(node.attr("axis", -2)) % len(own)
    exactly(node, 1, [new[axis] if a == axis else extent for a, extent in enumerate(own)])
    exactly(node, 2, [own[0]])


def exactly(node: Node, i: int, extents: Sequence[PrimExpr | int]) -> None:
    """Input `i`, if it is there, has these extents; refused where it cannot."""
    if not node.has(i):
        return
    own = extents_of(node[i])
    wanted = [IntImm(INT64, e) if isinstance(e, int) else e for e in extents]
    if own is None or len(own) != len(wanted) or any(
        same_extent(a, b) is False for a, b in zip(own, wanted)
    ):
        raise node.unfit(i, f"of shape {show_extents(wanted)}", own and show_extents(own))
    _same(node, [i], wanted)


_BROADCAST = (
    "Add", "And", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Div", "Equal", "Greater",
    "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow",
    "Sub", "Sum", "Where", "Xor", "BiasGelu", "FastGelu",
)  # fmt: skip
_RULES: dict[str, Rule] = {
    **dict.fromkeys(_BROADCAST, _elements),
    "PRelu": _toward_first,
    "Concat": _concat,
    "MatMul": _products(0, 1),
    "MatMulInteger": _products(0, 1),
    "QLinearMatMul": _products(0, 3),
    "Gemm": _gemm,
    "Conv": _windows(0, 1),
    "ConvTranspose": _windows(0, 1),
    "ConvInteger": _windows(0, 1),
    "QLinearConv": _windows(0, 3),
    "BatchNormalization": _channels,
    "InstanceNormalization": _channels,
    "LayerNormalization": _last_axes,
    "RMSNormalization": _last_axes,
    "SkipLayerNormalization": _sum_then_norm,
    "SkipSimplifiedLayerNormalization": _sum_then_norm,
    "RNN": _steps(1),
    "GRU": _steps(3),
    "LSTM": _steps(4),
    "RoiAlign": _regions(4),
    "MaxRoiPool": _regions(5),
    "DeformConv": _moved_taps,
    "GridSample": _places,
    "TensorScatter": _cache,
}

