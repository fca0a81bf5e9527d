from __future__ import annotations

import pytest

from tests.tir.schedule.cases import matmul
from tvm.error import TVMError
from tvm.tir.schedule import Schedule, ScheduleError


def message(level: str) -> str:
    sch = Schedule(matmul(), error_render_level=level)
    with pytest.raises(ScheduleError) as caught:
        sch.get_block("wrong_name")
    (text,) = caught.value.args
    return text


def test_detail() -> None:
    text = message("detail")
    assert "An error occurred in the schedule primitive 'get_block'" in text
    assert 'sch.get_block(name="wrong_name", func_name="main")' in text
    assert "Cannot find a block with the name: wrong_name" in text
    assert "def main(" in text
    assert "legal: one of ['root', 'C']" in text


def test_fast() -> None:
    text = message("fast")
    assert "Cannot find a block with the specified name" in text
    assert "def main(" not in text


def test_none() -> None:
    assert "(not rendered)" in message("none")


def test_the_spot_is_underlined() -> None:
    sch = Schedule(matmul())
    with pytest.raises(TVMError) as caught:
        sch.parallel(sch.get_loops("C")[2])
    assert "^^^" in str(caught.value)
    assert "rfactor" in str(caught.value)


def test_the_rule_stands_beside_what_was_found() -> None:
    sch = Schedule(matmul())
    loop = sch.get_loops("C")[0]
    with pytest.raises(TVMError) as caught:
        sch.compute_at("C", loop)
    assert "(The loop must not be an ancestor of block tir.Block#1)" in str(caught.value)
    with pytest.raises(TVMError) as caught:
        sch.split(loop, factors=[2, 2])
    assert "the extent of loop tir.For#0)" in str(caught.value)
