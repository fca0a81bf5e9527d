"""Which default rules a target has."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.rule_kind import (
    limit,
    number_of_cores,
    require_target,
    rule_kind,
    sm_version,
)
from tvm.target import Target

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("target", "kind"),
    [
        ("llvm", "llvm"),
        ("llvm -mcpu=haswell", "llvm"),
        ("llvm -mcpu=cascadelake", "vnni"),
        ("llvm -mcpu=skylake-avx512", "avx512"),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+v", "rvv"),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m", "llvm"),
        ("c", "c"),
        ("nvidia/geforce-rtx-2080", "cuda-tensorcore"),
        ("nvidia/nvidia-v100", "cuda"),
        ("rocm", "cuda"),
        ("vulkan", "cuda"),
    ],
)
def test_kinds(target: str, kind: str) -> None:
    assert rule_kind(Target(target)) == kind


def test_rejects_a_target_without_rules() -> None:
    with pytest.raises(ValueError, match="no default rules for the target"):
        rule_kind(Target("ext_dev"))


def test_figures() -> None:
    assert sm_version(Target("nvidia/geforce-rtx-3090")) == 86
    assert sm_version(Target("llvm")) == -1
    assert number_of_cores(Target("llvm --num-cores=7")) == 7
    assert number_of_cores(Target("llvm")) >= 1
    assert limit(Target("nvidia/geforce-rtx-3090"), "max_threads_per_block") == 1024
    with pytest.raises(ValueError, match="missing attribute `max_threads_per_block`"):
        limit(Target("llvm"), "max_threads_per_block")
    with pytest.raises(ValueError, match="AutoBind: the target is not defined"):
        require_target(None, "AutoBind")
