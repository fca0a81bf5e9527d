"""A server's day in short: threads that run networks of symbolic sizes, and what memory they take.

    python benchmarks/soak.py --minutes 5 --threads 8

Each thread calls three networks in turn with sizes of its own choice and compares with the result
that the first call of these sizes gave, which is compared with numpy. Memory is read each second;
its growth is that from the end of the warm-up (a fifth of the time) to the end.
"""

from __future__ import annotations

import argparse
import gc
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tvm
from tvm import relax, tir

Array = np.ndarray[Any, Any]
MB = 1 << 20


@dataclass
class Network:
    """A compiled network, its weights, and what numpy makes of the same input."""

    name: str
    run: Callable[[Array], Any]
    meaning: Callable[[Array], Array]
    make_input: Callable[[np.random.Generator], Array]


@dataclass
class Count:
    """What happened."""

    calls: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _machine(build: Callable[[relax.BlockBuilder, relax.Var], relax.Expr], shape: Any) -> Any:
    block = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    with block.function("main", [x]):
        block.emit_func_output(build(block, x))
    return relax.VirtualMachine(tvm.compile(block.get(), target="llvm"), tvm.cpu())["main"]


def perceptron(rng: np.random.Generator) -> Network:
    """Two dense layers over any number of rows."""
    first, second = (rng.standard_normal((64, 64)).astype("float32") / 8 for _ in range(2))

    def build(block: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        hidden = block.emit(relax.op.matmul(x, relax.const(first)))
        hidden = block.emit(relax.op.nn.relu(hidden))
        return block.emit(relax.op.matmul(hidden, relax.const(second)))

    run = _machine(build, (tir.Var("n", "int64"), 64))
    return Network(
        "perceptron", run, lambda x: np.maximum(x @ first, 0) @ second,
        lambda r: r.standard_normal((int(r.integers(1, 200)), 64)).astype("float32"),
    )  # fmt: skip


def attention(rng: np.random.Generator) -> Network:
    """Softmax of products over sequences of any length."""

    def build(block: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        scores = block.emit(relax.op.matmul(x, relax.op.permute_dims(x)))
        return block.emit(relax.op.matmul(relax.op.nn.softmax(scores, axis=-1), x))

    def meaning(x: Array) -> Array:
        scores = x @ x.T
        parts = np.exp(scores - scores.max(-1, keepdims=True))
        result: Array = parts / parts.sum(-1, keepdims=True) @ x
        return result

    run = _machine(build, (tir.Var("n", "int64"), 32))
    return Network(
        "attention", run, meaning,
        lambda r: (r.standard_normal((int(r.integers(1, 150)), 32)) / 4).astype("float32"),
    )  # fmt: skip


def pooling(rng: np.random.Generator) -> Network:
    """Rows gathered by the order of a sum, and reduced: sizes of two kinds."""

    def build(block: relax.BlockBuilder, x: relax.Var) -> relax.Expr:
        order = block.emit(relax.op.argsort(relax.op.sum(x, axis=[1])))
        taken = block.emit(relax.op.take(x, order, axis=0))
        return block.emit(relax.op.max(relax.op.add(taken, x), axis=[1]))

    run = _machine(build, (tir.Var("n", "int64"), tir.Var("m", "int64")))
    return Network(
        "pooling", run, lambda x: (x[np.argsort(x.sum(1), kind="stable")] + x).max(1),
        lambda r: r.integers(-50, 50, (int(r.integers(1, 80)), int(r.integers(1, 80)))).astype(
            "float32"
        ),
    )  # fmt: skip


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def work(networks: list[Network], seed: int, until: float, count: Count) -> None:
    """Call the networks until the time is over."""
    rng = np.random.default_rng(seed)
    while time.monotonic() < until:
        network = networks[count.calls % len(networks)]
        given = network.make_input(rng)
        count.calls += 1
        try:
            got = network.run(given).numpy()
        except Exception as err:  # each one counts against us
            count.errors.append(f"{network.name} {given.shape}: {err!r}")
            continue
        expected = network.meaning(given)
        if got.shape != expected.shape or not np.allclose(got, expected, rtol=1e-3, atol=1e-4):
            count.wrong.append(f"{network.name} {given.shape}")


def main() -> int:
    """Run, print, and return 1 if something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--most-growth", type=float, default=16.0, help="MB after the warm-up")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    networks = [perceptron(rng), attention(rng), pooling(rng)]
    began = time.monotonic()
    until, warm = began + options.minutes * 60, began + options.minutes * 12
    counts = [Count() for _ in range(options.threads)]
    threads = [threading.Thread(target=work, args=(networks, i, until, c))
               for i, c in enumerate(counts)]  # fmt: skip
    for thread in threads:
        thread.start()
    samples: list[tuple[float, int]] = []
    while any(thread.is_alive() for thread in threads):
        time.sleep(min(1.0, options.minutes))
        samples.append((time.monotonic(), resident()))
    for thread in threads:
        thread.join()
    gc.collect()
    steady = [size for at, size in samples if at >= warm]
    third = max(len(steady) // 3, 1)
    growth = (max(steady[-third:]) - max(steady[:third])) / MB
    calls = sum(c.calls for c in counts)
    wrong = [w for c in counts for w in c.wrong]
    errors = [e for c in counts for e in c.errors]
    print(f"{options.threads} threads, {options.minutes:g} minutes, {calls} calls")
    first, most, last = (size / MB for size in (samples[0][1], max(steady), steady[-1]))
    print(f"memory: {first:.0f} MB at first, {most:.0f} MB at most, {last:.0f} MB at the end")
    print(f"growth after the warm-up: {growth:+.1f} MB")
    print(f"wrong results: {len(wrong)}; errors: {len(errors)}")
    for line in [*wrong, *errors][:10]:
        print("  " + line)
    return int(bool(wrong or errors) or growth > options.most_growth)


if __name__ == "__main__":
    raise SystemExit(main())
