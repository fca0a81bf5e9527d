"""A kernel of a model."""

from __future__ import annotations

import re

import pytest

from tests.meta_schedule.programs import Add
from tests.meta_schedule.schedules import LLVM
from tvm.meta_schedule import ExtractedTask

pytestmark = pytest.mark.pure


def test_fields() -> None:
    task = ExtractedTask("add", Add, LLVM, [Add], 3)
    assert (task.task_name, task.mod, task.target, task.dispatched, task.weight) == (
        "add", Add, LLVM, [Add], 3)  # fmt: skip
    assert re.fullmatch(r"meta_schedule.ExtractedTask\(0x[0-9a-f]+\)", str(task))
