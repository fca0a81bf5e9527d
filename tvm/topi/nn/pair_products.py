"""Products of rows and weights, both in bfloat16, by an instruction that sums pairs of products.

    y[i, n] += x[i, 2 k + 1] * w[n, 2 k + 1],  then  x[i, 2 k] * w[n, 2 k]        k = 0, 1, ...

VDPBF16PS (Intel 64 and IA-32 Software Developer's Manual) adds both as fused multiply-adds in
float32, rounded to the nearest; numbers below 2**-126 count as zeros. Inputs of a word are read
for all lanes at once, weights as `few_bits` lays them out. Where there is no such instruction,
`few_bits` widens the same numbers.

One row, and up to MAX_GEMV_ROWS, read the weights at the speed of memory, four rows at a time, with
several sums under way. More rows are taken 12 at a time, with a panel of weights that stays in the
second cache (measured, 1024^3: 501 GFLOP/s with panels of 1024 inputs, 433 with 512; f32 240).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm import tir
from tvm.target import Target
from tvm.tir.op import call_llvm_pure_intrin
from tvm.topi.kernel import Kernel
from tvm.topi.loops import load, local, sequence, store, when
from tvm.topi.nn.few_bits import (
    GROUP,
    LANES,
    MAX_GEMV_ROWS,
    ROWS,
    Packed,
    Weights,
    in_groups,
    old_lanes,
    serial,
    store_lanes,
    unrolled,
    vector,
)

WORDS: Final = GROUP // 2
PANEL: Final = 1024    # most inputs of a panel: 2 x 16 x 1024 numbers are 64 KB
CHAINS: Final = 4      # sums under way for one result
_ZERO: Final = tir.const(0, "int64")
_DOT: Final = "llvm.x86.avx512bf16.dpbf16ps.512"


def has_instruction(target: Target | None) -> bool:
    """Whether a target multiplies pairs of bfloat16."""
    if target is None or not target.kind.traits.machine_code:
        return False
    cpu = target.cpu
    return cpu.arch == "x86_64" and cpu.vector_bits == 512 and "avx512bf16" in cpu.features


def product(name: str, form: Packed, rows: int | None) -> tir.PrimFunc:
    """The kernel (x (rows, inputs) bfloat16, q, y (rows, outputs) float32); rows None: any."""
    kernel = Kernel(name)
    count: Any = kernel.size("rows") if rows is None else rows
    x = kernel.buffer("x", (count, form.inputs), "bfloat16")
    weights = Weights(kernel, form)
    y = kernel.buffer("y", (count, form.outputs), "float32")
    few = kernel.rows((form.blocks,), lambda b: _few_rows(weights, count, rows == 1, b, x, y))
    if rows == 1:
        return kernel.func(few)
    width = 2 if form.blocks % 2 == 0 else 1
    many = kernel.rows(
        (form.blocks // width,), lambda b: _many_rows(weights, width, count, b * width, x, y)
    )
    return kernel.func(many if rows is not None else when(count <= MAX_GEMV_ROWS, few, many))


def _pair(x: tir.Buffer, row: Any, word: Any) -> Any:
    """Two inputs of a row, for all lanes."""
    both = x.vload([row, word * 2], "bfloat16x2")
    return tir.Broadcast(tir.reinterpret("int32", both), LANES)


def _add(acc: tir.Buffer, at: int, pair: Any, pairs: Any) -> tir.Stmt:
    """16 sums, and the products of a pair of inputs with pairs of weights."""
    kind = f"float32x{LANES}"
    total = call_llvm_pure_intrin(kind, _DOT, acc.vload([at], kind), pair, pairs)
    return acc.vstore([at], total)


def _pairs(weights: Weights, block: Any, word: Any) -> Any:
    """Pairs of weights of 16 outputs."""
    words = weights.q.vload([block, word, _ZERO], f"uint32x{LANES}")
    return tir.reinterpret(f"int32x{LANES}", words)


def _few_rows(
    weights: Weights, count: Any, single: bool, block: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    form = weights.form

    def sums(row: Any, high: int) -> tir.Stmt:
        chains = max(CHAINS // high, 1)

        def group(acc: tir.Buffer, g: Any) -> tir.Stmt:
            def term(k: int) -> tir.Stmt:
                word = g * WORDS + k
                return unrolled(high, lambda r: _add(
                    acc, (r * chains + k % chains) * LANES, _pair(x, row + r, word),
                    _pairs(weights, block, word),
                ))  # fmt: skip

            return unrolled(WORDS, term)

        def total(acc: tir.Buffer, r: int) -> Callable[[Any], Any]:
            def lane(i: Any) -> Any:
                value: Any = load(acc, r * chains * LANES + i)
                for chain in range(1, chains):
                    value = value + load(acc, (r * chains + chain) * LANES + i)
                return value

            return lane

        return local("float32", lambda acc: sequence(
            unrolled(high * chains, lambda c: vector(lambda i: store(acc, 0.0, c * LANES + i))),
            serial(form.inputs // GROUP, lambda g: group(acc, g), "group"),
            unrolled(high, lambda r: store_lanes(
                form, block, total(acc, r), lambda value, n: store(y, value, row + r, n)
            )),
        ), high * chains * LANES, "acc")  # fmt: skip

    return in_groups(count, (1,) if single else (4, 2, 1), sums)


def _many_rows(
    weights: Weights, width: int, count: Any, block: Any, x: tir.Buffer, y: tir.Buffer
) -> tir.Stmt:
    form = weights.form
    size = max(p for p in range(GROUP, PANEL + 1, GROUP) if form.inputs % p == 0) // 2
    panels = form.inputs // (2 * size)

    def tile(start: Any, row: Any, high: int) -> tir.Stmt:
        """Results of so many rows: what the panels before gave, and this one's share."""
        tiles = [(r, w, (r * width + w) * LANES) for r in range(high) for w in range(width)]

        def begin(acc: tir.Buffer, r: int, w: int, at: int) -> tir.Stmt:
            return old_lanes(form, block + w, lambda n, i: store(
                acc, tir.if_then_else(start == 0, tir.const(0, "float32"), load(y, row + r, n)),
                at + i,
            ))  # fmt: skip

        def end(acc: tir.Buffer, r: int, w: int, at: int) -> tir.Stmt:
            return store_lanes(form, block + w, lambda i: load(acc, at + i),
                               lambda value, n: store(y, value, row + r, n))  # fmt: skip

        def step(acc: tir.Buffer, k: Any) -> tir.Stmt:
            return sequence(*(
                _add(acc, at, _pair(x, row + r, start + k), _pairs(weights, block + w, start + k))
                for r, w, at in tiles
            ))  # fmt: skip

        return local("float32", lambda acc: sequence(
            *(begin(acc, *tile) for tile in tiles),
            serial(size, lambda k: step(acc, k), "k"),
            *(end(acc, *tile) for tile in tiles),
        ), high * width * LANES, "acc")  # fmt: skip

    return serial(panels, lambda p: in_groups(
        count, ROWS, lambda row, high: tile(p * size, row, high)
    ), "panel")  # fmt: skip
