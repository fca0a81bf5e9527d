"""`T.call_kernel`: a kernel of another language, compiled while the program is read.

    T.call_kernel(source, ((T.ceildiv(n, 64),), (64,)), x.data, n, kernel_name="add_one")

The call stands as a packed call in the function; the compiled kernel joins the `external_mods` of
the module under construction, which a build imports.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from tvm.error import message
from tvm.ffi import get_global_func
from tvm.ir.expr import PrimExpr
from tvm.runtime import Module
from tvm.runtime.cuda_module import CUDAModule
from tvm.script.ir_dialect.builder import module_get_attr, module_set_attr
from tvm.support.kernel_info import KernelInfo
from tvm.tir.expr import as_expr
from tvm.tir.op.builtin import call_packed

BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class BaseKernel:
    """A kernel that can be compiled; subclasses say how."""

    def compile_to_device_module(
        self, launch_args: Any, *args: Any, **kwargs: Any
    ) -> tuple[str, Module, list[Any]]:
        """The kernel's name, the module that has it, and the arguments of a call at run time."""
        raise TypeError(
            message(
                f"compile a {type(self).__name__}",
                found="no compile_to_device_module",
                legal="SourceKernel, TritonKernel, or a subclass with that method",
            )
        )


class SourceKernel(BaseKernel):
    """A kernel in CUDA: its text, or the name of a file with it."""

    def __init__(self, source_code: str) -> None:
        if source_code.endswith((".cu", ".cuh")) and "\n" not in source_code:
            with open(source_code, encoding="utf-8") as file:
                source_code = file.read()
        self.source_code = source_code

    def compile_to_device_module(  # type: ignore[override]
        self, grid: Sequence[Sequence[int | PrimExpr]], *args: Any, **kwargs: Any
    ) -> tuple[str, Module, list[Any]]:
        """`grid` are the extents of blocks and of threads; `kernel_name` names the function."""
        name = kwargs.get("kernel_name")
        if not isinstance(name, str):
            raise ValueError(
                message(
                    "call a kernel of CUDA text",
                    found="no kernel_name",
                    legal='kernel_name="the function of the text"',
                )
            )
        blocks, threads = _launch_extents(grid)
        values = [as_expr(arg) for arg in args]
        tags = (*BLOCKS[: len(blocks)], *_THREADS[: len(threads)])
        info = KernelInfo(tuple(str(value.dtype) for value in values), tags)
        binary = get_global_func("tvm_callback_cuda_compile")(self.source_code, None)
        module = CUDAModule(bytes(binary), "ptx", {name: info}, self.source_code)
        return name, module, [*values, *blocks, *threads]


def _launch_extents(grid: Any) -> tuple[list[Any], list[Any]]:
    fits = isinstance(grid, (list, tuple)) and len(grid) == 2
    if not fits or not all(isinstance(g, (list, tuple)) and 0 < len(g) < 4 for g in grid):
        raise ValueError(
            message(
                "call a kernel",
                found=f"launch arguments {grid}",
                legal="two lists of one to three extents: of blockIdx and of threadIdx",
            )
        )
    return list(grid[0]), list(grid[1])


def call_kernel(kernel: Any, launch_args: Any, *args: Any, **kwargs: Any) -> PrimExpr:
    """A call of a kernel: a CUDA text, a function of Triton's, or a BaseKernel."""
    if isinstance(kernel, str):
        kernel = SourceKernel(kernel)
    elif _is_triton(kernel):
        from .triton import TritonKernel  # Triton is loaded only where it is used

        kernel = TritonKernel(kernel)
    if not isinstance(kernel, BaseKernel):
        raise ValueError(
            message(
                "call a kernel",
                found=f"Unsupported kernel type {type(kernel).__module__}.{type(kernel).__name__}",
                legal="a CUDA text, a function decorated by triton.jit, a BaseKernel",
            )
        )
    name, module, values = kernel.compile_to_device_module(launch_args, *args, **kwargs)
    known = list(module_get_attr("external_mods") or ())
    if not any(mod.implements_function(name) for mod in known):
        module_set_attr("external_mods", [*known, module], allow_overwrite=True)
    return call_packed(name, *values)


def _is_triton(kernel: Any) -> bool:
    return any(
        f"{base.__module__}.{base.__qualname__}" == "triton.runtime.jit.JITFunction"
        for base in inspect.getmro(type(kernel))
    )


__all__ = ["BaseKernel", "SourceKernel", "call_kernel"]
