"""Functions whose spaces are tried out, and how their schedules are run."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tvm import te, topi
from tvm.ir.module import IRModule
from tvm.meta_schedule.search_strategy import ReplayTrace
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.tune_context import TuneContext
from tvm.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule

LLVM = "llvm --num-cores=4"
TURING = "nvidia/geforce-rtx-2080"
AMPERE = "nvidia/geforce-rtx-3090"
F32 = "float32"
Array = npt.NDArray[np.float32]


def matmul(n: int = 16, m: int = 16, k: int = 16, relu: bool = False) -> PrimFunc:
    a, b = te.placeholder((n, k), F32, "A"), te.placeholder((k, m), F32, "B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], r), "C")
    out = te.compute((n, m), lambda i, j: te.max(c[i, j], 0.0), "D") if relu else c
    return te.create_prim_func([a, b, out])


def conv2d() -> PrimFunc:
    x, w = te.placeholder((1, 4, 6, 6), F32, "X"), te.placeholder((4, 4, 3, 3), F32, "W")
    return te.create_prim_func([x, w, topi.nn.relu(topi.nn.conv2d(x, w, 1, 1, 1, "NCHW"))])


def softmax() -> PrimFunc:
    x = te.placeholder((8, 40), F32, "X")
    return te.create_prim_func([x, topi.nn.softmax(x)])


def row_sum(rows: int = 2, columns: int = 512) -> PrimFunc:
    x = te.placeholder((rows, columns), F32, "X")
    return te.create_prim_func([x, topi.sum(x, axis=1)])


def conv2d_transpose() -> PrimFunc:
    """Indices with quotients, of which not all tiles are provably whole."""
    x = te.placeholder((4, 4, 8), F32, "X")
    w = te.placeholder((4, 4, 8, 8), F32, "W")
    padded = topi.nn.pad(x, [1, 1, 0])
    rh, rw = te.reduce_axis((0, 4), "rh"), te.reduce_axis((0, 4), "rw")
    rc = te.reduce_axis((0, 8), "rc")

    def element(h: Any, j: Any, co: Any) -> Any:
        inside = te.all(((h + rh) % 2).equal(0), ((j + rw) % 2).equal(0))
        value = padded[(h + rh) // 2, (j + rw) // 2, rc]
        return te.sum(te.if_then_else(inside, value, 0.0) * w[rh, rw, rc, co], [rh, rw, rc])

    return te.create_prim_func([x, w, te.compute((8, 8, 8), element, "Y")])


def add_one() -> PrimFunc:
    x = te.placeholder((7, 33), F32, "X")
    return te.create_prim_func([x, topi.exp(x + 1.0)])


WORKLOADS = {
    "matmul": matmul(), "matmul_relu": matmul(relu=True), "conv2d": conv2d(),
    "softmax": softmax(), "row_sum": row_sum(), "add_one": add_one(),
}  # fmt: skip


def context(func: PrimFunc, target: str, seed: int = 1, **parts: object) -> TuneContext:
    """A search over the default space of a target, or one with other parts."""
    space = PostOrderApply(**parts)  # type: ignore[arg-type]
    return TuneContext(
        func, target=Target(target), space_generator=space, search_strategy=ReplayTrace(),
        rand_state=seed,
    )  # fmt: skip


def samples(func: PrimFunc, target: str, count: int, seed: int = 1) -> list[Schedule]:
    """Random legal schedules of the default space."""
    ctx = context(func, target, seed)
    ctx.pre_tuning(count, count, ctx.generate_design_space(), _NOTHING, _NOTHING)  # type: ignore[arg-type]
    found = ctx.generate_measure_candidates()
    assert found is not None
    return [measured.sch for measured in found]


_NOTHING = object()  # random search asks neither a database nor a model


def arguments(func: PrimFunc) -> list[Array]:
    numbers = np.random.default_rng(0)
    shapes = [[int(d) for d in func.buffer_map[p].shape] for p in func.params]
    return [numbers.standard_normal(shape).astype(F32) for shape in shapes]


def interpreted(mod: IRModule | PrimFunc, args: list[Array]) -> Array:
    """What a function writes to its last argument."""
    held = [a.copy() for a in args]
    run(mod, *held)
    return held[-1]
