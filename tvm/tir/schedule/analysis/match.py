"""Whether a part of a program computes what a description says, over regions of its buffers."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.structural import structural_equal
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BinaryOpExpr, BufferLoad, CmpExpr, Var
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.op.arith import match_types
from tvm.tir.schedule.error import Illegal, name_of
from tvm.tir.stmt import Block, BlockRealize, BufferRegion, BufferStore, For, SeqStmt, Stmt


class DescMatcher:
    """Compares a block with the root block of a description, up to variables and buffers.

    Each buffer of the description stands for one region that the block says it accesses; `regions`
    holds the regions found.
    """

    def __init__(self, desc: Block, block: Block, analyzer: Analyzer) -> None:
        self._desc, self._block, self._analyzer = desc, block, analyzer
        self._vars: dict[Var, PrimExpr] = {}
        self.regions: dict[Buffer, BufferRegion] = {}

    def run(self) -> None:
        """Find the regions; refused at the first difference."""
        for what, part in (("allocates", "alloc_buffers"), ("matches", "match_buffers")):
            if getattr(self._block, part) or getattr(self._desc, part):
                raise self._differ(f"one of them {what} buffers", self._block)
        self._require_same_init(self._desc, self._block)
        self._stmt(self._desc.body, self._block.body)
        self._require_distinct()

    def _require_same_init(self, desc: Block, block: Block) -> None:
        """An init of the whole block may stay in it; any other one has to be described."""
        if desc.init is None and (block.init is None or block is self._block):
            return
        if desc.init is None or block.init is None:
            raise self._differ(f"only one of them has an init ({name_of(block)})", block)
        self._stmt(desc.init, block.init)

    def _differ(self, found: str, spot: Stmt) -> Illegal:
        return Illegal(
            f"block {self._block.name_hint!r} does not compute what the intrinsic does: {found}",
            legal="a block whose loops, bindings and stores are those of the intrinsic's desc, up "
            "to names (decompose_reduction takes an init out)",
            spots=[spot],
            fast="The statement does not match the description of the tensor intrinsic",
        )

    def _stmt(self, desc: Stmt, stmt: Stmt) -> None:
        if isinstance(desc, For) and isinstance(stmt, For):
            self._loop(desc, stmt)
        elif isinstance(desc, BlockRealize) and isinstance(stmt, BlockRealize):
            self._realize(desc, stmt)
        elif isinstance(desc, SeqStmt) and isinstance(stmt, SeqStmt):
            if len(desc.seq) != len(stmt.seq):
                raise self._differ(f"{len(stmt.seq)} statements for {len(desc.seq)}", stmt)
            for a, b in zip(desc.seq, stmt.seq):
                self._stmt(a, b)
        elif isinstance(desc, BufferStore) and isinstance(stmt, BufferStore):
            self._store(desc, stmt)
        else:
            kinds = f"a {type(stmt).__name__} where desc has a {type(desc).__name__}"
            raise self._differ(kinds, stmt if isinstance(stmt, (For, Block)) else self._block)

    def _loop(self, desc: For, loop: For) -> None:
        same = self._equal(desc.min, loop.min) and self._equal(desc.extent, loop.extent)
        if not same or desc.kind is not loop.kind or loop.thread_binding is not None:
            raise self._differ(
                f"{name_of(loop)} runs {loop.extent} times ({loop.kind.name.lower()}), "
                f"{name_of(desc)} of desc {desc.extent} times ({desc.kind.name.lower()})",
                loop,
            )
        self._vars[desc.loop_var] = loop.loop_var
        self._stmt(desc.body, loop.body)

    def _realize(self, desc: BlockRealize, realize: BlockRealize) -> None:
        a, b = desc.block, realize.block
        if len(a.iter_vars) != len(b.iter_vars):
            raise self._differ(
                f"{len(b.iter_vars)} variables of {name_of(b)} for {len(a.iter_vars)} of desc", b
            )
        if a.alloc_buffers or b.alloc_buffers or a.match_buffers or b.match_buffers:
            raise self._differ(f"{name_of(b)} allocates or matches buffers", b)
        for x, y, u, v in zip(a.iter_vars, b.iter_vars, desc.iter_values, realize.iter_values):
            same = x.iter_type == y.iter_type and self._equal(u, v)
            if x.dom is not None and y.dom is not None:
                same = same and self._equal(x.dom.min, y.dom.min)
                same = same and self._equal(x.dom.extent, y.dom.extent)
            if not same:
                raise self._differ(
                    f"the variable {y.var.name!r} is bound to {v}, {x.var.name!r} of desc to {u}, "
                    "or their kinds or domains differ",
                    b,
                )
        if not self._equal(desc.predicate, realize.predicate):
            found = f"{name_of(b)} runs where {realize.predicate}, in desc where {desc.predicate}"
            raise self._differ(found, b)
        for x, y in zip(a.iter_vars, b.iter_vars):
            self._vars[x.var] = y.var
            if y.dom is not None:
                self._analyzer.bind(y.var, y.dom)
        self._require_same_init(a, b)
        self._stmt(a.body, b.body)

    def _store(self, desc: BufferStore, store: BufferStore) -> None:
        if desc.predicate is not None or store.predicate is not None:
            raise self._differ("a store has a predicate", self._block)
        self._access(desc.buffer, desc.indices, store.buffer, store.indices, written=True)
        theirs = [n for n in walk(desc.value) if isinstance(n, BufferLoad)]
        ours = [n for n in walk(store.value) if isinstance(n, BufferLoad)]
        if len(theirs) != len(ours):
            raise self._differ(f"{store.value} is stored, by desc {desc.value}", self._block)
        for a, b in zip(theirs, ours):
            self._access(a.buffer, a.indices, b.buffer, b.indices, written=False)
        renamed = _Renamer(dict(zip(theirs, ours)), self._vars).visit_expr(desc.value)
        # indices that matter as numbers (bits of a word, say) may be simpler in the block
        simplify = self._analyzer.simplify
        if not expr_deep_equal(renamed, store.value) and not expr_deep_equal(
            simplify(renamed), simplify(store.value)
        ):
            raise self._differ(f"{store.value} is stored, by desc {desc.value}", self._block)

    def _access(
        self,
        desc: Buffer,
        wanted: Sequence[PrimExpr],
        buffer: Buffer,
        indices: Sequence[PrimExpr],
        *,
        written: bool,
    ) -> None:
        """Both accesses are the same element of the regions that the buffers stand for."""
        known = self.regions.get(desc)
        regions = self._block.writes if written else (*self._block.reads, *self._block.writes)
        tried = [known] if known is not None else [r for r in regions if r.buffer is buffer]
        own = [r for r in (*self._desc.reads, *self._desc.writes) if r.buffer is desc]
        for region in tried:
            if region.buffer is buffer and own and self._fits(own[0], wanted, region, indices):
                self.regions[desc] = region
                return
        raise self._differ(
            f"{buffer.name}[{', '.join([str(i) for i in indices])}] is accessed, by desc "
            f"{desc.name}[{', '.join([str(i) for i in wanted])}] of another region, type or memory",
            self._block,
        )

    def _fits(
        self,
        own: BufferRegion,
        wanted: Sequence[PrimExpr],
        region: BufferRegion,
        indices: Sequence[PrimExpr],
    ) -> bool:
        a, b = own.buffer, region.buffer
        lead = len(region.region) - len(own.region)
        if a.dtype is not b.dtype or a.scope() != b.scope() or lead < 0:
            return False
        for part, index in zip(region.region[:lead], indices[:lead]):
            if not (self._equal(part.extent, 1) and self._equal(part.min, index)):
                return False
        inner_dims = zip(own.region, wanted, region.region[lead:], indices[lead:])
        return all(
            self._equal(mine.extent, part.extent)
            and self._equal(at - mine.min, index - part.min)
            for mine, at, part, index in inner_dims
        )

    def _equal(self, desc: PrimExpr, other: PrimExpr | int) -> bool:
        mapped = _Renamer({}, self._vars).visit_expr(desc)
        if structural_equal(mapped, other):
            return True
        return mapped.dtype.is_integer and self._analyzer.can_prove_equal(mapped, other)

    def _require_distinct(self) -> None:
        """A buffer that is written stands for memory that no other buffer of desc stands for."""
        written = {w.buffer for w in self._desc.writes}
        for a, x in self.regions.items():
            for b, y in self.regions.items():
                if a is not b and a in written and x.buffer is y.buffer:
                    found = f"{a.name!r} and {b.name!r} of desc would both be {x.buffer.name!r}"
                    raise self._differ(found, self._block)


class _Renamer(StmtExprMutator):
    """Replaces a description's loads and variables by the program's, whose indices may be wider."""

    def __init__(
        self, loads: dict[BufferLoad, BufferLoad], names: dict[Var, PrimExpr]
    ) -> None:
        super().__init__()
        self._loads, self._names = loads, names

    def visit_buffer_load_(self, op: BufferLoad) -> PrimExpr:
        return self._loads[op]

    def visit_var_(self, op: Var) -> PrimExpr:
        return self._names.get(op, op)

    def visit_binary_(self, op: BinaryOpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else type(op)(*match_types(a, b), op.span)

    def visit_cmp_(self, op: CmpExpr) -> PrimExpr:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return op if a is op.a and b is op.b else type(op)(*match_types(a, b), op.span)
