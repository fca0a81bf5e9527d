"""Calls of the module's own private functions are replaced by their bodies.

    def main(...): f(A.data, 3)                  def main(...):
    def f(p: T.handle, n: T.int32): ...   ->         ... with A.data for p and 3 for n

Inlined is what returns nothing, matches no buffers, has no other target, and does not call itself,
directly or not. The functions that nothing calls any more are removed. Where a buffer lies at a
parameter and the argument is an address that is computed, the address is bound to a variable.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.ir.type import PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk

from .folding import FoldingSubstituter


@declare_module_pass("tir.InlinePrivateFunctions")
def InlinePrivateFunctions(mod: IRModule, ctx: PassContext) -> IRModule:
    """No private function is called that could be inlined at its call site."""
    calls = {
        var: _called(func) for var, func in mod.functions.items() if isinstance(func, PrimFunc)
    }
    chosen = {var for var in calls if _can_be_inlined(mod, var, calls)}
    if not chosen:
        return mod
    inliner = _Inliner(mod, chosen)
    functions: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if isinstance(func, PrimFunc):
            inliner.target = func.attrs.get("target")
            functions[var] = func.with_body(inliner.visit_stmt(func.body))
        else:
            functions[var] = func
    still_called = {v for f in functions.values() if isinstance(f, PrimFunc) for v in _called(f)}
    return mod.with_functions(
        {v: f for v, f in functions.items() if v not in chosen or v in still_called}
    )


def _called(func: PrimFunc) -> set[GlobalVar]:
    return {
        node.op
        for node in walk(func.body)
        if isinstance(node, e.Call) and isinstance(node.op, GlobalVar)
    }


def _can_be_inlined(mod: IRModule, var: GlobalVar, calls: dict[GlobalVar, set[GlobalVar]]) -> bool:
    func = mod.functions[var]
    assert isinstance(func, PrimFunc), "only PrimFuncs have calls"
    returned = isinstance(func.ret_type, PrimType) and not func.ret_type.dtype.is_void
    if func.attrs.get("global_symbol") is not None or func.buffer_map or returned:
        return False
    jumps = any(e.is_call_of(n, "tir.ret") for n in walk(func.body))
    return not jumps and var not in _reachable(var, calls)


def _reachable(var: GlobalVar, calls: dict[GlobalVar, set[GlobalVar]]) -> set[GlobalVar]:
    """The functions that may run while `var` runs."""
    found: set[GlobalVar] = set()
    stack = list(calls.get(var, ()))
    while stack:
        current = stack.pop()
        if current not in found:
            found.add(current)
            stack.extend(calls.get(current, ()))
    return found


class _Inliner(StmtExprMutator):
    def __init__(self, mod: IRModule, chosen: set[GlobalVar]) -> None:
        super().__init__()
        self._mod = mod
        self._chosen = chosen
        self.target: object = None  # of the function that is rewritten

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if not isinstance(call, e.Call) or call.op not in self._chosen:
            return op
        func = self._mod.functions[call.op]  # type: ignore[index]
        assert isinstance(func, PrimFunc), "only PrimFuncs are chosen"
        own = func.attrs.get("target")
        if own is not None and self.target is not None and str(own) != str(self.target):
            return op  # code of another device stays a function of its own
        names: list[tuple[e.Var, PrimExpr]] = []
        values: dict[e.Var, PrimExpr] = {}
        undeclared = _memory_of_undeclared_buffers(func)
        for param, value in zip(func.params, call.args):
            values[param] = value
            if param in undeclared and not isinstance(value, e.Var):
                name = values[param] = param.copy_with_name(param.name)
                names.append((name, value))
        body = _Substituter(values).visit_stmt(func.body)
        for name, value in reversed(names):
            body = s.LetStmt(name, value, body)
        return self.visit_stmt(body)


def _memory_of_undeclared_buffers(func: PrimFunc) -> set[e.Var]:
    nodes = list(walk(func.body))
    declared = {node.buffer for node in nodes if isinstance(node, s.DeclBuffer)}
    used = {node.buffer for node in nodes if isinstance(node, (s.BufferStore, e.BufferLoad))}
    return {buffer.data for buffer in used - declared}


class _Substituter(FoldingSubstituter):
    """Puts arguments for parameters; an address where a buffer is declared gets a name.

        R = T.decl_buffer((3,), data=p)   ->   p: T.handle("float32") = T.address_of(A[i])
                                               R = T.decl_buffer((3,), data=p)
    """

    def __init__(self, values: Mapping[e.Var, PrimExpr]) -> None:
        super().__init__(values, rename=True)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        data = op.buffer.data
        address = self.values.get(data, data)
        if isinstance(address, e.Var):
            return super().visit_decl_buffer_(op)
        name = self.values[data] = data.copy_with_name(data.name)
        body = super().visit_decl_buffer_(op)
        self.values[data] = address
        return s.LetStmt(name, address, body, op.span)
