"""The table of fusion patterns that libraries take over; what was registered later comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from tvm.relax.transform.fuse_ops_by_pattern import FusionPattern

Pattern: TypeAlias = FusionPattern | tuple[Any, ...]
_PATTERNS: Final[list[FusionPattern]] = []


def register_patterns(patterns: Sequence[Pattern]) -> None:
    """Add patterns, given as `FusionPattern` or as tuples of its arguments, least wanted first.

    The same name may be registered more than once; the last one stands for it.
    """
    for pattern in patterns:
        _PATTERNS.append(pattern if isinstance(pattern, FusionPattern) else FusionPattern(*pattern))


def get_patterns_with_prefix(prefix: str) -> list[FusionPattern]:
    """The patterns whose names begin so, most wanted first."""
    return [pattern for pattern in reversed(_PATTERNS) if pattern.name.startswith(prefix)]


def get_pattern(name: str) -> FusionPattern | None:
    """The pattern of this name, or None."""
    return next((pattern for pattern in reversed(_PATTERNS) if pattern.name == name), None)
