"""Functions know the target that they are compiled for.

Functions that have a target keep it; those that can be called from outside get the host where it
has none. Those with a symbol of their own are for the target with its host. The others are for what
their callers need: the host, the device, or both:

    def main():                                       def main():      # for cuda, host llvm
        n = add(1, 2)                                     n = add_host(1, 2)
        for i in T.thread_binding(n, "blockIdx.x"):  ->   for i in T.thread_binding(n, ...):
            B[i] = add(i, 3)                                  B[i] = add(i, 3)
    def add(a, b): ...                                def add(a, b): ...       # for cuda
                                                      def add_host(a, b): ...  # for llvm
"""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.supply import GlobalVarSupply
from tvm.ir.transform import PassContext, declare_module_pass
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, StmtExprVisitor
from tvm.tir.renew_defs import renew_defs


@declare_module_pass("tir.BindTarget")
def BindTarget(mod: IRModule, ctx: PassContext, target: Target | str) -> IRModule:
    """Each PrimFunc has the attribute `target`."""
    bound = target if isinstance(target, Target) else Target(target)
    if bound.host is not None and bound.kind.name != bound.host.kind.name:
        mod = _apart(mod, bound)
    functions = {}
    for var, func in mod.functions.items():
        functions[var] = _bind(func, bound) if isinstance(func, PrimFunc) else func
    return mod.with_functions(functions)


def _bind(func: PrimFunc, target: Target) -> PrimFunc:
    own = func.attrs.get("target")
    if own is not None:
        entry = func.attrs.get("global_symbol")
        if isinstance(own, Target) and entry and own.host is None and target.host is not None:
            return func.with_attr("target", own.with_host(target.host))
        return func
    if func.attrs.get("tir.is_host_func"):
        host = target.host if target.host is not None else target
        return func.without_attr("tir.is_host_func").with_attr("target", host)
    bound = target if func.attrs.get("global_symbol") else target.without_host()
    return func.with_attr("target", bound)


def _apart(mod: IRModule, target: Target) -> IRModule:
    """Private functions are bound to host or device, by who calls them."""
    users = _Users(mod)
    functions = dict(mod.functions.items())
    names = GlobalVarSupply(mod)
    copies: dict[GlobalVar, GlobalVar] = {}
    for var in users.private:
        func = functions[var]
        assert isinstance(func, PrimFunc), "only these are looked at"
        if var in users.by_device:
            functions[var] = func.with_attr("target", target.without_host())
        if var in users.by_host and var in users.by_device:
            copies[var] = names.fresh_global(f"{var.name_hint}_host", add_prefix=False)
            functions[copies[var]] = renew_defs(func).with_attr("target", target.host)
        elif var in users.by_host:
            functions[var] = func.with_attr("target", target.host)
    if copies:
        for var, func in functions.items():
            host_code = var not in users.by_device or var in copies.values()
            if isinstance(func, PrimFunc) and host_code:
                functions[var] = func.with_body(_Renamer(copies).visit_stmt(func.body))
    return mod.with_functions(functions)


class _Users:
    """Which private functions the host calls, and which the code of kernels."""

    def __init__(self, mod: IRModule) -> None:
        self.by_host: dict[GlobalVar, None] = {}
        self.by_device: dict[GlobalVar, None] = {}
        self.private = [
            var
            for var, func in mod.functions.items()
            if isinstance(func, PrimFunc)
            and not any(
                func.attrs.get(key) for key in ("global_symbol", "target", "tir.is_host_func")
            )
        ]
        todo = [(v, False) for v, f in mod.functions.items()
                if isinstance(f, PrimFunc) and v not in self.private]  # fmt: skip
        while todo:
            var, device = todo.pop()
            func = mod.functions[var]
            assert isinstance(func, PrimFunc), "only these are looked at"
            calls = _Calls(device)
            calls.visit_stmt(func.body)
            for called, inside in calls.found:
                known = self.by_device if inside else self.by_host
                if called in self.private and called not in known:
                    known[called] = None
                    todo.append((called, inside))


class _Calls(StmtExprVisitor):
    """Calls of functions of the module, and whether they stand in the code of a kernel."""

    def __init__(self, device: bool) -> None:
        super().__init__()
        self.found: list[tuple[GlobalVar, bool]] = []
        self._device = device

    def _inside(self, launches: bool, visit: Callable[[], None]) -> None:
        outer, self._device = self._device, self._device or launches
        visit()
        self._device = outer

    def visit_for_(self, op: s.For) -> None:
        bound = op.kind is s.ForKind.THREAD_BINDING
        self.visit_expr(op.extent)  # the host computes it
        self._inside(bound, lambda: super(_Calls, self).visit_for_(op))

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        bound = op.attr_key == "thread_extent"
        self._inside(bound, lambda: super(_Calls, self).visit_attr_stmt_(op))

    def visit_call_(self, op: e.Call) -> None:
        if isinstance(op.op, GlobalVar):
            self.found.append((op.op, self._device))
        super().visit_call_(op)


class _Renamer(StmtExprMutator):
    """Host code calls the host's copies."""

    def __init__(self, copies: dict[GlobalVar, GlobalVar]) -> None:
        super().__init__()
        self._copies = copies

    def visit_for_(self, op: s.For) -> s.Stmt:
        return op if op.kind is s.ForKind.THREAD_BINDING else super().visit_for_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        return op if op.attr_key == "thread_extent" else super().visit_attr_stmt_(op)

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        copy = self._copies.get(op.op) if isinstance(op.op, GlobalVar) else None
        if copy is None or not isinstance(new, e.Call):
            return new
        return e.Call(op.dtype, copy, new.args, op.span)
