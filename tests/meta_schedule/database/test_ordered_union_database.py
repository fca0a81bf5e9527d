"""The order of databases decides."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, commit
from tvm.meta_schedule.database import MemoryDatabase, OrderedUnionDatabase, UnionDatabase

pytestmark = pytest.mark.pure


def test_unions_nest() -> None:
    slow, fast, fastest = MemoryDatabase(), MemoryDatabase(), MemoryDatabase()
    commit(slow, [3.0])
    commit(fast, [2.0])
    commit(fastest, [1.0])
    nested = OrderedUnionDatabase(UnionDatabase(slow, fast), fastest)
    assert nested.query(Matmul, LLVM, kind="record").run_secs == [2.0]
