"""HIP text compiled in this process by hiprtc, where hip-python and ROCm are installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import register_global_func


def _library() -> Any:
    try:
        from hip import hiprtc
    except ImportError as err:
        raise TVMError(
            message(
                "compile HIP by hiprtc",
                found="hip-python or ROCm is not installed here",
                legal="ROCm, and pip install 'tvm-py[rocm]'",
            )
        ) from err
    return hiprtc


def compile_source(code: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """HIP text as a code object for a machine ("gfx90a"); TVMError has the compiler's words."""
    hiprtc = _library()
    program = _call(hiprtc, "hiprtcCreateProgram", code.encode(), b"kernels.hip", 0, None, None)
    flags = [word.encode() for word in (f"--offload-arch={arch}", *options)]
    code_of = hiprtc.hiprtcCompileProgram(program, len(flags), flags)[0]
    if code_of != 0:
        said = _bytes(hiprtc, program, "ProgramLog").decode(errors="replace").strip()
        raise TVMError(message("compile HIP by hiprtc", found=(said or str(code_of))[:4000]))
    return _bytes(hiprtc, program, "Code")


def _bytes(hiprtc: Any, program: Any, what: str) -> bytes:
    into = bytearray(int(_call(hiprtc, f"hiprtcGet{what}Size", program)))
    _call(hiprtc, f"hiprtcGet{what}", program, into)
    return bytes(into)


def _call(hiprtc: Any, name: str, *args: Any) -> Any:
    code, *results = getattr(hiprtc, name)(*args)
    if code != 0:
        raise TVMError(message(f"{name} of hiprtc", found=str(code)))
    return results[0] if results else None


@register_global_func("tvm_callback_rocm_compile", override=False)
def tvm_callback_rocm_compile(code: str, arch: str) -> bytes:
    """HIP text as a code object for a machine; register another function to replace it."""
    return compile_source(code, arch)
