"""HIP to AMD's machine code by clang, which needs HIP's headers and AMD's device libraries but no
GPU: Debian's clang-15, lld-15, libamdhip64-dev and rocm-device-libs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

ARCH = "gfx90a"
_HEADER = Path("/usr/include/hip/hip_runtime.h")
_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")  # bitcode of LLVM 15


def _clang() -> str | None:
    found = (shutil.which(f"clang-{version}") for version in range(15, 22))
    return next((path for path in found if path is not None), None)


def available() -> bool:
    """Whether all that is needed is here."""
    return _clang() is not None and _HEADER.exists() and _LIBRARIES.exists()


def compiled(text: str) -> bytes:
    """The code object of a text for one machine; AssertionError with what clang says."""
    clang = _clang()
    assert clang is not None, "clang-15 of Debian compiles HIP"
    with tempfile.TemporaryDirectory(prefix="tvm-hip-") as folder:
        source, made = Path(folder, "kernels.hip"), Path(folder, "kernels.co")
        source.write_text(text)
        command = [
            clang, "-x", "hip", "--cuda-device-only", "--no-gpu-bundle-output", "-O1", "-w", "-c",
            f"--offload-arch={ARCH}", "--rocm-path=/usr", f"--rocm-device-lib-path={_LIBRARIES}",
            "-o", str(made), str(source),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:2000]
        return made.read_bytes()
