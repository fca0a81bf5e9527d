"""Devices and their makers."""

from __future__ import annotations

import pytest

import tvm
from tvm.runtime import Device, device

pytestmark = pytest.mark.pure
KINDS = ["cpu", "cuda", "rocm", "opencl", "metal", "vpi", "vulkan", "ext_dev", "hexagon", "webgpu"]


@pytest.mark.parametrize("kind", KINDS)
def test_makers(kind: str) -> None:
    made = getattr(tvm, kind)(2)
    assert isinstance(made, Device)
    assert (made.type, made.index, made.device_id) == (kind, 2, 2)
    assert made == device(kind, 2) == device(f"{kind}:2")
    assert hash(made) == hash(device(kind, 2))


def test_the_host_answers_for_itself() -> None:
    cpu = tvm.cpu()
    assert cpu.exist
    assert cpu.device_type == 1
    assert cpu.max_threads_per_block == 1
    assert cpu.warp_size == 1
    assert cpu.max_thread_dimensions == [1, 1, 1]
    assert cpu.multi_processor_count >= 1
    assert cpu.total_global_memory > cpu.available_global_memory > 0
    assert cpu.compute_version is None
    assert cpu.create_raw_stream() == 0
    cpu.sync()


def test_devices_that_nobody_drives_do_not_exist() -> None:
    assert not tvm.hexagon().exist
    assert tvm.hexagon().device_name is None


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="toaster"):
        device("toaster")


@pytest.mark.parametrize(
    ("target", "kind"),
    [("llvm", "cpu"), ("llvm -mcpu=skylake", "cpu"), ("c", "cpu"), ("nvptx", "cuda")],
)
def test_target_names_the_device_that_runs_its_code(target: str, kind: str) -> None:
    assert device(target, 0) == device(kind, 0)


def test_each_kind_of_target_names_a_device() -> None:
    kinds = tvm.target.Target.list_kinds()
    assert set(kinds) - set(tvm.runtime.Device._DEVICE_NAME_TO_TYPE) == {
        "composite", "ccompiler", "example_target_hook",
    }  # fmt: skip
    assert tvm.runtime.Device._DEVICE_NAME_TO_TYPE["llvm"] == 1
    assert tvm.runtime.Device._DEVICE_NAME_TO_TYPE["nvptx"] == 2
