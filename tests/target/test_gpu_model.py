"""Models of GPUs: what fits on a multiprocessor, and which machines there are."""

from __future__ import annotations

import pytest

from tvm.error import TargetError
from tvm.target import Target
from tvm.target.gpu_model import Occupancy, machine_named

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "wanted"),
    [
        # from NVIDIA's occupancy tables: 64K registers, 164 KB of which a block takes one more
        ("sm_80", 256, 32, 0, Occupancy(8, 64, 1.0, "threads")),
        ("sm_80", 256, 64, 0, Occupancy(4, 32, 0.5, "registers")),
        ("sm_80", 128, 16, 40 << 10, Occupancy(4, 16, 0.25, "shared memory")),
        ("sm_86", 32, 16, 0, Occupancy(16, 16, 1 / 3, "blocks")),
        ("sm_75", 1024, 65, 0, Occupancy(0, 0, 0.0, "registers")),
        ("gfx90a", 256, 128, 0, Occupancy(4, 16, 0.5, "registers")),
    ],
)
def test_occupancy(
    arch: str, threads: int, registers: int, shared: int, wanted: Occupancy
) -> None:
    model = machine_named(arch)
    assert model is not None
    assert model.occupancy(threads, registers, shared) == pytest.approx(wanted)


def test_registers_that_threads_may_have() -> None:
    model = Target("cuda -arch=sm_90").gpu
    assert [model.max_registers(n) for n in (128, 256, 512, 1024)] == [255, 255, 128, 64]


def test_what_a_target_tells_is_taken() -> None:
    model = Target("opencl -thread_warp_size=16 -max_shared_memory_per_block=32768").gpu
    assert (model.warp_size, model.shared_per_block, model.multiprocessors) == (16, 32768, 0)
    assert model.floor_seconds(1e9) is None
    assert Target("cuda -arch=sm_90a").gpu.chip == "H100 SXM"
    assert Target("cuda -arch=sm_90a").gpu.floor_seconds(3.35e12) == pytest.approx(1.0)


def test_warps_of_amd() -> None:
    assert [Target(f"rocm -mcpu={name}").attrs["thread_warp_size"]
            for name in ("gfx90a", "gfx942", "gfx1100", "gfx1201")] == [64, 64, 32, 32]  # fmt: skip
    assert Target("rocm -mcpu=gfx1100 -thread_warp_size=64").gpu.warp_size == 64
    assert Target("rocm").gpu.warp_size == 64


@pytest.mark.parametrize("text", ["cuda -arch=sm_1", "cuda -arch=sm_81", "nvptx -mcpu=gfx900"])
def test_machines_that_do_not_exist_are_refused(text: str) -> None:
    with pytest.raises(TargetError, match=r"'arch' or 'mcpu'[\s\S]*legal: sm_20, .*sm_80"):
        Target(text)


def test_newer_machines_are_taken() -> None:
    assert Target("cuda -arch=sm_130a").cuda_version == 130
