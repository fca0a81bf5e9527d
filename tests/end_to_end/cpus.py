"""Kinds of CPUs whose code this machine can run."""

from __future__ import annotations

import platform
from pathlib import Path

WANTED = {
    "x86-64-v2": "sse4_2", "haswell": "avx2", "znver3": "vaes", "skylake-avx512": "avx512dq",
    "znver4": "avx512_bf16",
}  # fmt: skip
_CPU_INFO = Path("/proc/cpuinfo")
_FLAGS = _CPU_INFO.read_text().split() if _CPU_INFO.exists() else []
CPUS = [name for name, flag in WANTED.items() if flag in _FLAGS]
# the least of the CPUs of this machine's kind, the same for all of them
PLAIN = "x86-64-v2" if platform.machine().lower() in ("x86_64", "amd64") else "generic"
