"""What cubins say of their kernels, and what CUDA's own assembler says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm
from tests.backend.device.programs import PROGRAMS
from tvm.contrib import nvrtc
from tvm.contrib.cubin import kernel_resources
from tvm.error import TVMError
from tvm.target import Target

pytestmark = pytest.mark.device


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas; CUDA's toolkit has it")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["softmax", "matmul_tiled", "sum_of_rows", "add_one"])
def test_as_the_assembler_says(name: str, arch: str, tmp_path: Path) -> None:
    target = Target({"kind": "nvptx", "mcpu": arch}, "llvm")
    (device,) = tvm.compile(tvm.IRModule({name: PROGRAMS[name].func}), target).mod.imports
    made = tmp_path / "kernel.cubin"
    done = subprocess.run(
        ["ptxas", f"-arch={arch}", "-v", "-o", str(made), "-"], input=device.source, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    registers = int(re.findall(r"Used (\d+) registers", done.stderr)[0])
    shared = re.findall(r"(\d+) bytes smem", done.stderr)
    stack = int(re.findall(r"(\d+) bytes stack frame", done.stderr)[0])
    wanted = (registers, int(shared[0]) if shared else 0, stack)
    assert kernel_resources(made.read_bytes()) == {f"{name}_kernel": wanted}


@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
def test_arrays_that_are_no_registers_lie_on_the_stack() -> None:
    text = (
        'extern "C" __global__ void spill(float* a, int n) {\n'
        "  float x[64] = {};\n  for (int i = 0; i < 64; ++i) x[i * n & 63] += a[i];\n"
        "  __shared__ float s[100];\n  s[threadIdx.x] = x[threadIdx.x];\n  __syncthreads();\n"
        "  a[threadIdx.x] = s[99 - threadIdx.x];\n}"
    )
    for arch in ("sm_80", "sm_90"):
        found = kernel_resources(nvrtc.compile_source(text, "cubin", arch))["spill"]
        assert (found.shared, found.stack) == (400, 256)
        assert 8 <= found.registers <= 255


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x01", b"\x7fELF\x02" + bytes(20), b"no cubin"])
def test_other_bytes(content: bytes) -> None:
    with pytest.raises(TVMError, match=r"read a cubin[\s\S]*legal: a cubin"):
        kernel_resources(content)
