"""Random kernels of many types: vectors, casts, predicates, pipelines, open extents.

`made(seed)` is as in `random_kernels`, which runs them: values are small enough that every type
holds the results exactly, and no integer leaves its range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.backend.device.random_words import THREADS, Made, Rng, flip, odd, pick
from tvm import te, tir

INTEGERS = ("int32", "int32", "int64", "int64", "int8", "uint8", "int16", "uint16", "uint32")
FLOATS = ("float32", "float32", "float16", "float64")
TYPES = (*INTEGERS, *FLOATS, "bool")

# --- expressions ---


def cast(value: Any, dtype: str) -> Any:
    """The value as another type, by ways that are the same in all languages."""
    if value.dtype == dtype:
        return value
    if dtype == "bool":
        return value != tir.const(0, value.dtype)
    if value.dtype.startswith(("float", "bfloat")) and dtype.startswith(("int", "uint")):
        value = value.astype("int32")  # a negative float is no unsigned integer
    if dtype.startswith("uint"):
        value = tir.abs(value) if value.dtype.startswith("int") else value
    return value.astype(dtype)


def expression(rng: Rng, leaves: Sequence[Any], depth: int) -> Any:
    """A value made of others, which are of one type."""
    dtype = leaves[0].dtype
    if depth == 0 or flip(rng, 0.15):
        return pick(rng, leaves)
    a, b = (expression(rng, leaves, depth - 1) for _ in range(2))
    if flip(rng, 0.25):
        return _chosen(rng, leaves, a, b)
    if dtype == "bool":
        return pick(rng, (tir.And, tir.Or, lambda x, y: tir.Not(x) if flip(rng) else tir.NE(x, y)))(
            a, b
        )
    if dtype.startswith("float"):
        return _float(rng, a, b)
    return _unsigned(rng, a, b) if dtype.startswith("uint") else _signed(rng, a, b)


def _chosen(rng: Rng, leaves: Sequence[Any], a: Any, b: Any) -> Any:
    x, y = pick(rng, leaves), pick(rng, leaves)
    if a.dtype == "bool":
        condition = x
    else:
        condition = pick(rng, (lambda: x < y, lambda: x <= y, lambda: x.equal(y), lambda: x != y))()
    made = tir.Select if flip(rng) else tir.if_then_else
    return made(condition, a, b)


def _float(rng: Rng, a: Any, b: Any) -> Any:
    one = lambda value: tir.const(value, a.dtype)
    return pick(rng, (
        lambda: a + b, lambda: a - b, lambda: a * one(2), lambda: tir.max(a, b),
        lambda: tir.min(a, b), lambda: tir.floor(a * one(0.5)), lambda: tir.ceil(a * one(0.25)),
        lambda: tir.trunc(a * one(0.5)), lambda: tir.abs(a), lambda: tir.nearbyint(a * one(0.5)),
        lambda: a / one(4), lambda: -a,
    ))()  # fmt: skip


def _unsigned(rng: Rng, a: Any, b: Any) -> Any:
    one = lambda value: tir.const(value, a.dtype)
    return pick(rng, (
        lambda: a + b, lambda: tir.max(a, b), lambda: tir.min(a, b), lambda: a & b, lambda: a | b,
        lambda: a ^ b, lambda: a >> one(1), lambda: tir.floordiv(a, one(3)),
        lambda: tir.floormod(a, one(5)), lambda: tir.floordiv(a, b + one(1)),
    ))()  # fmt: skip


def _signed(rng: Rng, a: Any, b: Any) -> Any:
    one = lambda value: tir.const(value, a.dtype)
    divisor = (b & one(3)) + one(1)
    sign = pick(rng, (one(1), one(-1)))
    return pick(rng, (
        lambda: a + b, lambda: a - b, lambda: a - b * one(2), lambda: tir.max(a, b),
        lambda: tir.min(a, b), lambda: a & b, lambda: a | b, lambda: a ^ b, lambda: a >> one(1),
        lambda: (a & one(3)) << (b & one(1)), lambda: tir.abs(a), lambda: ~a,
        lambda: tir.floordiv(a, one(3)), lambda: tir.floormod(a, one(5)),
        lambda: tir.floordiv(a, one(4)), lambda: tir.floormod(a, one(8)),
        lambda: tir.floordiv(a, divisor * sign), lambda: tir.floormod(a, divisor * sign),
        lambda: tir.truncdiv(a, divisor * sign), lambda: tir.truncmod(a, divisor * sign),
    ))()  # fmt: skip


# --- programs ---


def _kinds(rng: Rng, count: int) -> list[str]:
    """Types of tensors; those of one program are few, so that a place has all of them."""
    several = [pick(rng, TYPES) for _ in range(2)]
    return [pick(rng, several) for _ in range(count)]


def _shape(rng: Rng, sizes: Sequence[int]) -> list[Any]:
    """The extents as numbers, or some of them as variables."""
    if flip(rng, 0.7):
        return list(sizes)
    kind = pick(rng, ("int32", "int64"))
    return [te.var(f"n{i}", kind) if flip(rng) else tir.const(n, kind)
            for i, n in enumerate(sizes)]  # fmt: skip


Sizes = dict[str, int]


class Draft(NamedTuple):
    """Tensors of a program, and the sizes that its variables stand for."""

    tensors: list[Any]
    sizes: Sizes


def _sizes(shape: Sequence[Any], sizes: Sequence[int]) -> Sizes:
    return {x.name: n for x, n in zip(shape, sizes) if isinstance(x, tir.Var)}


def _mixed(rng: Rng) -> Draft:
    sizes = [odd(rng, 40) for _ in range(int(rng.integers(1, 4)))]
    shape = _shape(rng, sizes)
    ka, kb, km, ko = _kinds(rng, 4)
    a, b = te.placeholder(shape, ka, "a"), te.placeholder(shape[-1:], kb, "b")
    mid = te.compute(
        shape, lambda *i: expression(rng, [cast(a[i], km), cast(b[i[-1]], km)], 2), name="mid"
    )
    out = te.compute(
        shape, lambda *i: expression(rng, [cast(mid[i], ko), cast(a[i], ko)], 1), name="out"
    )
    return Draft([a, b, out], _sizes(shape, sizes))


def _padded(rng: Rng) -> Draft:
    """What lies beyond the border is something else."""
    sizes = [odd(rng, 25), odd(rng, 60)]
    rows, columns = shape = _shape(rng, sizes)
    ka, ko = _kinds(rng, 2)
    reach, down = int(rng.integers(1, 6)), int(rng.integers(0, 3))
    a = te.placeholder(shape, ka, "a")
    mid = te.compute(
        (rows + down, columns + reach),
        lambda i, j: tir.if_then_else(
            tir.all(i >= down, j >= reach), a[i - down, j - reach], tir.const(1, ka)
        ),
        name="mid",
    )
    out = te.compute(
        shape,
        lambda i, j: expression(rng, [cast(mid[i, j], ko), cast(mid[i + down, j + reach], ko)], 2),
        name="out",
    )
    return Draft([a, out], _sizes(shape, sizes))


def _gathered(rng: Rng) -> Draft:
    """Elements at places that are data."""
    sizes = [odd(rng, 30), odd(rng, 60)]
    _, columns = shape = _shape(rng, sizes)
    ka, ko = _kinds(rng, 2)
    at = te.placeholder(shape, pick(rng, ("int32", "int64", "uint8", "int16")), "at")
    a = te.placeholder(shape, ka, "a")
    mid = te.compute(
        shape, lambda i, j: cast(tir.abs(at[i, j].astype("int32")), "int32"), name="mid"
    )
    index = columns.dtype if isinstance(columns, tir.PrimExpr) else "int32"
    out = te.compute(
        shape,
        lambda i, j: expression(
            rng, [cast(a[i, tir.floormod(mid[i, j].astype(index) + j, columns)], ko),
                  cast(a[i, j], ko)], 1),
        name="out",
    )  # fmt: skip
    return Draft([a, at, out], _sizes(shape, sizes))


def _reducer(rng: Rng, dtype: str) -> Any:
    if dtype == "bool":
        zero = flip(rng)
        return te.comm_reducer(
            (lambda x, y: tir.And(x, y)) if zero else (lambda x, y: tir.Or(x, y)),
            lambda t: tir.const(zero, t), name="both",
        )  # fmt: skip
    return te.max if dtype in ("int8", "uint8") else pick(rng, (te.sum, te.max, te.min))


def _reduced(rng: Rng) -> Draft:
    sizes = [odd(rng, 20), odd(rng, 250)]
    m, n = shape = _shape(rng, sizes)
    ka, ko = _kinds(rng, 2)
    a = te.placeholder(shape, ka, "a")
    k = te.reduce_axis((0, n), "k")
    how = _reducer(rng, ko)
    value = lambda i: expression(rng, [cast(a[i, k], ko)], 1)
    return Draft([a, te.compute((m,), lambda i: how(value(i), k), name="out")],
                 _sizes(shape, sizes))  # fmt: skip


def _place_of_most(rng: Rng) -> Draft:
    """The first place of the largest element: a reduction of pairs."""
    sizes = [odd(rng, 20), odd(rng, 250)]
    m, n = shape = _shape(rng, sizes)
    ka = pick(rng, [t for t in TYPES if t != "bool"])
    kind = pick(rng, ("int32", "int64"))

    def further(x: Any, y: Any) -> Any:
        first = tir.Or(x[1] > y[1], tir.And(x[1].equal(y[1]), x[0] < y[0]))
        return tir.Select(first, x[0], y[0]), tir.Select(x[1] > y[1], x[1], y[1])

    most = te.comm_reducer(
        further, lambda t0, t1: (tir.const(-1, t0), tir.min_value(t1)), name="most"
    )
    a = te.placeholder(shape, ka, "a")
    k = te.reduce_axis((0, n), "k")
    places, values = te.compute((m,), lambda i: most((k.var.astype(kind), a[i, k]), axis=k),
                                name="out")  # fmt: skip
    ko = pick(rng, (kind, "int32"))
    last = te.compute((m,), lambda i: cast(places[i], ko) * tir.const(2, ko) + cast(values[i], ko),
                      name="last")  # fmt: skip
    return Draft([a, last], _sizes(shape, sizes))


def _product(rng: Rng) -> Draft:
    sizes = [odd(rng, 40), odd(rng, 40), odd(rng, 50)]
    m, n, depth = shape = _shape(rng, sizes)
    ka, kb = (pick(rng, ("float32", "float16", "int8", "uint8", "int32")) for _ in range(2))
    ko = pick(rng, ("float32", "int32", "int64", "float16"))
    a, b = te.placeholder((m, depth), ka, "a"), te.placeholder((depth, n), kb, "b")
    k = te.reduce_axis((0, depth), "k")
    out = te.compute((m, n), lambda i, j: te.sum(cast(a[i, k], ko) * cast(b[k, j], ko), k),
                     name="out")  # fmt: skip
    return Draft([a, b, out], _sizes(shape, sizes))


# --- schedules ---


def _over_threads(sch: tir.Schedule, block: Any, rng: Rng, first: int = 0) -> Any:
    """A block's loops over blocks, threads, sometimes virtual threads, and vectors."""
    fused = sch.fuse(*sch.get_loops(block)[first:])
    lanes = pick(rng, (1, 1, 2, 3, 4, 8))
    virtual = pick(rng, (1, 1, 1, 2, 3))
    bx, vx, tx, v = sch.split(fused, [None, virtual, pick(rng, THREADS), lanes])
    sch.bind(bx, "blockIdx.x")
    if virtual > 1:
        sch.bind(vx, "vthread.x")
    sch.bind(tx, "threadIdx.x")
    if lanes > 1:
        pick(rng, (sch.vectorize, sch.vectorize, sch.unroll))(v)
    return tx


