"""Whether a program keeps the rules that passes rely on: variables defined, once, in scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tvm.error import CheckError
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.support.arguments import explained
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprVisitor


class IllFormedError(CheckError, ValueError):
    """A program that breaks a rule of the language."""


@explained
def verify_well_formed(obj: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """True when each function is well-formed.

    An ill-formed program raises an IllFormedError that says where, or gives False without
    `assert_mode`. Checked: variables are defined before use, in scope, and once; blocks with
    iteration variables do not use the loop variables around them; a variable of a
    thread belongs to one function.
    """
    if isinstance(obj, PrimFunc):
        fault = _fault_of_func(obj, "func", {}, {})
    elif isinstance(obj, IRModule):
        fault = _fault_of_module(obj)
    else:
        raise TypeError(
            f"verify_well_formed: found a {type(obj).__name__}; legal: a PrimFunc or an IRModule"
        )
    if fault is None:
        return True
    if assert_mode:
        raise IllFormedError(fault)
    return False


def _fault_of_module(mod: IRModule) -> str | None:
    defined: dict[e.Var, str] = {}
    threads: dict[e.Var, str] = {}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            fault = _fault_of_func(func, var.name_hint, defined, threads)
            if fault is not None:
                return fault
    return None


def _fault_of_func(
    func: PrimFunc, name: str, defined: dict[e.Var, str], threads: dict[e.Var, str]
) -> str | None:
    verifier = _Verifier(name, defined, threads)
    try:
        verifier.visit_func(func)
        _BlockVerifier().visit_stmt(func.body)
    except _Fault as fault:
        return str(fault)
    return None


class _Fault(Exception):
    """The first broken rule."""


class _Verifier(StmtExprVisitor):
    """Definitions and uses; `where` is the path to the current statement."""

    def __init__(self, name: str, defined: dict[e.Var, str], threads: dict[e.Var, str]) -> None:
        super().__init__()
        self._path: list[str] = [name]
        self._defined = defined  # where each variable was first defined, in all functions
        self._scope: dict[e.Var, str] = {}
        self._threads = threads  # the function that each variable of a thread belongs to

    @property
    def _where(self) -> str:
        return ".".join(self._path)

    @contextmanager
    def _at(self, part: str) -> Iterator[None]:
        self._path.append(part)
        yield
        self._path.pop()

    # --- definitions ---

    def _define(self, var: e.Var, again: bool = False) -> None:
        if var in self._scope:
            raise _Fault(
                f"TIR is ill-formed, due to multiple nested definitions of variable {var.name}. "
                f"It was first defined at {self._scope[var]}, and was re-defined at {self._where}"
            )
        if var in self._defined and not again:
            raise _Fault(
                f"TIR is ill-formed, due to multiple definitions of variable {var.name}. "
                f"It was first defined at {self._defined[var]}, and was re-defined at {self._where}"
            )
        self._defined[var] = self._where
        self._scope[var] = self._where

    def _define_free(self, expr: PrimExpr) -> None:
        """A symbolic extent of a parameter defines its variable where it first stands alone."""
        if isinstance(expr, e.Var) and expr not in self._scope:
            self._define(expr)

    @contextmanager
    def _defining(self, *variables: e.Var, again: bool = False) -> Iterator[None]:
        for var in variables:
            self._define(var, again)
        yield
        for var in variables:
            self._scope.pop(var, None)

    def visit_func(self, func: PrimFunc) -> None:
        """A whole function."""
        outer = dict(self._scope)
        for param in func.params:
            self._define(param)
        buffers = list(func.buffer_map.values())
        for buffer in buffers:
            self._define_free(buffer.data)
        for buffer in buffers:
            for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
                self._define_free(part)
        for buffer in buffers:
            with self._at(f"buffer_map[{buffer.name}]"):
                self._use_buffer(buffer)
        with self._at("body"):
            self.visit_stmt(func.body)
        self._scope = outer

    # --- uses ---

    def visit_var_(self, op: e.Var) -> None:
        if op in self._scope:
            return
        known = self._defined.get(op)
        tail = "" if known is None else f". It was defined at {known}, and is no longer in-scope."
        raise _Fault(f"Invalid use of undefined variable {op.name} at {self._where}{tail}")

    def _use_buffer(self, buffer: Buffer) -> None:
        self.visit_expr(buffer.data)
        for part in (*buffer.shape, *buffer.strides, buffer.elem_offset):
            self.visit_expr(part)

    def visit_buffer_use(self, buffer: Buffer) -> None:
        self.visit_expr(buffer.data)

    # --- scopes ---

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        with self._at(f"for {op.loop_var.name}"), self._defining(op.loop_var):
            self.visit_stmt(op.body)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        with self._at(f"let {op.var.name}"), self._defining(op.var):
            self.visit_stmt(op.body)

    def visit_let_(self, op: e.Let) -> None:
        self.visit_expr(op.value)
        with self._at(f"let {op.var.name}"), self._defining(op.var):
            self.visit_expr(op.body)

    def visit_allocate_(self, op: s.Allocate) -> None:
        self.visit_exprs(op.extents)
        self.visit_expr(op.condition)
        with self._at(f"allocate {op.buffer_var.name}"), self._defining(op.buffer_var):
            self.visit_stmt(op.body)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        with self._at(f"allocate {op.buffer_var.name}"), self._defining(op.buffer_var):
            self.visit_stmt(op.body)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> None:
        with self._at(f"decl_buffer {op.buffer.name}"):
            self._use_buffer(op.buffer)
            self.visit_stmt(op.body)

    def visit_buffer_realize_(self, op: s.BufferRealize) -> None:
        """A buffer of a region is there in its body, with what of its offset is not known yet."""
        outer = dict(self._scope)
        for part in op.bounds:
            self.visit_range(part)
        self.visit_expr(op.condition)
        with self._at(f"realize {op.buffer.name}"):
            for expr in (op.buffer.data, op.buffer.elem_offset):
                self._define_free(expr)
            self._use_buffer(op.buffer)
            self.visit_stmt(op.body)
        self._scope = outer

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if isinstance(op.node, e.IterVar) and op.attr_key in ("thread_extent", "virtual_thread"):
            var = op.node.var
            if var in self._scope:
                self.visit_stmt(op.body)
                return
            # one function may launch a variable more than once, but it belongs to that function
            first = self._threads.setdefault(var, self._path[0])
            again = first == self._path[0]
            with self._at(f"attr {op.attr_key}"), self._defining(var, again=again):
                self.visit_stmt(op.body)
            return
        node = op.node
        if op.attr_key == "buffer_bind_scope" and isinstance(node, (tuple, list)):
            self._visit_bound(op, *node)
            return
        if isinstance(op.node, PrimExpr):
            self.visit_expr(op.node)
        self.visit_stmt(op.body)

    def _visit_bound(self, op: s.AttrStmt, view: Buffer, source: Buffer) -> None:
        """A view of a region defines itself, and what of its shape and offset is not known yet."""
        outer = dict(self._scope)
        self.visit_buffer_use(source)
        with self._at(f"attr {op.attr_key}"):
            for part in (view.data, *view.shape, *view.strides, view.elem_offset):
                self._define_free(part)
            self.visit_stmt(op.body)
        self._scope = outer

    def visit_reduce_(self, op: e.Reduce) -> None:
        for axis in op.axis:
            if isinstance(axis.dom, Range):
                self.visit_range(axis.dom)
        combiner = op.combiner
        with self._defining(*combiner.lhs, *combiner.rhs, again=True):
            self.visit_exprs(combiner.result)
        self.visit_exprs(op.init)
        with self._defining(*[axis.var for axis in op.axis], again=True):
            self.visit_exprs(op.source)
            self.visit_expr(op.condition)

    def visit_block_(self, op: s.Block) -> None:
        for axis in op.iter_vars:
            if isinstance(axis.dom, Range):
                self.visit_range(axis.dom)
        outer = dict(self._scope)
        with self._at(f"block {op.name_hint}"):
            for axis in op.iter_vars:
                self._define(axis.var)
            for buffer in op.alloc_buffers:
                self.visit_exprs(buffer.shape)
                self._define(buffer.data)
            for match in op.match_buffers:
                self.visit_region(match.source)
                self._define_free(match.buffer.data)
                for part in (*match.buffer.strides, match.buffer.elem_offset):
                    self._define_free(part)
            self._visit_block_parts(op)
        self._scope = outer

    def _visit_block_parts(self, op: s.Block) -> None:
        for region in (*op.reads, *op.writes):
            self.visit_region(region)
        if op.init is not None:
            self.visit_stmt(op.init)
        self.visit_stmt(op.body)


class _BlockVerifier(StmtExprVisitor):
    """A block with iteration variables sees the loops around it only through their values."""

    def __init__(self) -> None:
        super().__init__()
        self._loops: dict[e.Var, int] = {}  # loop variables, with the depth of blocks around them
        self._blocks: list[s.Block] = []

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        self._loops[op.loop_var] = len(self._blocks)
        self.visit_stmt(op.body)
        del self._loops[op.loop_var]

    def visit_var_(self, op: e.Var) -> None:
        depth = self._loops.get(op)
        if depth is not None and depth < len(self._blocks):
            block = self._blocks[-1]
            raise _Fault(
                f"Well-formedness check failed: Loop iterator var {op.name} is defined outside of "
                f"block {block.name_hint}, but is used inside the non-opaque current block; legal: "
                "the block's own iteration variables"
            )

    def visit_block_(self, op: s.Block) -> None:
        opaque = not op.iter_vars
        parts: Sequence[s.Stmt] = [op.body] if op.init is None else [op.init, op.body]
        if opaque:
            for part in parts:
                self.visit_stmt(part)
            return
        self._blocks.append(op)
        for region in (*op.reads, *op.writes):
            self.visit_region(region)
        for part in parts:
            self.visit_stmt(part)
        self._blocks.pop()
