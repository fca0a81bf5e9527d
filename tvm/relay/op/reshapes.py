"""The codes of `reshape`: which extents a new shape stands for.

    0 keeps an extent      -1 is what is left        -2 keeps all that follow
   -3 joins two extents    -4 splits one in the two that follow (one of which may be -1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.error import TVMError
from tvm.relay.ty import Any as AnyDim

from .relations import is_any


def _times(a: Any, b: Any) -> Any:
    return AnyDim() if is_any(a, b) else a * b


def _over(a: Any, b: Any) -> Any:
    if is_any(a, b):
        return AnyDim()
    return a // b


def product(dims: Sequence[Any]) -> Any:
    """The product of extents; unknown when one is."""
    total: Any = 1
    for dim in dims:
        total = _times(total, dim)
    return total


def reshape_extents(
    dims: Sequence[Any],
    codes: Sequence[Any],
    allowzero: bool = False,
    fail: Callable[[str, str], TVMError] | None = None,
) -> list[Any]:
    """The extents that `codes` stand for, of a tensor with extents `dims`."""
    refuse = fail or (lambda asked, legal: TVMError(f"reshape: {asked}; legal: {legal}"))
    found: list[Any] = []
    used, rest_at, at = 0, -1, 0
    codes = list(codes)
    while at < len(codes):
        code = codes[at]
        at += 1
        if not isinstance(code, int) or code > 0 or (code == 0 and allowzero):
            found.append(code)
            used += 1
            continue
        if code != -1 and used >= len(dims) and code != -2:
            raise refuse(f"code {code} has no extent to stand for", "as many extents as codes")
        if code == 0:
            found.append(dims[used])
            used += 1
        elif code == -1:
            if rest_at >= 0:
                raise refuse("-1 stands twice in the new shape", "-1 once")
            rest_at = len(found)
            found.append(1)
            used += 1
        elif code == -2:
            found.extend(dims[used:])
            used = len(dims)
        elif code == -3:
            if used + 1 >= len(dims):
                raise refuse("-3 joins two extents", "two extents that are left")
            found.append(_times(dims[used], dims[used + 1]))
            used += 2
        elif code == -4:
            found.extend(_split(dims[used], codes[at : at + 2], refuse))
            used += 1
            at += 2
        else:
            raise refuse(f"the code {code} is not known", "0, -1, -2, -3, -4 and extents")
    if rest_at >= 0:
        found[rest_at] = _rest(dims, found, rest_at, refuse)
    return _checked(dims, found, refuse)


def _split(dim: Any, parts: Sequence[Any], refuse: Any) -> list[Any]:
    if len(parts) != 2 or (parts[0] == -1 and parts[1] == -1):
        raise refuse("-4 is followed by two extents", "two extents, one of which may be -1")
    first, second = parts
    if first == -1:
        first = _over(dim, second)
    elif second == -1:
        second = _over(dim, first)
    return [first, second]


def _rest(dims: Sequence[Any], found: Sequence[Any], at: int, refuse: Any) -> Any:
    """What -1 stands for; unknown extents that appear on both sides cancel, one for one."""
    left, others = list(dims), []
    for dim in [d for i, d in enumerate(found) if i != at]:
        same = next((i for i, d in enumerate(left) if d is dim and not isinstance(d, int)), None)
        if same is None:
            others.append(dim)
        else:
            del left[same]
    total, divisor = product(left), product(others)
    if is_any(total, divisor):
        return AnyDim()
    known = isinstance(total, int) and isinstance(divisor, int)
    if known and (divisor == 0 or total % divisor):
        raise refuse(f"{total} elements do not fill rows of {divisor}", "a divisor")
    return total // divisor


def _checked(dims: Sequence[Any], found: list[Any], refuse: Any) -> list[Any]:
    before, after = product(dims), product(found)
    if isinstance(before, int) and isinstance(after, int) and before != after:
        raise refuse(f"{before} elements do not make {found}", "as many elements as before")
    return found


def reverse_extents(dims: Sequence[Any], codes: Sequence[Any]) -> list[Any]:
    """As `reshape_extents`, with extents and codes read from the back."""
    return reshape_extents(list(dims)[::-1], list(codes)[::-1])[::-1]
