"""How the elements of an operator's result depend on those of its operands; fusion goes by it."""

from __future__ import annotations

from enum import IntEnum


class OpPatternKind(IntEnum):
    """From the freest to the most bound; the order is part of the meaning."""

    kElemWise = 0
    kBroadcast = 1
    kInjective = 2
    kCommReduce = 3
    kOutEWiseFusable = 4
    kTuple = 7
    kOpaque = 8
