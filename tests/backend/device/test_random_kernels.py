"""Random kernels compute the same everywhere: by the interpreter, as C++ here, and on devices."""

from __future__ import annotations

import pytest

import tvm
from tests.backend.device import random_threads
from tests.backend.device.random_kernels import FAMILIES, differences

pytestmark = pytest.mark.cpu
FEW = (0, 5)  # the first, and how many
MANY = [(first, 50) for first in range(0, 1000, 50)]


def _here(kind: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not tvm.device(kind, 0).exist, reason=f"no {kind} device here")


PLACES = [
    "interpreter",
    pytest.param("shim:cuda", marks=pytest.mark.slow),
    pytest.param("shim:rocm", marks=pytest.mark.slow),
    pytest.param("shim:metal", marks=pytest.mark.slow),
    pytest.param("shim:opencl", marks=pytest.mark.slow),
    pytest.param("shim:nvptx", marks=pytest.mark.slow),
    pytest.param("shim:amdgcn", marks=pytest.mark.slow),
    pytest.param("opencl", marks=[pytest.mark.device, _here("opencl")]),
    pytest.param("webgpu", marks=[pytest.mark.device, _here("webgpu")]),
    pytest.param("vulkan", marks=[pytest.mark.device, _here("vulkan")]),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_few(place: str) -> None:
    assert differences(*FEW, [place]) == []


@pytest.mark.parametrize("place", ["shim:cuda", PLACES[-2]])
@pytest.mark.parametrize("family", ["types", "stages"])
def test_a_few_of_other_families(place: str, family: str) -> None:
    assert differences(*FEW, [place], family) == []


@pytest.mark.parametrize("seed", [31, 44])
def test_what_differed_once(seed: int) -> None:
    """A reduction of partial results; threads of a warp that waited for those beyond a branch."""
    assert random_threads.made(seed).words.split()[-1] in ("3", "33")
    assert differences(seed, 1, ["interpreter", "shim:cuda", "shim:nvptx"]) == []


@pytest.mark.parametrize("seed", [69, 119, 232, 339])
def test_what_differed_once_by_types(seed: int) -> None:
    """Open local memory, a zero of another type, a bool over threads, neighbours that lie apart."""
    assert differences(seed, 1, ["shim:cuda"], "types") == []


@pytest.mark.long
@pytest.mark.parametrize(("first", "count"), MANY)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("family", list(FAMILIES))
def test_many(place: str, first: int, count: int, family: str) -> None:
    assert differences(first, count, [place], family) == []
