"""Storage that a machine keeps, and regions that it repeats."""

from __future__ import annotations

import pytest

import tvm
from tvm.runtime.vm_builtin_graph import get_cached_alloc, run_or_capture

pytestmark = pytest.mark.pure


class Machine:
    """A machine on the host, which records nothing."""

    devices = (tvm.cpu(),)


def test_storage_is_made_once_a_machine() -> None:
    one, two = Machine(), Machine()
    made = [get_cached_alloc(vm, object, index) for vm in (one, two) for index in (0, 1, 0)]
    assert made[0] is made[2]
    assert made[3] is made[5]
    assert len({id(value) for value in made}) == 4


def test_regions_get_their_operands_and_sizes() -> None:
    seen: list[tuple[object, ...]] = []
    assert run_or_capture(Machine(), lambda *a: seen.append(a) or 7, (1, 2), 0) == 7
    # sizes are among the operands; beside them they tell recordings apart
    run_or_capture(Machine(), lambda *a: seen.append(a), (1, (5, 6)), 0, (5, 6))
    assert seen == [(1, 2), (1, (5, 6))]
