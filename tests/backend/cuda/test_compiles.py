"""What the backend writes is CUDA: the field's own compiler takes it, for two machines."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tests.backend.device.programs import PROGRAMS
from tests.relax.op.cases import CASES, Case
from tests.relax.op.test_declare import _module
from tvm.contrib import nvrtc
from tvm.runtime.device_module import DeviceModule
from tvm.target import Target

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed"),
]


def sources(module: Any) -> list[str]:
    """The texts of the kernels of a module and of those it imports."""
    found = [module.source] if isinstance(module, DeviceModule) else []
    return found + [text for inner in module.imports for text in sources(inner)]


def compiled(mod: tvm.IRModule, arch: str) -> int:
    """How many texts a program has; each is compiled."""
    made = tvm.compile(mod, Target({"kind": "cuda", "arch": arch}, "llvm"))
    texts = sources(made.mod)
    for text in texts:
        assert nvrtc.compile_source(text, "cubin", arch).startswith(b"\x7fELF")
    return len(texts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    assert compiled(tvm.IRModule({"main": PROGRAMS[name].func}), "sm_80") == 1


@pytest.mark.parametrize("case", CASES[::16], ids=str)
def test_some_operators(case: Case) -> None:
    assert compiled(_module(case), "sm_90") <= 1


@pytest.mark.long
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_operators(case: Case, arch: str) -> None:
    assert compiled(_module(case), arch) <= 1
