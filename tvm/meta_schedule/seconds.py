"""Measured times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tvm.tir.expr import FloatImm, IntImm


class Seconds(float):
    """A number of seconds; `value` is the plain number, as constants of programs have it."""

    __slots__ = ()

    @property
    def value(self) -> float:
        """The plain number."""
        return float(self)


def seconds(times: Iterable[Any] | None) -> list[Seconds] | None:
    """Times from numbers and constants of programs; None stays None."""
    if times is None:
        return None
    return [Seconds(t.value if isinstance(t, (FloatImm, IntImm)) else t) for t in times]
