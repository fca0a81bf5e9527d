"""Tensor programs for the rules, and the checks that every schedule has to pass."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.dlight import ApplyDefaultSchedule, ScheduleRule
from tvm.driver import compile as compile_program
from tvm.ir import IRModule, assert_structural_equal
from tvm.ir.exact import exact_digest
from tvm.target import Target
from tvm.tir.analysis import verify_well_formed
from tvm.tir.functor import StmtExprMutator, substitute, walk
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.rebuild import change_block
from tvm.tir.stmt import Block, Stmt

SPR = Target("llvm -mcpu=sapphirerapids")
HASWELL = Target("llvm -mcpu=haswell")
NEON = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")


def matmul(
    m: int, n: int, k: int, *, transposed: bool = False, batch: tuple[int, ...] = (),
    epilogue: bool = False, dtype: str = "float32",
) -> tir.PrimFunc:  # fmt: skip
    """A @ B, or A @ B.T; with a bias and a relu after it."""
    a = te.placeholder((*batch, m, k), dtype, name="A")
    b = te.placeholder((*batch, *((n, k) if transposed else (k, n))), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")

    def product(*i: tir.Var) -> tir.PrimExpr:
        lead, row, column = i[:-2], i[-2], i[-1]
        right = b[(*lead, column, r)] if transposed else b[(*lead, r, column)]
        return te.sum(a[(*lead, row, r)] * right, axis=r)

    c = te.compute((*batch, m, n), product, name="C")
    if not epilogue:
        return te.create_prim_func([a, b, c])
    bias = te.placeholder((n,), dtype, name="bias")
    d = te.compute(c.shape, lambda *i: c[i] + bias[i[-1]], name="D")
    zero = tir.const(0.0, dtype)
    e = te.compute(c.shape, lambda *i: tir.max(d[i], zero), name="E")
    return te.create_prim_func([a, b, bias, e])


def conv(
    n: int, ci: int, co: int, h: int, kernel: int = 3, stride: int = 1, pad: int = 1,
    epilogue: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """A convolution, NCHW; with a bias, a residual and a relu after it."""
    x = te.placeholder((n, ci, h, h), name="X")
    w = te.placeholder((co, ci, kernel, kernel), name="W")
    zero = tir.const(0.0, "float32")
    padded = te.compute(
        (n, ci, h + 2 * pad, h + 2 * pad),
        lambda b, c, i, j: tir.if_then_else(
            tir.all(i >= pad, i < h + pad, j >= pad, j < h + pad), x[b, c, i - pad, j - pad], zero
        ),
        name="P",
    )
    out = (h + 2 * pad - kernel) // stride + 1
    c = te.reduce_axis((0, ci), name="c")
    ry = te.reduce_axis((0, kernel), name="ry")
    rx = te.reduce_axis((0, kernel), name="rx")
    y = te.compute(
        (n, co, out, out),
        lambda b, f, i, j: te.sum(
            padded[b, c, i * stride + ry, j * stride + rx] * w[f, c, ry, rx], axis=[c, ry, rx]
        ),
        name="C",
    )
    if not epilogue:
        return te.create_prim_func([x, w, y])
    bias = te.placeholder((1, co, 1, 1), name="bias")
    rest = te.placeholder((n, co, out, out), name="R")
    d = te.compute(y.shape, lambda b, f, i, j: y[b, f, i, j] + bias[0, f, 0, 0], name="D")
    e = te.compute(y.shape, lambda *i: d[i] + rest[i], name="E")
    g = te.compute(y.shape, lambda *i: tir.max(e[i], zero), name="G")
    return te.create_prim_func([x, w, bias, rest, g])


def softmax(*shape: int | tir.PrimExpr) -> tir.PrimFunc:
    """Softmax over rows, in four passes."""
    a, rows = te.placeholder(shape, name="A"), shape[:-1]
    k, r = te.reduce_axis((0, shape[-1]), name="k"), te.reduce_axis((0, shape[-1]), name="r")
    top = te.compute(rows, lambda *i: te.max(a[(*i, k)], axis=k), name="M")
    ex = te.compute(shape, lambda *i: tir.exp(a[i] - top[i[:-1]]), name="E")
    total = te.compute(rows, lambda *i: te.sum(ex[(*i, r)], axis=r), name="S")
    return te.create_prim_func([a, te.compute(shape, lambda *i: ex[i] / total[i[:-1]], name="B")])


def reduction(
    shape: tuple[int, ...], axes: tuple[int, ...], combine: object = te.sum
) -> tir.PrimFunc:
    """A reduction over some axes."""
    a = te.placeholder(shape, name="A")
    over = {d: te.reduce_axis((0, shape[d]), name=f"k{d}") for d in axes}
    out = [extent for d, extent in enumerate(shape) if d not in axes]

    def body(*indices: tir.Var) -> tir.PrimExpr:
        rest = iter(indices)
        place = [over[d] if d in over else next(rest) for d in range(len(shape))]
        return combine(a[tuple(place)], axis=list(over.values()))  # type: ignore[operator]

    return te.create_prim_func([a, te.compute(out, body, name="B")])


def size_of(extent: tir.PrimExpr, sizes: dict[str, int]) -> int:
    """An extent for the given values of symbols."""
    values = {
        node: tir.const(sizes[node.name], node.dtype)
        for node in walk(extent)
        if isinstance(node, tir.Var)
    }
    return int(Analyzer().simplify(substitute(extent, values)))


_MOST = 32  # cases of one test follow each other
_found: dict[tuple[str, str, str], np.ndarray] = {}


def remembered(
    name: str, func: tir.PrimFunc, sizes: dict[str, int] | None, run: Callable[[], np.ndarray]
) -> np.ndarray:
    """What a run on fixed inputs gives: the same function comes for several targets."""
    key = name, exact_digest(func.without_attr("target")), str(sizes)
    if key not in _found:
        if len(_found) == _MOST:
            del _found[next(iter(_found))]
        _found[key] = run()
    return _found[key]


def results(
    func: tir.PrimFunc, mod: tir.PrimFunc, sizes: dict[str, int] | None = None
) -> np.ndarray:
    """What the last parameter holds after a run on fixed random inputs."""
    return remembered("floats", mod, sizes, lambda: _results(func, mod, sizes))


def _results(
    func: tir.PrimFunc, mod: tir.PrimFunc, sizes: dict[str, int] | None
) -> np.ndarray:
    rng = np.random.default_rng(7)
    known = sizes or {}
    arrays = []
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = [size_of(d, known) for d in buffer.shape]
        values = rng.standard_normal(shape) * 4
        arrays.append(np.asarray(values).astype(str(buffer.dtype)))
    arrays[-1][...] = 99
    run(mod, *arrays)
    return arrays[-1]


# Names that the primitives, TOPI and users give; to a rule they mean nothing.
NAMES = ("x_pad", "A_pad", "C_reindex", "pad_temp", "dequantize", "T_matmul", "compute", "local")


class _Rename(StmtExprMutator):
    def __init__(self, names: Iterator[str]) -> None:
        super().__init__()
        self._names = names

    def visit_block_(self, op: Block) -> Stmt:
        made = super().visit_block_(op)
        assert isinstance(made, Block), "a block stays a block"
        return made if op.name_hint == "root" else change_block(made, name_hint=next(self._names))


def with_names(func: tir.PrimFunc, names: Iterator[str]) -> tir.PrimFunc:
    """The function with other names for all blocks but the root."""
    return func.with_body(_Rename(names).visit_stmt(func.body))


def random_names() -> Iterator[str]:
    """Names that differ, for which a rule might look."""
    rng = np.random.default_rng(len(NAMES))
    return (f"b{n}_{rng.choice(NAMES)}" for n in itertools.count())


def same_under_any_names(
    rule: ScheduleRule, func: tir.PrimFunc, target: Target
) -> tir.PrimFunc:
    """The scheduled function; fails if it is another one once its blocks have other names.

    Of four functions, one is scheduled under other names, and always the same one.
    """
    made, found = [], []
    renamed = [with_names(func, random_names())] if exact_digest(func)[0] in "048c" else []
    for one in (func, *renamed):
        sch = rule.apply(one, target, False)
        assert isinstance(sch, Schedule), "the rule takes the function"
        (after,) = sch.mod.functions.values()
        assert isinstance(after, tir.PrimFunc)
        made.append(after)
        plain = with_names(after, (f"b{n}" for n in itertools.count()))
        found.append(plain.without_attr("schedule_reason"))
    assert_structural_equal(found[0], found[-1])
    return made[0]


def scheduled(
    rule: ScheduleRule,
    func: tir.PrimFunc,
    target: Target = SPR,
    sizes: dict[str, int] | None = None,
) -> tir.PrimFunc:
    """The function as the rule schedules it, checked to mean the same, by whatever names."""
    after = same_under_any_names(rule, func, target)
    verify_well_formed(after)
    assert after.attrs["schedule_reason"]
    expected, found = results(func, func, sizes), results(func, after, sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    return after


def built_here(
    func: tir.PrimFunc, rule: ScheduleRule, cpu: str, form: str
) -> Callable[..., None]:
    """Scheduled for a CPU by a rule, in a form that it names, and compiled for this one."""
    with Target(f"llvm -mcpu={cpu} -num-cores=2"):
        made = ApplyDefaultSchedule(rule)(IRModule({"main": func}))
    assert form in str(made["main"].attrs["schedule_reason"])
    made["main"] = made["main"].without_attr("target")
    found: Callable[..., None] = compile_program(made, target="llvm")["main"]
    return found
