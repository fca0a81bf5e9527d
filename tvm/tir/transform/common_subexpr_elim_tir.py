"""Index arithmetic that occurs several times is computed once.

    for j in range(4):                        for j in range(4):
        B[i * 16 + j * 4] = 0                     cse_v1 = i * 16 + j * 4
        B[i * 16 + j * 4 + 1] = 1      ->         B[cse_v1] = 0
                                                  B[cse_v1 + 1] = 1

The name stands right inside the innermost loop or let that binds one of its variables, so what a
loop does not change is also computed outside of it. Only scalar integer arithmetic that reads no
memory and cannot fail is shared; what a block's variables are in stays as it is.
"""

from __future__ import annotations

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor, vars_in
from tvm.tir.op import arith as ops

from .pass_form import tir_pass
from .simplifier import Simplifier

Key = tuple[object, ...]
_SHAREABLE = (e.Add, e.Sub, e.Mul, e.Min, e.Max)
_DIVISIONS = (e.FloorDiv, e.FloorMod, e.Div, e.Mod)


@tir_pass("tir.CommonSubexprElimTIR")
def CommonSubexprElimTIR(
    func: PrimFunc,
    mod: IRModule,
    ctx: PassContext,
    enable_cse_tir: bool = True,
    identify_equiv_terms: bool = False,
) -> PrimFunc:
    """No index arithmetic occurs twice where one variable could hold its value."""
    if not enable_cse_tir:
        return func
    body = Simplifier(func).visit_stmt(func.body) if identify_equiv_terms else func.body
    finder = _Finder()
    finder.visit_stmt(body)
    if not any(term.uses > 1 for term in finder.terms.values()):
        return func.with_body(body)
    return func.with_body(_Namer(finder).body(finder.root, body))