def _spread(sch: tir.Schedule, block: Any, depth: int, threads: int, rng: Rng) -> None:
    """The loops of a stage within a block go over its threads, several elements at a time."""
    inner = sch.get_loops(block)[depth:]
    loop = sch.fuse(*inner) if inner else sch.add_unit_loop(block)
    lanes = pick(rng, (1, 1, 2, 4))
    _, tx, v = sch.split(loop, [None, threads, lanes])
    sch.bind(tx, "threadIdx.x")
    if lanes > 1:
        sch.vectorize(v)


def _schedule_maps(sch: tir.Schedule, rng: Rng) -> str:
    mid, out = sch.get_block("mid"), sch.get_block("out")
    form = pick(rng, ("shared", "shared.dyn", "inline", "apart", "local"))
    shape = sch.get(mid).writes[0].buffer.shape
    if form in ("shared", "shared.dyn", "local") and not isinstance(shape[-1], tir.IntImm):
        form = "inline"  # a part of an open shape is not known to be of constant size
    if form in ("shared", "shared.dyn"):
        loops = sch.get_loops(out)
        threads = pick(rng, THREADS)
        if len(loops) == 1:
            bx, inner = sch.split(loops[0], [None, pick(rng, (16, 37, 64))])
        else:
            bx, inner = sch.fuse(*loops[:-1]), loops[-1]
        sch.bind(bx, "blockIdx.x")
        lanes = pick(rng, (1, 2, 4))
        _, tx, v = sch.split(inner, [None, threads, lanes])
        sch.bind(tx, "threadIdx.x")
        if lanes > 1:
            sch.vectorize(v)
        sch.set_scope(mid, 0, form)
        sch.compute_at(mid, bx)
        if flip(rng, 0.3):
            sch.storage_align(mid, 0, 0, 8, 3)
        if flip(rng, 0.2):
            sch.annotate(mid, "double_buffer_scope", 0)
        _spread(sch, mid, 1, threads, rng)
    elif form == "inline":
        sch.compute_inline(mid)
        _over_threads(sch, out, rng)
    elif form == "apart":
        _over_threads(sch, mid, rng)
        _over_threads(sch, out, rng)
    else:
        tx = _over_threads(sch, out, rng)
        sch.set_scope(mid, 0, "local")
        sch.compute_at(mid, tx)
    return form


