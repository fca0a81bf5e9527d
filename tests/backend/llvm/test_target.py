"""From targets to machines."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tvm
from tvm.backend.llvm.jit import host_machine
from tvm.backend.llvm.target import is_host, machine_of
from tvm.error import TargetError, TVMError
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.cpu


def test_without_options_it_is_this_machine() -> None:
    assert machine_of(Target("llvm")) == host_machine()
    assert is_host(machine_of(Target("llvm")))


def test_options_add_to_what_the_cpu_has() -> None:
    machine = machine_of(Target("llvm -mattr=-avx512f -opt-level=3"))
    assert machine.features.endswith(",-avx512f")
    assert machine.opt_level == 3


def test_a_named_cpu_has_only_its_own_features() -> None:
    machine = machine_of(Target("llvm -mcpu=skylake"))
    assert (machine.cpu, machine.features) == ("skylake", "")
    assert is_host(machine)


def test_another_machine() -> None:
    machine = machine_of(Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+dotprod"))
    assert (machine.triple, machine.cpu, machine.features) == (
        "aarch64-linux-gnu", "cortex-a72", "+dotprod"
    )  # fmt: skip
    assert not is_host(machine)


def test_targets_of_other_backends_are_refused() -> None:
    with pytest.raises(TargetError, match="legal: llvm"):
        machine_of(Target("opencl"))


def test_hexagon_is_llvms_too() -> None:
    """Loops over bytes run on the vector unit, whose width is a feature of the target."""

    @T.prim_func
    def add(A: T.Buffer((128,), "uint8"), B: T.Buffer((128,), "uint8")):
        for i in range(128):
            B[i] = A[i] + B[i]

    target = tvm.target.hexagon("v66", hvx=128)
    assert machine_of(Target("hexagon")).triple == machine_of(target).triple == "hexagon"
    module = tvm.tir.build(add, target=Target(target, target))
    assert re.search(r"attributes.*\+hvx-length128b", module.inspect_source("ll"))
    assert re.search(r"v\d+\.b = vadd\(v\d+\.b,v\d+\.b\)", module.inspect_source("s"))
    a = np.zeros(128, "uint8")
    with pytest.raises(TVMError, match="found: code for hexagon"):
        module["add"](a, a)


def test_what_floating_arithmetic_may_ignore() -> None:
    assert machine_of(Target("llvm")).fast_math == ""
    assert machine_of(Target("llvm -fast-math=1")).fast_math == "fast"
    some = Target("llvm -fast-math-nsz -fast-math-nnan=1 -fast-math-arcp=0")
    assert machine_of(some).fast_math == "nnan nsz"


def test_floats_in_registers_or_not() -> None:
    hard = machine_of(Target("llvm -mtriple=armv7-linux-gnueabi -mfloat-abi=hard -mattr=+neon"))
    soft = machine_of(Target("llvm -mtriple=armv7-linux-gnueabihf -mfloat-abi=soft"))
    assert (hard.triple, hard.features) == ("armv7-linux-gnueabihf", "+neon")
    assert (soft.triple, soft.features) == ("armv7-linux-gnueabi", "+soft-float")


@pytest.mark.parametrize(("level", "wanted"), [(-1, 0), (1, 1), (9, 3)])
def test_levels_beyond_the_last_are_the_last(level: int, wanted: int) -> None:
    assert machine_of(Target({"kind": "llvm", "opt-level": level})).opt_level == wanted


@pytest.mark.parametrize("option", ["mfloat-abi", "jit"])
def test_rejects_unknown_words(option: str) -> None:
    with pytest.raises(TargetError, match=f"machine code for -{option}=odd\n  legal: "):
        machine_of(Target({"kind": "llvm", option: "odd"}))


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake-avx521", "did you mean 'skylake-avx512'"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=x86-64-v2", "-mcpu=x86-64-v2, which LLVM"),
        ("llvm -mtriple=riscv64-linux-gnu -mcpu=cortex-a72", "-mcpu=cortex-a72, which LLVM"),
    ],
)
def test_cpus_of_other_machines_are_refused(target: str, found: str) -> None:
    with pytest.raises(TargetError, match=re.escape(found)):
        machine_of(Target(target))
