"""Kernels that move keys and values: into pages, between pages, out of them; and merges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tir
from tvm.target import Target
from tvm.topi.kernel import Kernel, number
from tvm.topi.loops import let, loop, sequence, store, when


def append(
    name: str, head_dim: int, heads: int, dtype: str, page_size: int, target: Target | None
) -> tir.PrimFunc:
    """(pages, k, v, position_map): each row goes to its position; -1 drops it."""
    kernel = Kernel(name, target)
    shape = (kernel.size("num_pages"), 2, heads, page_size, head_dim)
    pages, n = kernel.buffer("pages", shape, dtype), kernel.size("ntoken")
    k, v = (kernel.buffer(part, (n, heads, head_dim), dtype) for part in "kv")
    positions = kernel.indices("position_map", n)

    def row(i: Any, h: Any) -> tir.Stmt:
        def copy(position: Any) -> tir.Stmt:
            page, slot = tir.floordiv(position, page_size), tir.floormod(position, page_size)
            return loop(head_dim, lambda d: sequence(
                store(pages, k[i, h, d], page, 0, h, slot, d),
                store(pages, v[i, h, d], page, 1, h, slot, d),
            ), "d")  # fmt: skip

        return let(number(positions, i), lambda p: when(p >= 0, copy(p)), "place")

    return kernel.func(kernel.rows((n, heads), row))


def append_compressed(
    name: str, dim: int, dtype: str, page_size: int, target: Target | None
) -> tir.PrimFunc:
    """(pages, kv, position_map): each row goes to its position."""
    kernel = Kernel(name, target)
    pages = kernel.buffer("pages", (kernel.size("num_pages"), page_size, dim), dtype)
    n = kernel.size("ntoken")
    kv, positions = kernel.buffer("kv", (n, dim), dtype), kernel.indices("position_map", n)

    def row(i: Any) -> tir.Stmt:
        def copy(position: Any) -> tir.Stmt:
            page, slot = tir.floordiv(position, page_size), tir.floormod(position, page_size)
            return loop(dim, lambda d: store(pages, kv[i, d], page, slot, d), "d")

        return let(number(positions, i), lambda p: when(p >= 0, copy(p)), "place")

    return kernel.func(kernel.rows((n,), row))


def debug_get(
    name: str, layers: int, heads: int, head_dim: int, dtype: str, target: Target | None = None
) -> tir.PrimFunc:
    """(pages, position_map, k, v, layer): one layer's cache entries at the given positions."""
    kernel = Kernel(name, target)
    page_size = kernel.size("page_size")
    shape = (kernel.size("num_pages"), 2, heads, page_size, head_dim)
    pages, n = kernel.buffer("pages", shape, dtype), kernel.size("seqlen")
    positions = kernel.indices("position_map", n)
    k, v = (kernel.buffer(part, (layers, n, heads, head_dim), dtype) for part in "kv")
    layer = kernel.scalar("layer_id", "int64")

    def row(i: Any, h: Any) -> tir.Stmt:
        def copy(position: Any) -> tir.Stmt:
            page, slot = tir.floordiv(position, page_size), tir.floormod(position, page_size)
            return loop(head_dim, lambda d: sequence(
                store(k, pages[page, 0, h, slot, d], layer, i, h, d),
                store(v, pages[page, 1, h, slot, d], layer, i, h, d),
            ), "d")  # fmt: skip

        return let(number(positions, i), copy, "place")

    return kernel.func(kernel.rows((n, heads), row))


def debug_get_compressed(
    name: str, layers: int, dim: int, dtype: str, target: Target | None = None
) -> tir.PrimFunc:
    """(pages, position_map, kv, layer): as `debug_get`, of compressed keys."""
    kernel = Kernel(name, target)
    page_size = kernel.size("page_size")
    pages = kernel.buffer("pages", (kernel.size("num_pages"), page_size, dim), dtype)
    n = kernel.size("seqlen")
    positions = kernel.indices("position_map", n)
    kv = kernel.buffer("kv", (layers, n, dim), dtype)
    layer = kernel.scalar("layer_id", "int64")

    def row(i: Any) -> tir.Stmt:
        def copy(position: Any) -> tir.Stmt:
            page, slot = tir.floordiv(position, page_size), tir.floormod(position, page_size)
            return loop(dim, lambda d: store(kv, pages[page, slot, d], layer, i, d), "d")

        return let(number(positions, i), copy, "place")

    return kernel.func(kernel.rows((n,), row))