def _schedule_reduced(sch: tir.Schedule, rng: Rng) -> str:
    out = sch.get_block("out")
    form = pick(rng, ("threads", "rows of threads", "columns", "rfactor", "serial", "apart"))
    rows, loop = sch.get_loops(out)
    threads = pick(rng, THREADS)
    if form in ("serial", "apart"):
        bx, tx = sch.split(rows, [None, threads])
        sch.bind(bx, "blockIdx.x")
        sch.bind(tx, "threadIdx.x")
        if form == "apart":
            sch.decompose_reduction(out, loop)
        elif flip(rng):
            sch.annotate(bx, "pragma_auto_unroll_max_step", 16)
            sch.annotate(bx, "pragma_unroll_explicit", int(rng.integers(2)))
    elif form == "rfactor":
        _, inner = sch.split(loop, [None, threads])
        partial = sch.rfactor(inner, 0)
        for block in (partial, out):
            loops = sch.get_loops(block)
            sch.bind(loops[0], "blockIdx.x")
            sch.bind(loops[-1], "threadIdx.x")
    else:
        across = "threadIdx.x"
        if form == "threads":
            sch.bind(rows, "blockIdx.x")
        else:
            if form == "columns":
                threads, across = min(threads, 33), "threadIdx.y"
            bx, ty = sch.split(rows, [None, int(rng.integers(2, 5))])
            sch.bind(bx, "blockIdx.x")
            sch.bind(ty, "threadIdx.x" if form == "columns" else "threadIdx.y")
        _, tx = sch.split(sch.get_loops(out)[-1], [None, threads])
        sch.bind(tx, across)
    return f"{form} {threads}"


