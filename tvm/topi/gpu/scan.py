"""Running sums and products on a GPU: a block of threads for each row, a thread for short ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.tir import generic
from tvm.topi import tag
from tvm.topi.common import stage
from tvm.topi.loops import (
    blocks,
    load,
    local,
    loop,
    sequence,
    store,
    threads,
    wait_for_block,
    when,
)
from tvm.topi.reshaping import reshape, transpose
from tvm.topi.utils import normal_axis, prod, swap, unravel_index

BinaryOp: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]

_SHORT = 32  # elements of a row that one thread may well scan
_THREADS = 256  # of a block, and elements of a tile
_DOUBLINGS = 8  # from one element to a tile; an even number ends where it began

__all__ = [
    "cumprod", "cumsum", "exclusive_scan", "exclusive_scan_ir", "get_reduction_from_exclusive_scan",
    "inclusive_scan", "scan_thrust", "scanop",
]  # fmt: skip


def _unravel(number: PrimExpr, shape: Any) -> list[PrimExpr]:
    return unravel_index(number, shape) if len(shape) else []


@explained
def exclusive_scan_ir(
    data: tir.Buffer,
    output: tir.Buffer,
    reduction: tir.Buffer | None = None,
    binop: BinaryOp = generic.add,
    identity_value: Any = 0,
) -> tir.Stmt:
    """The statement that fills `output` with the scan of the last axis, `reduction` with totals.

    output[..., k] = identity op data[..., 0] op ... op data[..., k - 1]
    """
    *lead, steps = data.shape
    rows = prod(lead) if lead else tir.const(1, steps.dtype)
    scan = _Scan(data, output, reduction, binop, identity_value)
    if isinstance(steps, tir.IntImm) and steps.value <= _SHORT:
        return threads(rows, scan.by_one_thread, "row")
    return blocks(rows, _THREADS, scan.by_block, "row")


class _Scan:
    """How one row is scanned."""

    def __init__(
        self, data: tir.Buffer, output: tir.Buffer, reduction: tir.Buffer | None, binop: BinaryOp,
        identity_value: Any,
    ) -> None:  # fmt: skip
        self.data, self.output, self.reduction = data, output, reduction
        self.binop = binop
        self.identity = tir.const(identity_value, output.dtype)
        self.lead, self.steps = list(data.shape[:-1]), data.shape[-1]

    def by_one_thread(self, row: PrimExpr) -> tir.Stmt:
        """A short row, an element after the other."""
        at, steps = _unravel(row, self.lead), self.steps
        first = store(self.output, self.identity, *at, tir.const(0, steps.dtype))

        def total(k: PrimExpr) -> PrimExpr:
            element = load(self.data, *at, k).astype(self.output.dtype)
            return self.binop(load(self.output, *at, k), element)

        rest = loop(steps - 1, lambda k: store(self.output, total(k), *at, k + 1), "k")
        last = None if self.reduction is None else store(self.reduction, total(steps - 1), *at)
        return tir.IfThenElse(steps > 0, sequence(first, rest, last))

    def by_block(self, row: PrimExpr, thread: PrimExpr) -> tir.Stmt:
        """A row by a block of threads, which scan a tile after the other in shared memory.

        The distances of what is joined double (Hillis and Steele, 1986).
        """
        at, kind = _unravel(row, self.lead), self.output.dtype

        def joined(source: tir.Buffer, target: tir.Buffer, away: int) -> tir.Stmt:
            own = load(source, thread)
            both = self.binop(load(source, thread - away), own)
            value = tir.if_then_else(thread >= away, both, own)
            return sequence(store(target, value, thread), wait_for_block())

        def work(here: tir.Buffer, there: tir.Buffer, carry: tir.Buffer) -> tir.Stmt:
            def tile(part: PrimExpr) -> tir.Stmt:
                k = part * _THREADS + thread.astype(part.dtype)
                element = load(self.data, *at, k).astype(kind)
                value = tir.if_then_else(k < self.steps, element, self.identity)
                pairs = [(here, there), (there, here)]
                before = tir.if_then_else(thread > 0, load(here, thread - 1), self.identity)
                return sequence(
                    store(here, value, thread), wait_for_block(),
                    *(joined(*pairs[n % 2], 1 << n) for n in range(_DOUBLINGS)),
                    when(
                        k < self.steps,
                        store(self.output, self.binop(load(carry, 0), before), *at, k),
                    ),
                    store(carry, self.binop(load(carry, 0), load(here, _THREADS - 1)), 0),
                    wait_for_block(),
                )  # fmt: skip

            tiles = tir.indexdiv(self.steps + (_THREADS - 1), _THREADS)
            total = None if self.reduction is None else when(
                tir.all(thread.equal(0), self.steps > 0),
                store(self.reduction, load(carry, 0), *at),
            )  # fmt: skip
            return sequence(store(carry, self.identity, 0), loop(tiles, tile, "part"), total)

        def shared(body: Callable[[tir.Buffer], tir.Stmt]) -> tir.Stmt:
            return local(kind, body, _THREADS, "tile", "shared")

        return shared(
            lambda a: shared(lambda b: local(kind, lambda c: work(a, b, c), name="carry"))
        )


@explained
def get_reduction_from_exclusive_scan(
    data: te.Tensor, ex_scan_output: te.Tensor, binop: BinaryOp = generic.add
) -> te.Tensor:
    """The total of each row, from its data and its scan.   (..., n), (..., n) -> (...,)"""
    last = data.shape[-1] - 1
    dtype = ex_scan_output.dtype

    def total(*i: Any) -> PrimExpr:
        whole = binop(ex_scan_output(*i, last), data(*i, last).astype(dtype))
        return tir.if_then_else(data.shape[-1] > 0, whole, tir.const(0, dtype))

    return stage(list(data.shape[:-1]), total, "reduction", tag.INJECTIVE)


@explained
def scan_thrust(
    data: te.Tensor,
    output_dtype: str,
    exclusive: bool = True,
    return_reduction: bool = False,
    binop: BinaryOp = generic.add,
    workspace: te.Tensor | None = None,
) -> Any:
    """The scan of the last axis by the library Thrust, whose function is looked up at run time."""
    out = tir.decl_buffer(data.shape, output_dtype, "output_buf")
    given = [data] if workspace is None else [data, workspace]
    scan = te.extern(
        [data.shape], given,
        lambda ins, outs: tir.call_packed(
            _thrust_name(binop), ins[0], outs[0], tir.const(exclusive, "bool"), *ins[1:]
        ),
        dtype=[output_dtype], out_buffers=[out], name="exclusive_scan_thrust",
        tag="exclusive_scan_thrust_gpu",
    )  # fmt: skip
    if not return_reduction:
        return scan
    if not exclusive:
        raise ValueError("scan_thrust: return_reduction needs exclusive=True")
    return scan, get_reduction_from_exclusive_scan(data, scan, binop)


def _thrust_name(binop: BinaryOp) -> str:
    names = {generic.add: "sum", generic.multiply: "prod", tir.max: "max", tir.min: "min"}
    if binop not in names:
        raise ValueError("scan_thrust: legal operations are tir.generic.add, multiply, max, min")
    return f"tvm.contrib.thrust.{names[binop]}_scan"


@explained
def exclusive_scan(
    data: te.Tensor,
    axis: int = -1,
    return_reduction: bool = False,
    output_dtype: str | None = None,
    binop: BinaryOp = generic.add,
    identity_value: Any = 0,
    workspace: te.Tensor | None = None,
) -> Any:
    """The scan along an axis that leaves each element itself out; with the totals if asked for."""
    dim = normal_axis(axis, data.ndim, "exclusive_scan")
    way = swap(list(range(data.ndim)), dim)
    moved = data if dim == data.ndim - 1 else transpose(data, way)
    kind = DataType(data.dtype if output_dtype in (None, "") else output_dtype)
    source = tir.decl_buffer(moved.shape, data.dtype, "data")
    out = tir.decl_buffer(moved.shape, kind, "output_buf")
    scan = te.extern(
        [moved.shape], [moved],
        lambda ins, outs: exclusive_scan_ir(
            ins[0], outs[0], binop=binop, identity_value=identity_value
        ),
        dtype=[kind], in_buffers=[source], out_buffers=[out], name="exclusive_scan",
        tag="exclusive_scan_gpu",
    )  # fmt: skip
    assert isinstance(scan, te.Tensor), "one output was declared"
    back = scan if dim == data.ndim - 1 else transpose(scan, way)
    if not return_reduction:
        return back
    return back, get_reduction_from_exclusive_scan(moved, scan, binop)


@explained
def inclusive_scan(
    data: te.Tensor,
    axis: int = -1,
    output_dtype: str | None = None,
    binop: BinaryOp = generic.add,
    identity_value: Any = 0,
    workspace: te.Tensor | None = None,
) -> te.Tensor:
    """The scan along an axis, each element itself included."""
    before = exclusive_scan(
        data, axis, output_dtype=output_dtype, binop=binop, identity_value=identity_value
    )
    return stage(
        list(data.shape), lambda *i: binop(before(*i), data(*i).astype(before.dtype)),
        "inclusive_scan", tag.INJECTIVE,
    )  # fmt: skip


@explained
def scanop(
    data: te.Tensor,
    binop: BinaryOp,
    identity_value: float,
    axis: int | None = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
    workspace: te.Tensor | None = None,
) -> te.Tensor:
    """The scan along an axis; without one the tensor is flattened first."""
    if axis is None:
        axis, data = 0, reshape(data, (prod(data.shape),))
    dim = normal_axis(axis, data.ndim, "scanop")
    if exclusive:
        found: te.Tensor = exclusive_scan(
            data, dim, output_dtype=dtype, binop=binop, identity_value=identity_value
        )
        return found
    return inclusive_scan(
        data, dim, output_dtype=dtype, binop=binop, identity_value=identity_value
    )


@explained
def cumsum(
    data: te.Tensor,
    axis: int | None = None,
    dtype: int | None = None,
    exclusive: bool | None = None,
    workspace: te.Tensor | None = None,
) -> te.Tensor:
    """The running sum."""
    kind = None if dtype is None else str(dtype)
    return scanop(data, generic.add, 0, axis, kind, exclusive, workspace)


@explained
def cumprod(
    data: te.Tensor,
    axis: int | None = None,
    dtype: int | None = None,
    exclusive: bool | None = None,
    workspace: te.Tensor | None = None,
) -> te.Tensor:
    """The running product."""
    kind = None if dtype is None else str(dtype)
    return scanop(data, generic.multiply, 1, axis, kind, exclusive, workspace)
