"""The attention kernels of caches: over pages, over the tokens of a batch, over trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tir
from tvm.target import Target
from tvm.topi.kernel import Kernel, number
from tvm.topi.loops import let, store

from .attention import Heads, Pages, Rope, Row, Trees, attend, with_sequence_of
from .attention_blocks import attend_in_block


def paged(
    name: str, heads: Heads, sliding: bool, page_size: int, target: Target | None, *,
    decode: bool = False, tree: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """Rows attend to pages.

    (q, [q_indptr], pages, page_indptr, page_values, length_info, k_rope_pos_offset,
    q_rope_position, output, lse, [causal], rotary_mode, rope_scale, rope_theta, sm_scale,
    [tree_indptr, tree_order]); with `decode` each sequence has one row.
    """
    kernel = Kernel(name, target)
    rows = kernel.size("rows")
    q = kernel.buffer("q", (rows, heads.query_heads, heads.dim), heads.dtype)
    indptr = None if decode else kernel.indices("q_indptr", kernel.size("q_indptr_size"))
    pages = Pages(kernel, heads, sliding, page_size)
    offsets = kernel.indices("k_rope_pos_offset", kernel.size("offsets_size"))
    positions = kernel.indices("q_rope_position", rows)
    outputs = Outputs(kernel, rows, heads)
    causal = None if decode or tree else kernel.scalar("causal", "int32")
    rope = Rope(kernel, heads)
    scale = kernel.scalar("sm_scale", "float32")
    trees = Trees(kernel, "tree_order_indptr", "tree_order") if tree else None

    def of_sequence(b: Any, row: Any, head: Any, count: Any) -> tir.Stmt:
        group = heads.kv(head)

        def element(which: int, j: Any, d: Any) -> Any:
            page, slot = pages.page_and_slot(b, j)
            return pages.buffer[page, which, group, slot, d]

        def visible(j: Any) -> Any:
            if trees is None and causal is None:
                return tir.const(True)
            assert indptr is not None, "only `decode` has no pointers"
            first = number(indptr, b)
            own, own_rows = row - first, number(indptr, b + 1) - first
            if trees is not None:
                return trees.visible(b, own, own_rows, j, count)
            assert causal is not None, "either a tree or a flag"
            return tir.if_then_else(causal > 0, j <= count - own_rows + own, tir.const(True))

        return outputs.attend(row, head, Row(
            lambda d: rope.read(lambda x: q[row, head, x], d, number(positions, row)),
            lambda j, d: element(0, j, d).astype("float32"),
            lambda j, d: element(1, j, d).astype("float32"),
            (rope.turns,
             lambda j, d: rope.turned(lambda x: element(0, j, x), d, number(offsets, b) + j)),
            visible, count, heads.dim, heads.value_dim, scale,
        ))  # fmt: skip

    def row_and_head(row: Any, head: Any) -> tir.Stmt:
        def known(b: Any) -> tir.Stmt:
            return let(pages.length(b), lambda n: of_sequence(b, row, head, n), "keys")

        return known(row) if indptr is None else with_sequence_of(indptr, row, known)

    return kernel.func(kernel.rows((rows, heads.query_heads), row_and_head, together=True))


def compressed(
    name: str, heads: Heads, sliding: bool, page_size: int, target: Target | None
) -> tir.PrimFunc:
    """Rows attend to compressed keys, whose first dimensions are the values (MLA).

    (q, q_indptr, pages, page_indptr, page_values, length_info, output, lse, causal, sm_scale)
    """
    kernel = Kernel(name, target)
    rows = kernel.size("rows")
    q = kernel.buffer("q", (rows, heads.query_heads, heads.dim), heads.dtype)
    indptr = kernel.indices("q_indptr", kernel.size("q_indptr_size"))
    pages = Pages(kernel, heads, sliding, page_size)
    outputs = Outputs(kernel, rows, heads)
    causal = kernel.scalar("causal", "int32")
    scale = kernel.scalar("sm_scale", "float32")

    def of_sequence(b: Any, row: Any, head: Any, count: Any) -> tir.Stmt:
        def element(j: Any, d: Any) -> Any:
            page, slot = pages.page_and_slot(b, j)
            return pages.buffer[page, slot, d].astype("float32")

        def visible(j: Any) -> Any:
            end = count - number(indptr, b + 1) + row
            return tir.if_then_else(causal > 0, j <= end, tir.const(True))

        return outputs.attend(row, head, Row(
            lambda d: q[row, head, d].astype("float32"), element, element, None, visible,
            count, heads.dim, heads.value_dim, scale,
        ))  # fmt: skip

    return kernel.func(kernel.rows(
        (rows, heads.query_heads),
        lambda row, head: with_sequence_of(indptr, row, lambda b: let(
            pages.length(b), lambda n: of_sequence(b, row, head, n), "keys"
        )),
        together=True,
    ))  # fmt: skip


def one_sequence(
    name: str, heads: Heads, causal: bool, scale: float, target: Target | None, masked: bool = False
) -> tir.PrimFunc:
    """Rows of a batch, all of one length, attend to each other.

    (q, k, v, [valid_lengths], output, lse) of (batch, length, heads, dim); rows and keys at or
    beyond a valid length take no part.
    """
    kernel = Kernel(name, target)
    batch, rows, keys = (kernel.size(size) for size in ("batch_size", "qo_len", "kv_len"))
    q = kernel.buffer("q", (batch, rows, heads.query_heads, heads.dim), heads.dtype)
    k = kernel.buffer("k", (batch, keys, heads.kv_heads, heads.dim), heads.dtype)
    v = kernel.buffer("v", (batch, keys, heads.kv_heads, heads.value_dim), heads.dtype)
    lengths = kernel.indices("valid_lens", batch) if masked else None
    out = kernel.buffer("output", (batch, rows, heads.query_heads, heads.value_dim), heads.dtype)
    lse = kernel.buffer("lse", (batch, rows, heads.query_heads), "float32")

    def row(b: Any, i: Any, head: Any) -> tir.Stmt:
        group = heads.kv(head)
        valid = keys if lengths is None else tir.min(number(lengths, b), keys)

        def visible(j: Any) -> Any:
            seen = j <= keys - rows + i if causal else tir.const(True)
            return seen if lengths is None else tir.all(seen, i < valid)

        return _attended(
            kernel, Row(
                lambda d: q[b, i, head, d].astype("float32"),
                lambda j, d: k[b, j, group, d].astype("float32"),
                lambda j, d: v[b, j, group, d].astype("float32"),
                None, visible, valid, heads.dim, heads.value_dim, tir.const(scale, "float32"),
            ),
            lambda d, value: store(out, value, b, i, head, d),
            lambda value: store(lse, value, b, i, head),
        )  # fmt: skip

    return kernel.func(kernel.rows((batch, rows, heads.query_heads), row, together=True))


def ragged(name: str, heads: Heads, target: Target | None, tree: bool = False) -> tir.PrimFunc:
    """Rows attend to the keys of their own sequence in a batch.

    (q, q_indptr, k, v, kv_indptr, q_rope_position, k_rope_pos_offset | tree_indptr, tree_order,
    output, lse, [causal], rotary_mode, rope_scale, rope_theta, sm_scale)
    """
    kernel = Kernel(name, target)
    rows, kv_rows = kernel.size("rows"), kernel.size("kv_rows")
    q = kernel.buffer("q", (rows, heads.query_heads, heads.dim), heads.dtype)
    indptr = kernel.indices("q_indptr", kernel.size("q_indptr_size"))
    k = kernel.buffer("k", (kv_rows, heads.kv_heads, heads.dim), heads.dtype)
    v = kernel.buffer("v", (kv_rows, heads.kv_heads, heads.value_dim), heads.dtype)
    kv_indptr = kernel.indices("kv_indptr", kernel.size("kv_indptr_size"))
    positions = kernel.indices("q_rope_position", rows)
    trees, offsets = None, None
    if tree:
        trees = Trees(kernel, "mn_indptr", "mask")
    else:
        offsets = kernel.indices("k_rope_pos_offset", kernel.size("offsets_size"))
    outputs = Outputs(kernel, rows, heads)
    causal = None if tree else kernel.scalar("causal", "int32")
    rope = Rope(kernel, heads)
    scale = kernel.scalar("sm_scale", "float32")

    def of_sequence(b: Any, row: Any, head: Any) -> tir.Stmt:
        group, first = heads.kv(head), number(kv_indptr, b)
        count = number(kv_indptr, b + 1) - first
        own, own_rows = row - number(indptr, b), number(indptr, b + 1) - number(indptr, b)

        def visible(j: Any) -> Any:
            if trees is not None:
                return trees.visible(b, own, own_rows, j, count)
            assert causal is not None, "either a tree or a flag"
            return tir.if_then_else(causal > 0, j <= count - own_rows + own, tir.const(True))

        def key(j: Any, d: Any) -> Any:
            # the tokens of a tree stand where their rows do, which are the keys' rows too
            at = number(positions, first + j) if offsets is None else number(offsets, b) + j
            return rope.turned(lambda x: k[first + j, group, x], d, at)

        return outputs.attend(row, head, Row(
            lambda d: rope.read(lambda x: q[row, head, x], d, number(positions, row)),
            lambda j, d: k[first + j, group, d].astype("float32"),
            lambda j, d: v[first + j, group, d].astype("float32"),
            (rope.turns, key), visible, count, heads.dim, heads.value_dim, scale,
        ))  # fmt: skip

    return kernel.func(kernel.rows(
        (rows, heads.query_heads),
        lambda row, head: with_sequence_of(indptr, row, lambda b: of_sequence(b, row, head)),
        together=True,
    ))  # fmt: skip


class Outputs:
    """The parameters that take attention and logarithms."""

    def __init__(self, kernel: Kernel, rows: Any, heads: Heads) -> None:
        self._out = kernel.buffer("output", (rows, heads.query_heads, heads.value_dim), heads.dtype)
        self._lse = kernel.buffer("lse", (rows, heads.query_heads), "float32")
        self._kernel = kernel

    def attend(self, row: Any, head: Any, what: Row) -> tir.Stmt:
        """Attend from one row and head."""
        return _attended(
            self._kernel, what,
            lambda d, value: store(self._out, value, row, head, d),
            lambda value: store(self._lse, value, row, head),
        )  # fmt: skip


def _attended(
    kernel: Kernel, row: Row, out: Callable[[Any, Any], tir.Stmt], lse: Callable[[Any], tir.Stmt]
) -> tir.Stmt:
    """Attend, on a core or by the threads of a block."""
    if kernel.thread is None:
        return attend(row, out, lse, kernel.lanes)
    return attend_in_block(row, out, lse, kernel.thread)
