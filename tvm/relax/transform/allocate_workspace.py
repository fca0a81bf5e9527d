"""Functions for outside libraries that need scratch memory get it from their callers.

    def f(x):  # Codegen, WorkspaceSize: 64      def f1(x, workspace: Tensor((64,), "uint8")):
        y = g(x)  # Composite, ...                   y = g(x, workspace)
                                          ->
    def main(x):                                 def main(x):
        gv = cls.f(x)                                workspace_main = alloc_tensor((64,), "uint8")
                                                     gv = cls.f1(x, workspace_main)

All share one size, the largest that is asked for. A block of bindings allocates once.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import BindingBlock, Call, Function, Var
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.int_attrs import int_attr
from tvm.relax.op.builtin import alloc_tensor
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import all_bindings


@relax_module_pass("AllocateWorkspace")
def AllocateWorkspace(mod: IRModule, ctx: PassContext) -> IRModule:
    """Every function with `Codegen` and `WorkspaceSize` has a last parameter `workspace`."""
    asking = {
        var: func
        for var, func in mod.functions_items()
        if isinstance(func, Function) and "Codegen" in func.attrs and _size(func)
    }
    if not asking:
        return mod
    size = max(_size(func) for func in asking.values())
    names = BlockBuilder(mod)
    functions: dict[GlobalVar, BaseFunc] = {}
    renamed: dict[GlobalVar, GlobalVar] = {}
    for var, func in asking.items():
        new = renamed[var] = GlobalVar(_fresh(names, var.name_hint, mod))
        made = _with_workspace(func, size)
        if "global_symbol" in made.attrs:
            made = made.with_attr("global_symbol", new.name_hint)
        made = made.without_attr("WorkspaceSize")
        new.struct_info_ = made.struct_info_
        functions[new] = made
    provider = _Provider(renamed, size)
    for var, one in mod.functions_items():
        if var in asking:
            continue
        if isinstance(one, Function) and _calls(one, renamed):
            visited = provider.visit_expr(one)
            assert isinstance(visited, Function), "functions stay functions"
            one = visited
        functions[var] = one
    return mod.with_functions(functions)


def _fresh(names: BlockBuilder, prefix: str, mod: IRModule) -> str:
    name = prefix
    while name in mod:
        name = names.get_unique_name(prefix)
    return name


def _size(func: Function) -> int:
    return int_attr(func, "WorkspaceSize")


def _calls(func: Function, targets: Mapping[GlobalVar, GlobalVar]) -> bool:
    return any(_callee(binding.value) in targets for binding in all_bindings(func))


def _callee(value: RelaxExpr) -> GlobalVar | None:
    callee = value.op if isinstance(value, Call) else None
    return callee if isinstance(callee, GlobalVar) else None


def _with_workspace(func: Function, size: int) -> Function:
    """The function with the parameter, which its local functions that ask for one get."""
    workspace = _workspace(size)
    local = {
        binding.var: _appended(binding.value.without_attr("WorkspaceSize"), _workspace(size))
        for binding in all_bindings(func)
        if isinstance(binding.value, Function) and _size(binding.value)
    }
    new = _Inner(local, workspace).visit_expr(_appended(func, workspace))
    assert isinstance(new, Function), "functions stay functions"
    return new


def _workspace(size: int) -> Var:
    return Var("workspace", TensorStructInfo((size,), "uint8"))


def _appended(func: Function, param: Var) -> Function:
    params = [*func.params, param]
    return Function(
        params, func.body, func.ret_struct_info, func.is_pure, func.attrs, func.span
    )


class _Inner(PyExprMutator):
    """Puts local functions with the parameter in place, and calls them with the outer one."""

    def __init__(self, local: Mapping[Var, Function], workspace: Var) -> None:
        super().__init__()
        self._workspace = workspace
        self._local = local
        self._values = {id(f.body): f for f in local.values()}

    def visit_function_(self, op: Function) -> RelaxExpr:
        new = self._values.get(id(op.body), op)
        return super().visit_function_(new)

    def visit_call_(self, op: Call) -> RelaxExpr:
        new = super().visit_call_(op)
        if not isinstance(op.op, Var) or op.op not in self._local or not isinstance(new, Call):
            return new
        return Call(new.op, [*new.args, self._workspace], new.attrs, new.sinfo_args, new.span)


class _Provider(PyExprMutator):
    """Allocates what callees ask for at the start of the block that calls them."""

    def __init__(self, renamed: Mapping[GlobalVar, GlobalVar], size: int) -> None:
        super().__init__()
        self._renamed = renamed
        self._size = size
        self._current: Var | None = None

    def _fill(self, block: BindingBlock) -> None:
        outer = self._current
        if any(_callee(binding.value) in self._renamed for binding in block.bindings):
            whole = alloc_tensor(ShapeExpr([self._size]), "uint8", 0)
            self._current = self.builder_.emit(whole, name_hint="workspace_main")
        super()._fill(block)
        self._current = outer

    def visit_call_(self, op: Call) -> RelaxExpr:
        new = super().visit_call_(op)
        callee = _callee(op)
        target = self._renamed.get(callee) if callee is not None else None
        if target is None or not isinstance(new, Call):
            return new
        assert self._current is not None, "calls are bound in a block"
        return Call(target, [*new.args, self._current], new.attrs, new.sinfo_args, new.span)
