"""Several databases as one."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, commit
from tvm.error import TVMError
from tvm.meta_schedule.database import MemoryDatabase, OrderedUnionDatabase, UnionDatabase

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("kind", "chosen"), [(UnionDatabase, (0.5, 0.5)), (OrderedUnionDatabase, (1.0, 0.5))]
)
def test_answers(kind: type, chosen: tuple[float, float]) -> None:
    one, two, empty = MemoryDatabase(), MemoryDatabase(), MemoryDatabase()
    commit(one, [1.0])
    commit(two, [0.5])
    for databases, expected in (((empty, one, two), chosen[0]), ((two, one), chosen[1])):
        (run_sec,) = kind(*databases).query_tuning_record(Matmul, LLVM, "main").run_secs
        assert run_sec.value == expected
    assert kind(empty).query(Matmul, LLVM) is None
    assert kind(one).query(Matmul, LLVM).mod is not None


@pytest.mark.parametrize("kind", [UnionDatabase, OrderedUnionDatabase])
def test_only_questions(kind: type) -> None:
    with pytest.raises(TVMError, match=r"UnionDatabase's HasWorkload method not implemented!"):
        kind().has_workload(Matmul)
    with pytest.raises(TypeError, match=r"found: 'memory'"):
        kind("memory")
