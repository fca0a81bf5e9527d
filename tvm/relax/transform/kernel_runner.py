"""Run a kernel on constants while compiling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.support.optional import is_installed
from tvm.tir import interp
from tvm.tir.function import PrimFunc

# Below this many elements the interpreter is done before LLVM has started.
SMALL = 2048


def run_kernel(
    kernel: PrimFunc, inputs: Sequence[Any], outputs: Sequence[tuple[tuple[int, ...], Any]]
) -> list[Any]:
    """The arrays that the kernel writes, given (shape, dtype) of each."""
    import numpy as np  # Relax loads without numpy

    results = [np.empty(shape, dtype) for shape, dtype in outputs]
    work = sum(int(array.size) for array in [*inputs, *results])
    if work <= SMALL or not is_installed("llvmlite"):
        interp.run(kernel, *inputs, *results)
        return results
    from tvm.runtime import tensor  # only where native code can run
    from tvm.tir.build import build

    mod = IRModule({"main": kernel.with_attr("global_symbol", "main")})
    compiled = build(mod, target="llvm")
    arguments = [tensor(np.ascontiguousarray(array)) for array in inputs]
    made = [tensor(array) for array in results]
    compiled["main"](*arguments, *made)
    return [one.numpy() for one in made]
