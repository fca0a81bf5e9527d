from __future__ import annotations

import pytest

from tests.tir.schedule.cases import matmul, matmul_relu
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.testing import (
    assert_structural_equal_ignore_global_symbol,
    verify_trace_roundtrip,
)


def test_names_do_not_matter() -> None:
    func = matmul()
    assert_structural_equal_ignore_global_symbol(func.with_attr("global_symbol", "f"), func)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        assert_structural_equal_ignore_global_symbol(func, matmul_relu())


def test_round_trip() -> None:
    func = matmul()
    sch = Schedule(func)
    sch.unroll(sch.get_loops("C")[2])
    verify_trace_roundtrip(sch, func, text_format="json")
    with pytest.raises(ValueError, match="legal: 'json', 'python'"):
        verify_trace_roundtrip(sch, func, text_format="xml")
