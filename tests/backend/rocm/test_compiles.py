"""What the backend writes is HIP: clang makes machine code of it with AMD's own headers."""

from __future__ import annotations

import pytest

import tvm
from tests.backend.device.harness import source_of
from tests.backend.device.programs import PROGRAMS
from tests.backend.rocm import hip_compiler

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(
        not hip_compiler.available(),
        reason="no HIP here; Debian's clang-15, lld-15, libamdhip64-dev, rocm-device-libs bring it",
    ),
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    text = source_of(tvm.IRModule({"main": PROGRAMS[name].func}), "rocm")
    assert hip_compiler.compiled(text).startswith(b"\x7fELF")
