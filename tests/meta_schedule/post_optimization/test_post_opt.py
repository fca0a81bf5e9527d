"""Refining the best schedules of a search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.schedules import LLVM, commit
from tvm.meta_schedule.database import JSONDatabase
from tvm.meta_schedule.post_optimization import PostOpt
from tvm.runtime import empty, tensor

pytestmark = pytest.mark.cpu


@pytest.mark.slow
def test_records_of_a_search(tmp_path: Path) -> None:
    commit(JSONDatabase(work_dir=str(tmp_path)), [1.0], inner=4)
    PostOpt(str(tmp_path), LLVM, trials=1).run()
    database = JSONDatabase(work_dir=str(tmp_path))
    assert len(database) == 2
    best = database.query(Matmul, LLVM, kind="ir_module")
    a, b = np.random.default_rng(0).random((2, 64, 64), "float32")
    out = empty((64, 64), "float32")
    tvm.tir.build(best, "llvm")["main"](tensor(a), tensor(b), out)
    np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4)
