"""Edits of one dataflow block of a function: uses replaced, bindings added and removed.

    edit = DataflowBlockRewrite(block, func)
    edit.replace_all_uses(old, new)
    edit.remove_unused(old)
    func = edit.mutated_root_fn()
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.error import CheckError
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.relax.base_expr import expect
from tvm.support.naming import NameTable

from .base_expr import Id
from .block_builder import BlockBuilder
from .expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    Var,
    VarBinding,
)
from .expr_functor import PyExprMutator, PyExprVisitor


class _Uses(PyExprVisitor):
    """The ids of variables that an expression uses."""

    def __init__(self) -> None:
        self.found: set[Id] = set()

    def visit_var_(self, op: Var) -> None:
        self.found.add(op.vid)

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        self.visit_var_(op)


class _Replace(PyExprMutator):
    """One variable in place of another where it is used."""

    def __init__(self, old: Var, new: Var) -> None:
        super().__init__()
        self.set_var_remap(old.vid, new)


class _PutBlock(PyExprMutator):
    """Another block, and another function around it with a variable replaced."""

    def __init__(self, old: DataflowBlock, new: DataflowBlock) -> None:
        super().__init__()
        self.old, self.new = old, new

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        if block is not self.old:
            return super().visit_dataflow_block_(block)
        self.builder_.begin_dataflow_block()
        for binding in self.new.bindings:
            self.builder_.emit_normalized(binding)
        self.builder_.end_block()
        return self.new


class DataflowBlockRewrite(Object):
    """An editor of a dataflow block; the function stays as it was until its edit is taken."""

    def __init__(self, dfb: DataflowBlock, root_fn: Function) -> None:
        expect(DataflowBlock, dfb, 0, "relax.DataflowBlockRewrite")
        expect(Function, root_fn, 1, "relax.DataflowBlockRewrite")
        if not any(block is dfb for block in _blocks(root_fn)):
            raise CheckError("DataflowBlockRewrite: the block is no block of the function")
        self.original_dfb = dfb
        self._root = root_fn
        self._bindings: list[Binding] = list(dfb.bindings)
        self._block = dfb  # what was handed out last
        self._outside: dict[Id, Var] = {}
        self._names = NameTable([b.var.name_hint for b in dfb.bindings])

    def replace_all_uses(self, old_var: Var, new_var: Var) -> None:
        """Let every use of `old_var`, in the block and in the function, be `new_var`."""
        edit = _Replace(old_var, new_var)
        edit.builder_.begin_dataflow_block()
        for binding in self._bindings:
            if binding.var.vid is old_var.vid:
                edit.builder_.emit_normalized(binding)
            else:
                edit.visit_binding(binding)
        self._bindings = list(edit.builder_.end_block().bindings)
        self._outside[old_var.vid] = new_var

    def add_binding(self, binding: Binding) -> None:
        """Put a binding behind what it uses, and behind the first binding of the block."""
        if any(known.var.vid is binding.var.vid for known in self._bindings):
            raise CheckError(f"add_binding: {binding.var.name_hint!r} is bound in the block")
        self._names.reserve(binding.var.name_hint)
        self._put(binding)

    def _put(self, binding: Binding) -> None:
        used = _uses(binding)
        needed = [i for i, known in enumerate(self._bindings) if known.var.vid in used]
        self._bindings.insert(max(needed, default=0) + 1, binding)

    def add(self, expr: RelaxExpr, name: str | None = None, is_dfvar: bool = False) -> None:
        """Bind an expression to a new variable, as `add_binding` does."""
        if not isinstance(expr, RelaxExpr):
            raise TypeError(
                f"add: found a {type(expr).__name__}; legal: an expression to bind; "
                "add_binding takes a binding"
            )
        value = BlockBuilder().normalize(expr)
        fresh = self._names.fresh(name or "tmp")
        kind = DataflowVar if is_dfvar else Var
        self._put(VarBinding(kind(fresh, value.struct_info_), value))

    def remove_unused(self, var: Var, allow_undef: bool = False) -> None:
        """Drop the binding of a variable that nobody uses."""
        at = [i for i, binding in enumerate(self._bindings) if binding.var.vid is var.vid]
        if not at:
            if allow_undef:
                return
            raise CheckError(f"remove_unused: {var.name_hint!r} is not bound in the block")
        users = [b.var.name_hint for b in self._bindings if var.vid in _uses(b)]
        if users or (var.vid not in self._outside and self._used_outside(var)):
            where = f"by {users[0]!r}" if users else "outside of the block"
            raise CheckError(f"remove_unused: {var.name_hint!r} is used {where}")
        del self._bindings[at[0]]

    def remove_all_unused(self) -> None:
        """Drop all bindings of the block whose variables nobody uses."""
        kept: list[Binding] = []
        used: set[Id] = set()
        for binding in reversed(self._bindings):
            var = binding.var
            outside = not isinstance(var, DataflowVar) and self._used_outside(var)
            if outside or var.vid in used or isinstance(binding, MatchCast):
                kept.append(binding)
                used |= _uses(binding)
        self._bindings = kept[::-1]

    def _used_outside(self, var: Var) -> bool:
        """True when the function uses the variable after the block."""
        if isinstance(var, DataflowVar):
            return False
        if var.vid in self._outside:
            return False
        walk = _Uses()
        for block in _blocks(self._root):
            if block is not self.original_dfb:
                walk.visit_binding_block(block)
        walk.visit_expr(self._root.body.body)
        replaced = {new.vid for old, new in self._outside.items() if old in walk.found}
        return var.vid in walk.found or var.vid in replaced

    def mutated_dfb(self) -> DataflowBlock:
        """The edited block."""
        block = self._block
        same = len(self._bindings) == len(block.bindings) and all(
            a is b for a, b in zip(self._bindings, block.bindings)
        )
        if not same:
            self._block = DataflowBlock(self._bindings, block.span)
        return self._block

    def mutated_root_fn(self) -> Function:
        """The function with the edited block."""
        block = self.mutated_dfb()
        if block is self.original_dfb and not self._outside:
            return self._root
        edit = _PutBlock(self.original_dfb, block)
        for vid, var in self._outside.items():
            edit.set_var_remap(vid, var)
        func = edit.visit_expr(self._root)
        assert isinstance(func, Function), "a function stays one"
        return func

    def mutate_irmodule(self, irmodule: IRModule) -> IRModule:
        """The module with the edited function in place of the one that was given."""
        new = self.mutated_root_fn()
        functions: Mapping[GlobalVar, BaseFunc] = {
            var: new if func is self._root else func for var, func in irmodule.functions.items()
        }
        return irmodule.with_functions(functions)


def _uses(binding: Binding) -> set[Id]:
    walk = _Uses()
    walk.visit_expr(binding.value)
    return walk.found


def _blocks(func: Function) -> tuple[BindingBlock, ...]:
    body = func.body
    return body.blocks if isinstance(body, SeqExpr) else ()
