"""Structural equality and hash of a module of 10,000 nodes.

    python benchmarks/structural.py [nodes]

Prints the fastest and the median of several runs; the target is 20 ms for each.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import tvm
from tvm.ir import structural_equal, structural_hash
from tvm.ir.node import Node
from tvm.script import from_source

RUNS = 9
FUNCTION = """
    @T.prim_func
    def matmul_{number}(A: T.Buffer((128, 128)), B: T.Buffer((128, 128)), C: T.Buffer((128, 128))):
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] * T.float32({number})
"""


def module(functions: int) -> tvm.IRModule:
    text = "".join(FUNCTION.format(number=number) for number in range(functions))
    made: tvm.IRModule = from_source("@I.ir_module\nclass Module:" + text)
    return made


def count_nodes(root: Any) -> int:
    """How many nodes a walk over the tree meets; a variable is met at each use."""
    count, seen, stack = 0, set[int](), [root]
    while stack:
        item = stack.pop()
        if isinstance(item, Node):
            count += 1
            if item.EQUALITY == "tree" or id(item) not in seen:
                seen.add(id(item))
                stack.extend(getattr(item, f.name) for f in item.FIELDS if not f.ignored)
        elif isinstance(item, (tuple, list)):
            stack.extend(item)
        elif isinstance(item, Mapping):
            stack.extend(item.values())
    return count


def report(name: str, work: Callable[[], object]) -> None:
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    fastest, median = min(times), statistics.median(times)
    print(f"  {name:<22} fastest {fastest:6.1f} ms, median {median:6.1f} ms")


def main() -> None:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    ten = count_nodes(module(11)) - count_nodes(module(1))
    functions = -(-wanted * 10 // ten)
    one, other = module(functions), module(functions)
    print(f"a module of {count_nodes(one)} nodes in {functions} functions")
    assert structural_equal(one, other)
    assert structural_hash(one) == structural_hash(other)
    report("structural_equal", lambda: structural_equal(one, other))
    report("structural_hash", lambda: structural_hash(one))


if __name__ == "__main__":
    main()