def _schedule_place(sch: tir.Schedule, rng: Rng) -> str:
    words = _schedule_reduced(sch, rng)
    _over_threads(sch, sch.get_block("last"), rng)
    return words


def _schedule_product(sch: tir.Schedule, rng: Rng) -> str:
    out = sch.get_block("out")
    i, j, k = sch.get_loops(out)
    ty, tx = (pick(rng, (2, 3, 4, 8)) for _ in range(2))
    i0, i1, i2 = sch.split(i, [None, ty, int(rng.integers(1, 4))])
    j0, vj, j1, j2 = sch.split(j, [None, pick(rng, (1, 1, 2)), tx, pick(rng, (1, 2, 4))])
    k0, k1 = sch.split(k, [None, pick(rng, (4, 5, 8))])
    sch.reorder(i0, j0, vj, i1, j1, k0, k1, i2, j2)
    for loop, tag in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (vj, "vthread.x"),
                      (i1, "threadIdx.y"), (j1, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, tag)
    if flip(rng):
        kept = sch.cache_write(out, 0, "local")
        sch.reverse_compute_at(kept, j1)
        if flip(rng):
            sch.vectorize(sch.get_loops(kept)[-1])
    words, staged = f"{ty} x {tx}", flip(rng, 0.8)
    if staged:
        scope = pick(rng, ("shared", "shared.dyn"))
        for number in range(2):
            copy = sch.cache_read(out, number, scope)
            sch.compute_at(copy, k0)
            loop = sch.fuse(*sch.get_loops(copy)[6:])
            _, y, x, v = sch.split(loop, [None, ty, tx, pick(rng, (1, 2, 4))])
            sch.bind(y, "threadIdx.y")
            sch.bind(x, "threadIdx.x")
            sch.vectorize(v)
        words += f" {scope}"
        if flip(rng, 0.4):
            sch.annotate(k0, "software_pipeline_stage", [0, 0, pick(rng, (1, 2))])
            sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
            words += " ahead"
    if flip(rng):
        sch.decompose_reduction(out, k0)
    return words


