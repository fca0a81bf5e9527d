"""A small search on a cluster."""

from __future__ import annotations

import tempfile
from typing import cast

from tests.meta_schedule.programs import Matmul
from tvm import meta_schedule as ms
from tvm.ir.module import IRModule
from tvm.target import Target


def found_on(address: str) -> int:
    """How many of four trials gave a time."""
    with tempfile.TemporaryDirectory() as folder:
        database = ms.tune_tir(
            cast(IRModule, Matmul), Target("llvm -num-cores=2"), folder, 4,
            num_trials_per_iter=4, seed=1, database="memory", runner=address,
        )  # fmt: skip
    records = database.get_all_tuning_records()
    return sum(record.is_valid() for record in records)
