"""Which dimensions of a call's operands become which dimensions of its result.

    matmul   (m, k), (k, n) -> (m, n)      0.0 -> 0, 1.1 -> 1; k is summed over

A dimension that is linked may be cut into pieces without another operator: each piece of the
operand makes the same piece of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.ir.op import Op
from tvm.relax.expr import Call
from tvm.relax.shape_math import same_extent
from tvm.relax.struct_info import TensorStructInfo, const_int

# (operand, dimension of the operand, dimension of the result)
Link = tuple[int, int, int]
_BROADCASTING: Final = (0, 1)  # patterns: elementwise, broadcast
_REDUCTIONS: Final = frozenset(
    f"relax.{name}" for name in ("sum", "mean", "max", "min", "prod", "std", "variance")
)
_ROWS: Final = {  # normalisations keep every dimension; those they go along are never cut well
    "relax.nn.softmax": "axis",
    "relax.nn.log_softmax": "axis",
    "relax.nn.layer_norm": "axes",
    "relax.nn.rms_norm": "axes",
}


def axis_links(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    """The links of a call; none for an operator whose dimensions are not known to be linked."""
    if not isinstance(call.op, Op):
        return []
    rule = _RULES.get(call.op.name)
    if rule is None and call.op.name in _REDUCTIONS:
        rule = _reduction
    if rule is None and call.op.name in _ROWS:
        rule = _row_wise
    if rule is None and call.op.get_attr("TOpPattern") in _BROADCASTING:
        rule = _broadcast
    return [] if rule is None else rule(call, operands, result)


def _broadcast(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    """Dimensions from the last one on; one of extent 1 that is stretched is not linked."""
    links: list[Link] = []
    for at, info in enumerate(operands):
        if info is None or info.ndim < 0 or result.ndim < 0:
            continue
        shift = result.ndim - info.ndim
        for dim in range(info.ndim):
            if _is_stretched(info, dim, result, dim + shift):
                continue
            links.append((at, dim, dim + shift))
    return links


def _is_stretched(a: TensorStructInfo, i: int, b: TensorStructInfo, j: int) -> bool:
    if a.values is None or b.values is None:
        return False
    return const_int(a.values[i]) == 1 and same_extent(a.values[i], b.values[j]) is not True


def _matmul(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    lhs, rhs = operands[0], operands[1]
    if lhs is None or rhs is None or lhs.ndim < 1 or rhs.ndim < 1:
        return []
    links: list[Link] = []
    columns, rows = (1 if rhs.ndim > 1 else 0), (1 if lhs.ndim > 1 else 0)
    if rows:
        links.append((0, lhs.ndim - 2, result.ndim - 1 - columns))
    if columns:
        links.append((1, rhs.ndim - 1, result.ndim - 1))
    batch = result.ndim - rows - columns
    for at, info in ((0, lhs), (1, rhs)):
        own = max(info.ndim - 2, 0)
        for dim in range(own):
            target = batch - own + dim
            if not _is_stretched(info, dim, result, target):
                links.append((at, dim, target))
    return links


def _axes_of(call: Call, name: str, ndim: int) -> list[int]:
    given: Any = getattr(call.attrs, name, None)
    if given is None:
        return list(range(ndim))
    values = given if isinstance(given, (list, tuple)) else [given]
    numbers = [int(str(getattr(v, "value", v))) for v in values]
    return [n % ndim for n in numbers] if ndim > 0 else []


def reduced_axes(call: Call, operand: TensorStructInfo) -> set[int]:
    """The dimensions that a reduction goes over."""
    return set(_axes_of(call, "axis", operand.ndim))


def _reduction(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    info = operands[0]
    if info is None or info.ndim < 0:
        return []
    gone = reduced_axes(call, info)
    kept = [dim for dim in range(info.ndim) if dim not in gone]
    if getattr(call.attrs, "keepdims", False):
        return [(0, dim, dim) for dim in kept]
    return [(0, dim, at) for at, dim in enumerate(kept)]


def _row_wise(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    info = operands[0]
    if info is None or info.ndim < 0:
        return []
    assert isinstance(call.op, Op), "the caller looked"
    along = set(_axes_of(call, _ROWS[call.op.name], info.ndim))
    return [(0, dim, dim) for dim in range(info.ndim) if dim not in along]


def _with_vectors(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    """Element by element, with vectors (scales, slopes) along `axis`."""
    links = _broadcast(call, [operands[0]], result)
    if result.ndim < 0:
        return links
    along = _axes_of(call, "axis", result.ndim)
    for at, info in enumerate(operands[1:], 1):
        if info is not None and info.ndim == 1 and not _is_stretched(info, 0, result, along[0]):
            links.append((at, 0, along[0]))
    return links


def _permute(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    info = operands[0]
    if info is None or info.ndim < 0:
        return []
    given: Any = getattr(call.attrs, "axes", None)
    order = _axes_of(call, "axes", info.ndim) if given else list(range(info.ndim))[::-1]
    return [(0, dim, at) for at, dim in enumerate(order)]


def _reshape(
    call: Call, operands: Sequence[TensorStructInfo | None], result: TensorStructInfo
) -> list[Link]:
    """The first dimension of each group of dimensions whose products agree.

    A new dimension of extent one cannot be split: the group begins with the next one.
    """
    info = operands[0]
    if info is None or info.values is None or result.values is None:
        return []
    links: list[Link] = []
    source, target = list(info.values), list(result.values)
    i = j = 0
    while i < len(source) and j < len(target):
        if const_int(target[j]) == 1 and const_int(source[i]) != 1:
            j += 1
            continue
        links.append((0, i, j))
        a, b = source[i], target[j]
        i, j = i + 1, j + 1
        while same_extent(a, b) is not True:
            size_a, size_b = const_int(a), const_int(b)
            if size_a is not None and size_b is not None and size_a > size_b:
                grow_target = True
            elif size_a is not None and size_b is not None:
                grow_target = False
            else:
                grow_target = len(target) - j > len(source) - i
            if grow_target and j < len(target):
                b, j = b * target[j], j + 1
            elif not grow_target and i < len(source):
                a, i = a * source[i], i + 1
            else:
                return links
    return links


_RULES: Final[
    dict[
        str,
        Callable[[Call, Sequence[TensorStructInfo | None], TensorStructInfo], list[Link]],
    ]
] = {
    "relax.matmul": _matmul,
    "relax.permute_dims": _permute,
    "relax.reshape": _reshape,
    "relax.astype": _broadcast,
    "relax.quantize": _with_vectors,
    "relax.dequantize": _with_vectors,
    "relax.nn.prelu": _with_vectors,
}
