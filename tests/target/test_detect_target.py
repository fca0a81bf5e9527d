"""The target of a device of this machine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import tvm
from tests.runtime.device_api.devices import needs
from tvm.target import Target


@pytest.mark.pure
def test_cpu() -> None:
    assert Target.from_device("cpu").kind.name == "llvm"
    assert Target.from_device("cpu:0").kind.name == "llvm"
    assert Target.from_device(tvm.cpu()).attrs["num-cores"] >= 1


@pytest.mark.pure
@pytest.mark.parametrize(
    ("asked", "found"),
    [("abc", "no kind of device"), ("cuda:x", "no kind of device"), ("cuda:77", "no such device"),
     (tvm.cuda(77), "no such device"), ("metal", "nothing here asks devices of kind metal")],
)  # fmt: skip
def test_what_cannot_be_detected(asked: Any, found: str) -> None:
    with pytest.raises(ValueError, match=f"is not supported\n  found: {found}"):
        Target.from_device(asked)


@pytest.mark.pure
@pytest.mark.parametrize("kind", ["cuda", "opencl", "vulkan", "webgpu"])
def test_what_devices_say(kind: str) -> None:
    device = SimpleNamespace(
        type=kind, exist=True, compute_version="9.0", warp_size=32, max_threads_per_block=512,
        max_shared_memory_per_block=49152,
    )  # fmt: skip
    target = Target.from_device(device)
    assert target.kind.name == kind
    if kind == "webgpu":  # its targets have no such options
        assert target.max_num_threads == 256
        return
    assert int(target.attrs["max_threads_per_block"]) == 512
    assert target.max_shared_memory_per_block == 49152
    assert target.thread_warp_size == (32 if kind == "cuda" else 1)
    assert target.arch == ("sm_90" if kind == "cuda" else "")


@pytest.mark.device
@needs("opencl")
def test_opencl() -> None:
    by_name, by_device = Target.from_device("opencl"), Target.from_device(tvm.opencl(0))
    assert str(by_name) == str(by_device)
    assert by_name.max_shared_memory_per_block == tvm.opencl(0).max_shared_memory_per_block
