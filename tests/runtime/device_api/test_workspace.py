"""Host code takes scratch memory from the device that its tensors are on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.runtime.device_api import programs
from tests.runtime.device_api.devices import needs
from tvm.relax import op as o
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.workspace import give_device_workspace, take_device_workspace
from tvm.target import Target

pytestmark = [pytest.mark.device, needs("opencl")]


def test_taken_and_given() -> None:
    place = tvm.opencl(0)
    api = kinds.api_of("opencl")
    before = api.memory_in_use(0)
    address = take_device_workspace(place.device_type, 0, 1000)
    assert api.memory_in_use(0) > before
    give_device_workspace(place.device_type, 0, address)
    assert api.memory_in_use(0) == before
    with pytest.raises(MemoryError, match="a size that 64 bits do not hold"):
        take_device_workspace(place.device_type, 0, -1)


@pytest.mark.parametrize("host", ["llvm", "c"])
def test_several_launches_share_it(host: str) -> None:
    """A sum over all before each element is two kernels, with memory between them."""
    place = tvm.opencl(0)
    x = programs.floats(3, 40)
    mod = programs.module(lambda v: o.cumsum(v, axis=None), x)
    built = tvm.compile(mod, Target("opencl", host=host))
    found: Any = tvm.relax.VirtualMachine(built, place)["main"](x)
    np.testing.assert_allclose(found.numpy(), np.cumsum(x), rtol=1e-4, atol=1e-5)
