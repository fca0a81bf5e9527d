from __future__ import annotations

import pytest

from tvm import tir
from tvm.tir.transform.pipeline_versions import Staged, versions_needed

pytestmark = pytest.mark.pure


def staged(stage: int, order: int, buffer: tir.Buffer, at: int, written: bool) -> Staged:
    region = [tir.BufferRegion.from_point(buffer, [tir.IntImm("int32", at)])]
    none: list[tir.BufferRegion] = []
    reads, writes = (none, region) if written else (region, none)
    body = tir.Evaluate(tir.IntImm("int32", 0))
    return Staged(tir.Block([], reads, writes, "", body), stage, order, False)


@pytest.mark.parametrize(
    ("write", "read", "at", "count"),
    [
        ((0, 0), (1, 1), 0, 2),
        ((0, 1), (1, 0), 0, 1),  # read before it is written anew
        ((0, 0), (1, 1), 1, 1),  # another element
        ((0, 0), (0, 1), 0, 1),
        ((0, 0), (3, 1), 0, 4),
    ],
)
def test_count(write: tuple[int, int], read: tuple[int, int], at: int, count: int) -> None:
    buffer = tir.decl_buffer((4,), name="B")
    info = [staged(*write, buffer, 0, True), staged(*read, buffer, at, False)]
    assert versions_needed(buffer, info, False) == count
    assert versions_needed(buffer, info, True) == max(count, 2)


def test_memory_from_outside() -> None:
    buffer = tir.decl_buffer((4,), name="B")
    assert versions_needed(buffer, [staged(1, 0, buffer, 0, False)], True) == 1
