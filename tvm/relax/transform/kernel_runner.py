"""Run a kernel on constants while compiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.support.optional import is_installed
from tvm.tir import interp
from tvm.tir.function import PrimFunc

# Below this many elements the interpreter is done before LLVM has started.
SMALL = 2048
# The same for kernels that are whole operations of numpy: some 30 ns an element.
SMALL_AT_ONCE = 1 << 18


class KernelRunner:
    """Runs kernels; what was compiled for one call serves the next one of the same kernel."""

    def __init__(self) -> None:
        self._compiled: dict[PrimFunc, Callable[..., None]] = {}

    def run(
        self,
        kernel: PrimFunc,
        inputs: Sequence[Any],
        outputs: Sequence[tuple[tuple[int, ...], Any]],
    ) -> list[Any]:
        """The arrays that the kernel writes, given (shape, dtype) of each."""
        import numpy as np  # Relax loads without numpy

        results = [np.empty(shape, dtype) for shape, dtype in outputs]
        work = sum(int(array.size) for array in [*inputs, *results])
        if _is_small(kernel, work) or not is_installed("llvmlite"):
            interp.run(kernel, *inputs, *results)
            return results
        from tvm.runtime import from_dlpack  # only where native code can run

        # weights may be large: the kernel works on the arrays' own memory
        arrays = [*(np.asarray(array, order="C") for array in inputs), *results]
        self._native(kernel)(*map(from_dlpack, arrays))
        return results

    def _native(self, kernel: PrimFunc) -> Callable[..., None]:
        from tvm.tir.build import build

        if kernel not in self._compiled:
            mod = IRModule({"main": kernel.with_attr("global_symbol", "main")})
            self._compiled[kernel] = build(mod, target="llvm")["main"]
        return self._compiled[kernel]


def _is_small(kernel: PrimFunc, work: int) -> bool:
    """Whether the interpreter is done before a compiler would be."""
    return work <= SMALL or (work <= SMALL_AT_ONCE and interp.runs_at_once(kernel))