_FORMS: tuple[tuple[Callable[[Rng], Draft], Callable[[tir.Schedule, Rng], str]], ...] = (
    (_mixed, _schedule_maps),
    (_mixed, _schedule_maps),
    (_padded, _schedule_maps),
    (_gathered, _schedule_maps),
    (_reduced, _schedule_reduced),
    (_place_of_most, _schedule_place),
    (_product, _schedule_product),
)


def made(seed: int) -> Made:
    """The kernel of a number."""
    rng = np.random.default_rng(seed)
    while True:
        try:
            return _made(rng)
        except tir.ScheduleError:  # some guards are beyond what a move of blocks proves
            continue


def _made(rng: Rng) -> Made:
    program, schedule = pick(rng, _FORMS)
    draft = program(rng)
    plain = te.create_prim_func(draft.tensors)
    sch = tir.Schedule(plain)
    words = schedule(sch, rng)
    shapes = tuple(
        (tuple(draft.sizes[x.name] if isinstance(x, tir.Var) else int(x) for x in t.shape),
         str(t.dtype)) for t in draft.tensors
    )  # fmt: skip
    types = "/".join(kind for _, kind in shapes)
    open_ = " open" if draft.sizes else ""
    return Made(sch.mod["main"], plain, shapes, f"{program.__name__[1:]} {types}{open_}: {words}")