def copy_page(
    name: str, heads: int, page_size: int, head_dim: int, dtype: str, target: Target | None
) -> tir.PrimFunc:
    """(pages, source, target, count): copies the first slots of a page to another.

    Without heads the pages are those of compressed keys.
    """
    kernel = Kernel(name, target)
    count = kernel.size("num_pages")
    shape = (count, 2, heads, page_size, head_dim) if heads else (count, page_size, head_dim)
    pages = kernel.buffer("pages", shape, dtype)
    source, goal = (kernel.scalar(f"{end}_page_id", "int64") for end in ("src", "tgt"))
    length = kernel.scalar("copy_length", "int64")
    if not heads:
        return kernel.func(kernel.rows((length,), lambda i: loop(
            head_dim, lambda d: store(pages, pages[source, i, d], goal, i, d), "d"
        )))  # fmt: skip
    return kernel.func(kernel.rows((length, heads), lambda i, h: _both(
        lambda part: loop(
            head_dim,
            lambda d: store(pages, pages[source, part, h, i, d], goal, part, h, i, d), "d",
        )
    )))  # fmt: skip


def _both(body: Callable[[int], tir.Stmt]) -> tir.Stmt:
    """Once for keys, once for values."""
    return sequence(body(0), body(1))


def compact(
    name: str, heads: int, head_dim: int, dtype: str, page_size: int, target: Target | None
) -> tir.PrimFunc:
    """(pages, copy_length_indptr, copy_src_dst_pos, batch_size): single tokens move, in order."""
    kernel = Kernel(name, target)
    shape = (kernel.size("num_pages"), 2, heads, page_size, head_dim)
    pages = kernel.buffer("pages", shape, dtype)
    indptr = kernel.indices("copy_length_indptr", kernel.size("indptr_size"))
    moves = kernel.indices("copy_src_dst_pos", 2, kernel.size("total_copy_length"))
    batch = kernel.scalar("batch_size", "int32").astype("int64")

    def row(b: Any, h: Any) -> tir.Stmt:
        def move(i: Any) -> tir.Stmt:
            positions = [number(moves, end, number(indptr, b) + i) for end in (0, 1)]
            (source, at), (goal, to) = (
                (tir.floordiv(p, page_size), tir.floormod(p, page_size)) for p in positions
            )
            return _both(lambda part: loop(
                head_dim,
                lambda d: store(pages, pages[source, part, h, at, d], goal, part, h, to, d), "d",
            ))  # fmt: skip

        return loop(number(indptr, b + 1) - number(indptr, b), move, "i")

    return kernel.func(kernel.rows((batch, heads), row))


def merge(name: str, dtype: str, target: Target | None) -> tir.PrimFunc:
    """(v, s, v_other, s_other): two attentions over different keys as one, in the first."""
    kernel = Kernel(name, target)
    n, heads, dim = (kernel.size(size) for size in ("N", "H", "D"))
    v = kernel.buffer("v", (n, heads, dim), dtype)
    s = kernel.buffer("s", (n, heads), "float32")
    v_other = kernel.buffer("v_other", (n, heads, dim), dtype)
    s_other = kernel.buffer("s_other", (n, heads), "float32")

    def row(i: Any, h: Any) -> tir.Stmt:
        def scaled(top: Any, own: Any, other: Any, total: Any) -> tir.Stmt:
            def element(d: Any) -> tir.Stmt:
                mine = v[i, h, d].astype("float32") * own
                sum_ = mine + v_other[i, h, d].astype("float32") * other
                return store(v, tir.div(sum_, total), i, h, d)

            return sequence(loop(dim, element, "d"), store(s, tir.log2(total) + top, i, h))

        def powers(top: Any) -> tir.Stmt:
            return let(tir.exp2(s[i, h] - top), lambda own: let(
                tir.exp2(s_other[i, h] - top),
                lambda other: let(own + other, lambda t: scaled(top, own, other, t), "total"),
                "other",
            ), "own")  # fmt: skip

        return let(tir.max(s[i, h], s_other[i, h]), powers, "top")

    return kernel.func(kernel.rows((n, heads), row))
