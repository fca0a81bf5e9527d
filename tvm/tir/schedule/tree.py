"""The srefs of a module's blocks and loops, kept in step with an immutable program.

Replacing one statement rebuilds the path from it to the function's root and nothing else; every
subtree that stays is shared, together with its srefs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tvm.error import CheckError
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.node import of_type, with_fields
from tvm.support.compiled import mypyc_attr
from tvm.tir.block_scope import BlockScope, StmtSRef
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.renew_defs import renew_defs
from tvm.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferRealize,
    DeclBuffer,
    For,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

ScopeStmt = Block | For
Undo = tuple[StmtSRef, ScopeStmt | None, StmtSRef | None, int]
Makers = tuple[tuple[Buffer, tuple[StmtSRef, ...]], ...]
WITH_BODY: Final = (
    LetStmt, AttrStmt, AssertStmt, Allocate, AllocateConst, DeclBuffer, BufferRealize, While,
)  # fmt: skip


def inner_stmts(stmt: Stmt) -> list[tuple[ScopeStmt, int]]:
    """The blocks and loops directly within `stmt`, each with its number in a sequence, or -1.

    A block's `init` holds no srefs: it is part of the block.
    """
    found: list[tuple[ScopeStmt, int]] = []
    start = stmt.body if isinstance(stmt, (Block, For)) else stmt
    stack: list[tuple[Stmt, int]] = [(start, -1)]
    while stack:
        current, index = stack.pop()
        if isinstance(current, BlockRealize):
            found.append((current.block, index))
        elif isinstance(current, (For, Block)):
            found.append((current, index))
        elif isinstance(current, SeqStmt):
            stack.extend([(part, i) for i, part in enumerate(current.seq)][::-1])
        elif isinstance(current, IfThenElse):
            if current.else_case is not None:
                stack.append((current.else_case, -1))
            stack.append((current.then_case, -1))
        elif isinstance(current, WITH_BODY):
            stack.append((current.body, -1))
    return found


def swap_stmt(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """`stmt` with `old`, which stands in it outside of inner blocks and loops, replaced."""
    if stmt is old:
        return new
    if isinstance(stmt, BlockRealize):
        if stmt.block is not old:
            return stmt
        if isinstance(new, Block):
            return BlockRealize(stmt.iter_values, stmt.predicate, new, stmt.span)
        return new
    if isinstance(stmt, SeqStmt):
        for i, part in enumerate(stmt.seq):
            changed = swap_stmt(part, old, new)
            if changed is not part:
                flat = SeqStmt.flatten(stmt.seq[:i], changed, stmt.seq[i + 1 :])
                return SeqStmt(flat.seq, stmt.span) if isinstance(flat, SeqStmt) else flat
        return stmt
    if isinstance(stmt, IfThenElse):
        other = None if stmt.else_case is None else swap_stmt(stmt.else_case, old, new)
        return with_fields(stmt, then_case=swap_stmt(stmt.then_case, old, new), else_case=other)
    if isinstance(stmt, WITH_BODY):
        return with_fields(stmt, body=swap_stmt(stmt.body, old, new))
    return stmt


def with_body(stmt: ScopeStmt, body: Stmt) -> ScopeStmt:
    """The same loop or block around another body."""
    if isinstance(stmt, For):
        return For(
            stmt.loop_var, stmt.min, stmt.extent, stmt.kind, body, stmt.thread_binding,
            stmt.annotations, stmt.span,
        )  # fmt: skip
    return Block(
        stmt.iter_vars, stmt.reads, stmt.writes, stmt.name_hint, body, stmt.init,
        stmt.alloc_buffers, stmt.match_buffers, stmt.annotations, stmt.span,
    )  # fmt: skip


@mypyc_attr(allow_interpreted_subclasses=True)
class SRefTree(Object):
    """A module with an sref for each block and loop of its scheduled functions."""

    __slots__ = ("_covered", "_facts", "_guarded", "_log", "_refs", "_roots", "_scopes", "mod")

    def __init__(self, mod: IRModule) -> None:
        self.mod: IRModule = mod
        self._refs: dict[Stmt, StmtSRef] = {}
        self._roots: dict[StmtSRef, GlobalVar] = {}
        self._scopes: dict[Stmt, BlockScope] = {}
        self._facts: dict[Stmt, dict[str, Any]] = {}  # of scopes; they go with the block
        self._covered: dict[StmtSRef, Makers] = {}
        self._guarded: set[StmtSRef] = set()
        # Undo records while a primitive runs: (sref, stmt, parent, seq_index), or a module.
        self._log: list[Undo | IRModule] | None = None
        renewed: dict[GlobalVar, PrimFunc] = {}
        for gvar, func in mod.functions.items():
            if not isinstance(func, PrimFunc) or not isinstance(func.body, BlockRealize):
                continue
            body: Stmt = func.body
            if func.body.block in self._refs:  # one function under two names
                renewed[gvar] = renew_defs(func)
                body = renewed[gvar].body
            assert isinstance(body, BlockRealize), "a copy is of the same form"
            self._roots[self._plant(body.block)] = gvar
        if renewed:
            self.mod = mod.with_functions({**mod.functions, **renewed})

    def _plant(self, root: Block) -> StmtSRef:
        """Make srefs for a whole function."""
        top = StmtSRef(root)
        self._refs[root] = top
        stack: list[StmtSRef] = [top]
        while stack:
            parent = stack.pop()
            assert parent.stmt is not None, "just made"
            for stmt, index in inner_stmts(parent.stmt):
                if stmt in self._refs:
                    raise CheckError(
                        "Schedule: one statement object occurs twice in the program; "
                        "legal: a tree in which each statement occurs once (renew one of the two)"
                    )
                sref = StmtSRef(stmt, parent, index)
                self._refs[stmt] = sref
                stack.append(sref)
        return top

    # --- questions ---

    def get_sref(self, stmt: Stmt) -> StmtSRef:
        """The sref of a block or loop of the current program."""
        if not isinstance(stmt, (Block, For)):
            found = type(stmt).__name__
            raise TypeError(f"get_sref: the statement is a {found}; legal: Block, For")
        sref = self._refs.get(stmt)
        if sref is None:
            what = stmt.name_hint if isinstance(stmt, Block) else stmt.loop_var.name
            raise CheckError(
                f"get_sref: the {type(stmt).__name__} {what!r} is not part of the scheduled module "
                "(any more); legal: blocks and loops of `state.mod`"
            )
        return sref

    def loops_of_vars(self, top: Stmt, loop_vars: Sequence[Var]) -> list[StmtSRef]:
        """The srefs of the loops with some variables, all within `top`."""
        wanted = set(loop_vars)
        found: dict[Var, StmtSRef] = {}
        stack: list[Stmt] = [top]
        while stack and len(found) < len(loop_vars):
            stmt = stack.pop()
            if isinstance(stmt, For) and stmt.loop_var in wanted:
                found[stmt.loop_var] = self._refs[stmt]
            if not isinstance(stmt, Block):
                stack.extend([inner for inner, _ in inner_stmts(stmt)][::-1])
        return [found[var] for var in loop_vars]

    def root_of(self, sref: StmtSRef) -> StmtSRef:
        """The root block of the function that `sref` stands in."""
        while sref.parent is not None:
            sref = sref.parent
        return sref

    def roots(self) -> Iterator[tuple[GlobalVar, StmtSRef]]:
        """The scheduled functions with their root blocks."""
        for root, gvar in self._roots.items():
            yield gvar, root

    def function_of(self, sref: StmtSRef) -> PrimFunc:
        """The function that `sref` stands in."""
        func = self.mod.functions[self._roots[self.root_of(sref)]]
        assert isinstance(func, PrimFunc), "only TIR functions have srefs"
        return func

    def get_block_scope(self, block_sref: StmtSRef) -> BlockScope:
        """The dependencies among the blocks directly in a block."""
        block = block_sref.stmt
        if not isinstance(block, Block):
            raise TypeError("get_block_scope: the sref is not that of a block")
        scope = self._scopes.get(block)
        if scope is None:
            scope = BlockScope(self.child_blocks(block_sref))
            self._scopes[block] = scope
        return scope

    def facts(self, stmt: Stmt) -> dict[str, Any]:
        """A memo for what was found out about a statement; dropped when the statement changes."""
        return self._facts.setdefault(stmt, {})

    def covered_by(self, sref: StmtSRef) -> Makers | None:
        """The blocks that were found to write all that a block reads, by buffer; or None.

        Primitives move and divide these blocks in such a way that they still do.
        """
        return self._covered.get(sref)

    def set_covered_by(self, sref: StmtSRef, makers: Makers) -> None:
        """Note that these blocks write all that a block reads."""
        self._covered[sref] = makers

    def is_guarded(self, sref: StmtSRef) -> bool:
        """True for partial sums that add their start where the whole sum adds nothing."""
        return sref in self._guarded

    def set_guarded(self, sref: StmtSRef) -> None:
        """Note that a block of partial sums has a condition of the whole sum in its value."""
        self._guarded.add(sref)

    def child_blocks(self, sref: StmtSRef) -> list[StmtSRef]:
        """The blocks below an sref that are in no block further down, in order."""
        assert sref.stmt is not None, "the sref is gone"
        found: list[StmtSRef] = []
        stack: list[ScopeStmt] = [stmt for stmt, _ in inner_stmts(sref.stmt)][::-1]
        while stack:
            stmt = stack.pop()
            if isinstance(stmt, Block):
                found.append(self._refs[stmt])
            else:
                stack.extend([inner for inner, _ in inner_stmts(stmt)][::-1])
        return found

    # --- changes ---

    def replace(
        self,
        src_sref: StmtSRef,
        tgt_stmt: Stmt,
        block_sref_reuse: Mapping[Block, Block] | None = None,
    ) -> None:
        """Let `tgt_stmt` stand at `src_sref`.

        Loops that keep their variable keep their sref; so do blocks that `block_sref_reuse` maps
        to their new form, and all subtrees that are still the same objects. All others are gone.
        """
        old = of_type(src_sref, StmtSRef, "replace: src_sref").stmt
        if not isinstance(tgt_stmt, (Block, BlockRealize, For)):
            raise TypeError(
                f"replace: tgt_stmt is a {type(tgt_stmt).__name__}; legal: Block, BlockRealize, For"
            )
        if old is None:
            raise CheckError("replace: the sref is gone, an earlier change removed its statement")
        if old is tgt_stmt:
            return
        reuse = {new: before for before, new in (block_sref_reuse or {}).items()}
        parent = src_sref.parent
        is_block_root = parent is None
        if is_block_root and not isinstance(tgt_stmt, Block):
            raise CheckError("replace: the root block of a function can only become another block")
        kept = self._shared(tgt_stmt)
        dropped = self._take_out(old, kept)
        top = self._put_in(tgt_stmt, parent, src_sref.seq_index, dropped, reuse)
        for sref in dropped.values():
            self._set(sref, None, None, -1)
        if is_block_root:
            assert top is not None, "a block has an sref"
            if top is not src_sref:
                self._roots[top] = self._roots.pop(src_sref)
        self._rebuild_path(old, tgt_stmt, parent, top)

    def _shared(self, tgt: Stmt) -> set[Stmt]:
        """The largest subtrees of the new statement that have srefs already."""
        kept: set[Stmt] = set()
        whole = isinstance(tgt, (Block, For))
        stack: list[Stmt] = [tgt] if whole else [stmt for stmt, _ in inner_stmts(tgt)]
        while stack:
            stmt = stack.pop()
            if stmt in self._refs:
                kept.add(stmt)
            else:
                stack.extend([inner for inner, _ in inner_stmts(stmt)])
        return kept

    def _take_out(self, old: ScopeStmt, kept: set[Stmt]) -> dict[Var | Block, StmtSRef]:
        """The srefs of the old statement outside of what is kept, by loop variable or block."""
        found: dict[Var | Block, StmtSRef] = {}
        stack: list[ScopeStmt] = [old]
        while stack:
            stmt = stack.pop()
            if stmt in kept:
                continue
            found[stmt.loop_var if isinstance(stmt, For) else stmt] = self._refs[stmt]
            stack.extend([inner for inner, _ in inner_stmts(stmt)])
        return found

    def _put_in(
        self,
        tgt: Stmt,
        parent: StmtSRef | None,
        seq_index: int,
        dropped: dict[Var | Block, StmtSRef],
        reuse: Mapping[Block, Block],
    ) -> StmtSRef | None:
        """Give every new statement its old sref or a fresh one; returns that of `tgt` itself."""
        whole = isinstance(tgt, (Block, For))
        first = [(tgt, seq_index)] if whole else inner_stmts(tgt)
        stack: list[tuple[ScopeStmt, int, StmtSRef | None]] = [
            (stmt, i, parent) for stmt, i in first if isinstance(stmt, (Block, For))
        ]
        top: StmtSRef | None = None
        while stack:
            stmt, index, around = stack.pop()
            known = self._refs.get(stmt)
            if known is not None:
                self._set(known, stmt, around, index)
                sref = known
            else:
                key = stmt.loop_var if isinstance(stmt, For) else reuse.get(stmt, stmt)
                sref = dropped.pop(key) if key in dropped else StmtSRef(None)
                self._set(sref, stmt, around, index)
                stack.extend([(inner, i, sref) for inner, i in inner_stmts(stmt)])
            if stmt is tgt:
                top = sref
        return top

    def _rebuild_path(
        self, old: Stmt, new: Stmt, parent: StmtSRef | None, top: StmtSRef | None
    ) -> None:
        """Rebuild all statements around `old`, up to the function."""
        child, last = parent, top
        first = True
        while child is not None:
            outer = child.stmt
            assert outer is not None, "a parent stands in the program"
            rebuilt = with_body(outer, swap_stmt(outer.body, old, new))
            self._set(child, rebuilt, child.parent, child.seq_index)
            if first:  # the sequence around the change may have grown or shrunk
                for stmt, index in inner_stmts(rebuilt):
                    sref = self._refs[stmt]
                    if sref.seq_index != index:
                        self._set(sref, stmt, child, index)
                first = False
            old, new, last, child = outer, rebuilt, child, child.parent
        assert last is not None, "the way up ends at the root block"
        assert isinstance(new, Block), "the way up ends at the root block"
        gvar = self._roots[last]
        func = self.mod.functions[gvar]
        assert isinstance(func, PrimFunc), "only TIR functions are scheduled"
        assert isinstance(func.body, BlockRealize), "the root block is realized"
        realize = BlockRealize(func.body.iter_values, func.body.predicate, new, func.body.span)
        functions = {**self.mod.functions, gvar: func.with_body(realize)}
        self._set_mod(self.mod.with_functions(functions))

    def set_function(self, root: StmtSRef, func: PrimFunc) -> None:
        """Replace the function around the same root block: its attributes or buffers changed."""
        gvar = self._roots[root]
        self._set_mod(self.mod.with_functions({**self.mod.functions, gvar: func}))

    def _set(
        self, sref: StmtSRef, stmt: ScopeStmt | None, parent: StmtSRef | None, seq_index: int
    ) -> None:
        before = sref.stmt
        if self._log is not None:
            self._log.append((sref, before, sref.parent, sref.seq_index))
        if before is not stmt:
            if before is not None and self._refs.get(before) is sref:
                del self._refs[before]
                self._scopes.pop(before, None)
                self._facts.pop(before, None)
            if stmt is not None:
                self._refs[stmt] = sref
        sref.move(stmt, parent, seq_index)

    def _set_mod(self, mod: IRModule) -> None:
        if self._log is not None:
            self._log.append(self.mod)
        self.mod = mod

    # --- all or nothing ---

    def begin(self) -> None:
        """Keep what `undo` needs from now on."""
        self._log = []

    def commit(self) -> None:
        """The changes since `begin` stay."""
        self._log = None

    def undo(self) -> None:
        """Take back all changes since `begin`."""
        log = self._log or []
        self._log = None
        for entry in log[::-1]:
            if isinstance(entry, IRModule):
                self.mod = entry
            else:
                self._set(*entry)
        self._find_roots()
        self._scopes.clear()
        self._facts.clear()

    def _find_roots(self) -> None:
        gvars = {gvar: f for gvar, f in self.mod.functions.items() if isinstance(f, PrimFunc)}
        self._roots = {
            self._refs[func.body.block]: gvar
            for gvar, func in gvars.items()
            if isinstance(func.body, BlockRealize)
        }

    def fork(self, other: SRefTree) -> dict[StmtSRef, StmtSRef]:
        """Make `other` an independent copy; returns the copy of each sref."""
        copies = {sref: StmtSRef(sref.stmt, None, sref.seq_index) for sref in self._refs.values()}
        for sref, copy in copies.items():
            parent = None if sref.parent is None else copies[sref.parent]
            copy.move(sref.stmt, parent, sref.seq_index)
        other.mod = self.mod
        other._refs = {stmt: copies[sref] for stmt, sref in self._refs.items()}
        other._roots = {copies[root]: gvar for root, gvar in self._roots.items()}
        other._scopes = {}
        other._facts = {}
        other._covered = {
            copies[sref]: tuple(
                (buffer, tuple(copies[maker] for maker in several)) for buffer, several in makers
            )
            for sref, makers in self._covered.items()
            if sref.stmt is not None and all(m in copies for _, ms in makers for m in ms)
        }
        other._guarded = {copies[sref] for sref in self._guarded if sref in copies}
        other._log = None
        return copies
