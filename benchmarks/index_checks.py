"""What the checks of indices from data cost: kernels with them beside kernels without.

    python benchmarks/index_checks.py [-mcpu=NAME] [WORD ...]    only cases with one of the words

Both run in turn in one process; the best of 40 rounds of each counts. Code for a
CPU by name runs on this one, which must have its instructions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import tvm
from tvm import relax
from tvm.relax import op
from tvm.relax.struct_info import TensorStructInfo

ROUNDS = 40
Kernel = Callable[..., relax.Expr]


def compiled(kernel: Kernel, args: list[np.ndarray], target: str) -> Callable[..., object]:
    """A function of one operator."""
    params = [
        relax.Var(f"x{i}", TensorStructInfo(arg.shape, str(arg.dtype)))
        for i, arg in enumerate(args)
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            out = builder.emit_output(kernel(*params))
        builder.emit_func_output(out)
    return relax.VirtualMachine(tvm.compile(builder.get(), target=target), tvm.cpu())["main"]


def cases() -> dict[str, tuple[Kernel, list[np.ndarray]]]:
    """Operators that take indices, with inputs."""
    rng = np.random.default_rng(0)

    def data(*shape: int) -> np.ndarray:
        return rng.random(shape, dtype=np.float32)

    def rows(x: relax.Var, i: relax.Var) -> relax.Expr:
        return op.take(x, i, axis=0)

    def places(limit: int, *shape: int) -> np.ndarray:
        return rng.integers(0, limit, shape)

    return {
        "embedding 30000x768, 512 rows": (rows, [data(30000, 768), places(30000, 512)]),
        "take 4096 rows of 1": (rows, [data(1000, 1), places(1000, 4096)]),
        "take 4096 rows of 4": (rows, [data(1000, 4), places(1000, 4096)]),
        "take 4096 rows of 16": (rows, [data(1000, 16), places(1000, 4096)]),
        "take 4096 rows of 64": (rows, [data(1000, 64), places(1000, 4096)]),
        "take 65536 of 1048576": (rows, [data(1 << 20), places(1 << 20, 1 << 16)]),
        "gather_elements 1000x64": (
            lambda x, i: op.gather_elements(x, i, axis=1), [data(1000, 64), places(64, 1000, 64)]),
        "gather_nd 1000x64, 20000 elements": (
            lambda x, i: op.gather_nd(x, i), [data(1000, 64), places(64, 20000, 2)]),
        "gather_nd 4096 rows of 4": (
            lambda x, i: op.gather_nd(x, i), [data(1000, 4), places(1000, 4096, 1)]),
        "gather_nd 4096 rows of 64": (
            lambda x, i: op.gather_nd(x, i), [data(1000, 64), places(1000, 4096, 1)]),
        **{
            f"scatter_nd 1024 rows of {n}": (
                lambda x, i, u: op.scatter_nd(x, i, u),
                [data(4096, n), places(4096, 1024, 1), data(1024, n)])
            for n in (1, 4, 64, 256)
        },
        "scatter_elements 1000x64": (
            lambda x, i, u: op.scatter_elements(x, i, u, axis=1),
            [data(1000, 64), places(64, 1000, 64), data(1000, 64)]),
    }  # fmt: skip


def main(words: list[str]) -> None:
    cpu = "".join(f" {word}" for word in words if word.startswith("-mcpu="))
    words = [word for word in words if not word.startswith("-")]
    for name, (kernel, args) in cases().items():
        if words and not any(word in name for word in words):
            continue
        both = [compiled(kernel, args, f"llvm{cpu}{x}") for x in ("", " -unsafe-indices=1")]
        given = [tvm.runtime.tensor(arg) for arg in args]
        best = [float("inf")] * 2
        for _ in range(ROUNDS):
            for which, run in enumerate(both):
                start = time.perf_counter()
                for _ in range(20):
                    run(*given)
                best[which] = min(best[which], (time.perf_counter() - start) / 20)
        more = 100 * (best[0] / best[1] - 1)
        print(f"{name:36} {best[0] * 1e6:9.1f} us  unsafe {best[1] * 1e6:9.1f} us  {more:+5.1f} %")


if __name__ == "__main__":
    main(sys.argv[1:])
