"""A kernel for whole tensors as the kernel that each worker runs on its own pieces.

    for i, j in T.grid(128, 128): B[i, j] = f(A[i, j])      with dimension 1 in 2 pieces
        ->
    for i, j in T.grid(128, 64): B[i, j] = f(A[i, j])

What one iterator indexes is cut together, through buffers between too. Where what is cut is reduced
over, each worker has a part of the result; `combine` says how the parts make the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.relax.distributed.tir_axes import AxisGroups
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.renew_defs import renew_defs


@dataclass
class LocalKernel:
    """The kernel of one worker; `combine` is None, or the kind of reduction over the workers."""

    func: PrimFunc
    combine: str | None


_COMBINES: Final[dict[type[PrimExpr], str]] = {
    e.Add: "sum", e.Mul: "prod", e.Max: "max", e.Min: "min",
}  # fmt: skip


def local_kernel(func: PrimFunc, pieces: Mapping[tuple[int, int], int]) -> LocalKernel:
    """The kernel with (buffer parameter, dimension) cut into so many pieces."""
    groups = AxisGroups(func)
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    cuts: dict[object, int] = {}
    for (position, dim), workers in pieces.items():
        key = groups.find((buffers[position], dim))
        if cuts.setdefault(key, workers) != workers:
            raise CheckError(
                message(
                    "a kernel on pieces: one dimension is cut in two ways",
                    found=f"{cuts[key]} and {workers} pieces",
                    legal="one number of pieces",
                )
            )
    other = groups.other_index({key: 0 for key, workers in cuts.items() if workers > 1})
    if other is not None:
        buffer, dim, index = other
        raise CheckError(
            message(
                f"a kernel on pieces: dimension {dim} of {buffer.name!r} is cut",
                found=f"index {index}",
                legal="an iterator, or one whose pieces are those of the dimension",
            )
        )
    cutter = _Cutter(groups, cuts)
    new_map = {p: cutter.local_buffer(b) for p, b in func.buffer_map.items()}
    cutter.collect_loops(func.body)
    body = cutter.visit_stmt(func.body)
    made = PrimFunc(func.params, body, func.ret_type, new_map, func.attrs, func.span)
    return LocalKernel(renew_defs(made), _combine(func, groups, cuts))


def _combine(func: PrimFunc, groups: AxisGroups, cuts: Mapping[object, int]) -> str | None:
    """How parts of a result make the whole, if a reduction runs over what is cut."""
    for node in walk(func.body):
        if not isinstance(node, s.Block):
            continue
        reduced = [it for it in node.iter_vars if it.iter_type == e.IterVar.CommReduce]
        if not any(groups.find(it.var) in cuts for it in reduced):
            continue
        store = node.body
        if isinstance(store, s.BufferStore) and store.buffer not in func.buffer_map.values():
            raise CheckError(
                message(
                    "a kernel on pieces: a reduction over what is cut",
                    found=f"block {node.name_hint!r}, whose result other blocks read",
                    legal="a reduction that gives a result of the kernel; cut other dimensions",
                )
            )
        kind = _COMBINES.get(type(store.value)) if isinstance(store, s.BufferStore) else None
        if kind is None:
            raise CheckError(
                message(
                    "a kernel on pieces: a reduction over what is cut",
                    found=f"block {node.name_hint!r}",
                    legal="a sum, product, maximum or minimum as its only statement",
                )
            )
        return kind
    return None


class _Cutter(StmtExprMutator):
    """Gives buffers, loops and iterators their pieces."""

    def __init__(self, groups: AxisGroups, cuts: Mapping[object, int]) -> None:
        super().__init__()
        self._groups = groups
        self._cuts = cuts
        self._loops: dict[e.Var, int] = {}

    def local_buffer(self, buffer: Buffer) -> Buffer:
        """The buffer of one worker."""
        found = self.buffers.get(buffer)
        if found is not None:
            return found
        shape: list[PrimExpr] = []
        for dim, extent in enumerate(buffer.shape):
            workers = self._cuts.get(self._groups.find((buffer, dim)), 1)
            shape.append(_piece(extent, workers, buffer.name))
        new = buffer.with_changes(shape=tuple(shape))
        self.buffers[buffer] = new
        return new

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        return self.local_buffer(buffer)

    def collect_loops(self, body: s.Stmt) -> None:
        """Which loops run over one worker's pieces: those whose variable is such an iterator."""
        for node in walk(body):
            if not isinstance(node, s.BlockRealize):
                continue
            for it, value in zip(node.block.iter_vars, node.iter_values):
                workers = self._cuts.get(self._groups.find(it.var))
                if workers is None:
                    continue
                if not isinstance(value, e.Var):
                    raise CheckError(
                        message(
                            "a kernel on pieces: an iterator of what is cut",
                            found=f"{it.var.name} = {value}",
                            legal="a loop variable; cut kernels before they are scheduled",
                        )
                    )
                self._loops[value] = workers

    def visit_for_(self, op: s.For) -> s.Stmt:
        new = super().visit_for_(op)
        workers = self._loops.get(op.loop_var)
        if workers is None or not isinstance(new, s.For):
            return new
        extent = _piece(new.extent, workers, op.loop_var.name)
        return s.For(
            new.loop_var, new.min, extent, new.kind, new.body, new.thread_binding,
            new.annotations, new.span,
        )  # fmt: skip

    def visit_block_(self, op: s.Block) -> s.Stmt:
        new = super().visit_block_(op)
        if not isinstance(new, s.Block):
            return new
        iter_vars = []
        for it in new.iter_vars:
            workers = self._cuts.get(self._groups.find(it.var))
            if workers is None or it.dom is None:
                iter_vars.append(it)
                continue
            dom = Range.from_min_extent(it.dom.min, _piece(it.dom.extent, workers, it.var.name))
            iter_vars.append(e.IterVar(dom, it.var, it.iter_type, it.thread_tag, it.span))
        return s.Block(
            iter_vars, new.reads, new.writes, new.name_hint, new.body, new.init,
            new.alloc_buffers, new.match_buffers, new.annotations, new.span,
        )  # fmt: skip


def _piece(extent: PrimExpr, workers: int, name: str) -> PrimExpr:
    if workers == 1:
        return extent
    if not isinstance(extent, e.IntImm) or extent.value % workers:
        raise CheckError(
            message(
                f"a kernel on pieces: {name!r}",
                found=f"extent {extent} in {workers} pieces",
                legal="a known multiple of the number of workers",
            )
        )
    return e.IntImm(extent.dtype, extent.value // workers, extent.span)
