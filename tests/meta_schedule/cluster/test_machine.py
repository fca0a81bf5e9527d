"""What a node of a cluster says of itself."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.cluster.machine import describe, machine_of
from tvm.target import Target

pytestmark = pytest.mark.cpu


def test_a_node_says_what_it_is() -> None:
    machine, cores = describe()
    assert machine
    assert cores >= 1
    assert machine_of(Target("llvm")) == machine
    assert machine_of(Target("llvm -mcpu=haswell")) == "haswell"
