"""How many calls a second `BlockBuilder.emit` makes normal: struct info derived, a variable bound.

Figure: at least 20,000 a second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from tvm import relax, tir
from tvm.relax import TensorStructInfo

CALLS = 4000
RUNS = 9
n = tir.Var("n", "int64")


def _chain(shape: tuple[int | tir.Var, ...], nested: bool) -> float:
    """Calls a second while a function of CALLS bindings is built."""
    x = relax.Var("x", TensorStructInfo(shape, "float32"))
    y = relax.Var("y", TensorStructInfo(shape, "float32"))
    bb = relax.BlockBuilder()
    start = time.process_time()  # of this process: what else runs does not count
    with bb.function("main", [x, y]):
        with bb.dataflow():
            value: relax.Expr = x
            for _ in range(CALLS // (2 if nested else 1)):
                call = relax.op.add(value, y)
                value = bb.emit(relax.op.exp(call) if nested else call)
            out = bb.emit_output(value)
        bb.emit_func_output(out)
    return CALLS / (time.process_time() - start)


CASES: dict[str, Callable[[], float]] = {
    "add of (16, 32)": lambda: _chain((16, 32), False),
    "add of (n, 32)": lambda: _chain((n, 32), False),
    "exp(add) nested": lambda: _chain((16, 32), True),
}


def main() -> None:
    """Print calls a second, the best and the median of some runs."""
    for name, run in CASES.items():
        rates = [run() for _ in range(RUNS)]
        print(f"{name:18s} {max(rates):8.0f} calls/s best, {statistics.median(rates):8.0f} median")


if __name__ == "__main__":
    main()