class _Scope:
    """The body of what binds a variable; the terms to be named in it."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.terms: list[_Term] = []


class _Term:
    """An expression as it occurs anywhere: its scope and the number of its users."""

    def __init__(self, expr: PrimExpr, number: int, scope: _Scope) -> None:
        self.expr = expr
        self.number = number
        self.scope = scope
        self.uses = 0
        self.var: e.Var | None = None


class _Finder(StmtExprVisitor):
    """Numbers terms so that equal ones get one number, and counts who uses them."""

    def __init__(self) -> None:
        super().__init__()
        self.root = _Scope(0)
        self.scopes: dict[s.Stmt, _Scope] = {}
        self.terms: dict[Key, _Term] = {}
        self.term_of: dict[int, _Term] = {}  # by identity of the expression, see `_kept`
        self._kept: list[PrimExpr] = []
        self._scope_of: dict[e.Var, _Scope] = {}
        self._hidden: set[e.Var] = set()
        self._depth_now = 0

    # --- scopes ---

    def _open(self, stmt: s.Stmt, var: e.Var, body: s.Stmt) -> None:
        self._depth_now += 1
        scope = _Scope(self._depth_now)
        self.scopes[stmt] = scope
        self._scope_of[var] = scope
        self.visit_stmt(body)
        self._depth_now -= 1

    def visit_for_(self, op: s.For) -> None:
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        self._open(op, op.loop_var, op.body)

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        self.visit_expr(op.value)
        self._open(op, op.var, op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        self.visit_expr(op.value)
        if isinstance(op.node, e.IterVar):
            self._open(op, op.node.var, op.body)
        else:
            self.visit_stmt(op.body)

    def visit_let_(self, op: e.Let) -> None:
        self.visit_expr(op.value)
        self._hidden.add(op.var)  # no statement can stand inside an expression
        self.visit_expr(op.body)

    def visit_block_(self, op: s.Block) -> None:
        # what a block says of its regions stands before its body, where a name could be given
        self._hidden.update(iter_var.var for iter_var in op.iter_vars)
        for match in op.match_buffers:
            bound = match.buffer
            for part in (*bound.shape, *bound.strides, bound.elem_offset):
                self._hidden.update(vars_in(part))
        super().visit_block_(op)

    # --- terms ---

    def visit_expr(self, expr: PrimExpr) -> None:
        if isinstance(expr, e.BinaryOpExpr) and expr.dtype.is_int and expr.dtype.is_scalar:
            term = self._term(expr)
            if term is not None:
                term.uses += 1
                return
        super().visit_expr(expr)

    def visit_binary_(self, op: e.BinaryOpExpr) -> None:
        # an expression that cannot be shared may have parts that can
        self.visit_expr(op.a)
        self.visit_expr(op.b)

    def _term(self, expr: PrimExpr) -> _Term | None:
        """The term of an expression and of all its parts; None where it cannot be shared."""
        todo: list[tuple[PrimExpr, bool]] = [(expr, False)]
        while todo:
            node, ready = todo.pop()
            if id(node) in self.term_of or isinstance(node, e.IntImm):
                continue
            if isinstance(node, e.Var):
                if node in self._hidden:
                    return None
                continue
            if not _can_be_shared(node):
                return None
            assert isinstance(node, e.BinaryOpExpr), "only arithmetic is shared"
            if ready:
                self._enter(node)
            else:
                todo += [(node, True), (node.b, False), (node.a, False)]
        return self.term_of.get(id(expr))

    def _enter(self, node: e.BinaryOpExpr) -> None:
        scope = max(self._scope(node.a), self._scope(node.b), key=lambda x: x.depth)
        key = (type(node), node.dtype, self._name(node.a), self._name(node.b))
        term = self.terms.get(key)
        if term is None:
            term = _Term(node, len(self.terms), scope)
            self.terms[key] = term
            scope.terms.append(term)
            for part in (node.a, node.b):
                inner = self.term_of.get(id(part))
                if inner is not None:
                    inner.uses += 1
        self.term_of[id(node)] = term
        self._kept.append(node)

    def _scope(self, node: PrimExpr) -> _Scope:
        term = self.term_of.get(id(node))
        if term is not None:
            return term.scope
        return self._scope_of.get(node, self.root) if isinstance(node, e.Var) else self.root

    def _name(self, node: PrimExpr) -> object:
        term = self.term_of.get(id(node))
        if term is not None:
            return term.number
        return ("=", node.value) if isinstance(node, e.IntImm) else node


def _can_be_shared(node: PrimExpr) -> bool:
    if isinstance(node, _DIVISIONS):
        return ops.literal(node.b) not in (None, 0)
    return isinstance(node, _SHAREABLE)


class _Namer(StmtExprMutator):
    def __init__(self, finder: _Finder) -> None:
        super().__init__()
        self._finder = finder
        self._count = 0

    def body(self, scope: _Scope, body: s.Stmt) -> s.Stmt:
        """A scope's body inside the bindings of the terms that it uses several times."""
        named: list[tuple[e.Var, PrimExpr]] = []
        for term in scope.terms:
            if term.uses > 1:
                self._count += 1
                value = self._rebuilt(term.expr)
                term.var = e.Var(f"cse_v{self._count}", term.expr.dtype, term.expr.span)
                named.append((term.var, value))
        new = self.visit_stmt(body)
        for var, value in reversed(named):
            new = s.LetStmt(var, value, new, body.span)
        return new

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        term = self._finder.term_of.get(id(expr))
        if term is not None and term.var is not None:
            return term.var
        return super().visit_expr(expr)

    def _rebuilt(self, expr: PrimExpr) -> PrimExpr:
        """The expression over names of its parts."""
        assert isinstance(expr, e.BinaryOpExpr), "only arithmetic is shared"
        return self.visit_binary_(expr)

    def visit_for_(self, op: s.For) -> s.Stmt:
        low, extent = self.visit_expr(op.min), self.visit_expr(op.extent)
        body = self.body(self._finder.scopes[op], op.body)
        if low is op.min and extent is op.extent and body is op.body:
            return op
        return s.For(op.loop_var, low, extent, op.kind, body, op.thread_binding, op.annotations,
                     op.span)  # fmt: skip

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        value = self.visit_expr(op.value)
        body = self.body(self._finder.scopes[op], op.body)
        if value is op.value and body is op.body:
            return op
        return s.LetStmt(op.var, value, body, op.span)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op not in self._finder.scopes:
            return super().visit_attr_stmt_(op)
        value = self.visit_expr(op.value)
        body = self.body(self._finder.scopes[op], op.body)
        if value is op.value and body is op.body:
            return op
        return s.AttrStmt(op.node, op.attr_key, value, body, op.span)
