"""A door: building executables lives in `tvm.relax.vm`."""

from __future__ import annotations

from tvm.relax.vm.build import build
from tvm.runtime.vm_executable import VMExecutable

__all__ = ["VMExecutable", "build"]
