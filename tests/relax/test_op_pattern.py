"""The order of patterns is part of their meaning."""

import pytest

from tvm.relax.op_pattern import OpPatternKind as Kind

pytestmark = pytest.mark.pure


def test_numbers():
    assert {kind.name: kind.value for kind in Kind} == {
        "kElemWise": 0, "kBroadcast": 1, "kInjective": 2, "kCommReduce": 3,
        "kOutEWiseFusable": 4, "kTuple": 7, "kOpaque": 8,
    }  # fmt: skip


def test_order():
    assert Kind.kElemWise < Kind.kBroadcast < Kind.kInjective < Kind.kCommReduce
    assert Kind.kCommReduce < Kind.kOutEWiseFusable < Kind.kTuple < Kind.kOpaque
