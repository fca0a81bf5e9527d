"""Kilobytes of TVMScript a second, printed and parsed.

    python benchmarks/script_speed.py [programs]

The programs are those of the round-trip tests: random functions with every kind of statement and
expression, and a matrix product with blocks. The target is 100 kB/s each way.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.structural import module
from tests.tir.script.random_programs import Programs
from tvm.ir.node import Node
from tvm.script import from_source

RUNS = 5


def report(name: str, programs: list[Node]) -> None:
    texts = [program.script(show_meta=True) for program in programs]
    kilobytes = sum(map(len, texts)) / 1e3

    def speed(work: Callable[[], object]) -> str:
        rates = []
        for _ in range(RUNS):
            start = time.process_time()
            work()
            rates.append(kilobytes / (time.process_time() - start))
        return f"best {max(rates):6.0f} kB/s, median {statistics.median(rates):6.0f} kB/s"

    print(f"{name}: {kilobytes:.0f} kB")
    print(f"  print  {speed(lambda: [program.script(show_meta=True) for program in programs])}")
    print(f"  parse  {speed(lambda: [from_source(t, check_well_formed=False) for t in texts])}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    report("random programs", [Programs(seed).function() for seed in range(count)])
    report("matrix products", [module(count)])


if __name__ == "__main__":
    main()
