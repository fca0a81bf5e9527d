"""Long programs through every level: a chain of Relax bindings, and a sum of many terms.

    python benchmarks/long_programs.py [bindings] [terms]

Each step prints its time; a RecursionError in any of them would end the run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

import tvm
from tvm import relax, tir
from tvm.ir import load_json, save_json, structural_equal, structural_hash


@contextmanager
def step(name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    print(f"  {name:<28}{time.perf_counter() - start:8.2f} s", flush=True)


def chain_of_bindings(count: int) -> None:
    print(f"a chain of {count} Relax bindings")
    with step("build and normalise"):
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
        with bb.function("main", [x]):
            with bb.dataflow():
                value: relax.Expr = x
                for _ in range(count):
                    value = bb.emit(relax.op.add(value, x))
                result = bb.emit_output(value)
            bb.emit_func_output(result)
        mod = bb.get()
    with step("print"):
        text = mod.script()
    with step("parse"):
        parsed = tvm.script.from_source(text)
    with step("structural equality, hash"):
        assert structural_equal(mod, parsed)
        assert structural_hash(mod) == structural_hash(parsed)
    with step("JSON and back"):
        assert structural_equal(load_json(save_json(mod)), mod)
    with step("passes and code generation"):
        executable = tvm.compile(mod, "llvm")
    ones = np.ones(4, np.float32)
    got = relax.VirtualMachine(executable, tvm.cpu())["main"](ones).numpy()
    assert (got == count + 1).all(), got
    print(f"  script: {len(text):,} characters; result {got[0]:g}, as expected")


def sum_of_terms(count: int) -> None:
    print(f"a sum of {count} terms")
    with step("build"):
        source = tir.decl_buffer((count,), "float32", "A")
        target = tir.decl_buffer((1,), "float32", "B")
        total = source[0]
        for i in range(1, count):
            total = total + source[i]
        attrs = {"global_symbol": "main", "tir.noalias": True}
        func = tir.PrimFunc([source, target], tir.BufferStore(target, total, [0]), attrs=attrs)
    with step("print"):
        text = func.script()
    with step("parse"):
        parsed = tvm.script.from_source(text)
    with step("structural equality, hash"):
        assert structural_equal(func, parsed)
        assert structural_hash(func) == structural_hash(parsed)
    with step("simplify an integer sum"):
        x = tir.Var("x", "int32")
        integer: tir.PrimExpr = x
        for i in range(1, count):
            integer = integer + x * i
        simple = tvm.arith.Analyzer().simplify(integer)
    with step("passes and code generation"):
        compiled = tvm.compile(func, "llvm")
    values = np.random.default_rng(0).random(count).astype(np.float32)
    got = np.zeros(1, np.float32)
    compiled["main"](values, got)
    np.testing.assert_allclose(got[0], values.sum(), rtol=1e-4)
    print(f"  script: {len(text):,} characters; the integer sum is {simple}")


def main() -> None:
    """Run both with the asked sizes."""
    bindings = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    terms = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000
    chain_of_bindings(bindings)
    sum_of_terms(terms)


if __name__ == "__main__":
    main()
