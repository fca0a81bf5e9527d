"""Figures for schedule rules: of kinds, of devices that attributes name, of kinds of packages."""

from __future__ import annotations

import pytest

from tvm.target import Target
from tvm.target.gpu_tuning import SIMDGROUPS, TENSOR_CORES, GpuTuning, gpu_tuning
from tvm.target.kind import KINDS, KindTraits, TargetKind, register_kind

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("kind", "threads", "units"),
    [("cuda", 1024, TENSOR_CORES), ("rocm", 256, ""), ("metal", 256, SIMDGROUPS),
     ("opencl", 256, ""), ("vulkan", 64, ""), ("webgpu", 64, "")],
)  # fmt: skip
def test_kinds(kind: str, threads: int, units: str) -> None:
    found = gpu_tuning(Target(kind))
    assert (found.threads, found.matrix_units, found.on_phone) == (threads, units, False)


@pytest.mark.parametrize(
    ("target", "on_phone", "lanes"),
    [
        ({"kind": "opencl", "device": "adreno"}, True, 8),
        ({"kind": "opencl", "host": {"kind": "llvm", "mtriple": "aarch64-linux-android"}}, True, 8),
        ({"kind": "opencl", "device": "mali"}, False, 8),
        ({"kind": "opencl"}, False, 1),
    ],
)
def test_attributes_name_the_device(target: dict, on_phone: bool, lanes: int) -> None:
    found = gpu_tuning(Target(target))
    assert (found.on_phone, found.gemv.vec_c) == (on_phone, lanes)


def test_a_kind_of_a_package_brings_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm.target.kind.KINDS", KINDS)
    monkeypatch.delitem(KINDS, "shader", raising=False)
    traits = KindTraits(gpu=GpuTuning(threads=128))
    register_kind(TargetKind("shader", 12, ("gpu",), "max_num_threads:int", traits=traits))
    assert gpu_tuning(Target("shader")).threads == 128
    monkeypatch.delitem(KINDS, "shader")
