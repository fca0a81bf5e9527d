"""Struct info follows from values: what a rewrite must settle once it has replaced some of them.

    z: Tensor(ndim=2) = add(b, b)   with b replaced by a: Tensor((4, 8))   ->   z: Tensor((4, 8))

A binding that has another value than before gets the struct info of that value, inferred anew where
the value has none; so do the bindings that read it, branches, and the function's result. A binding
that was left alone keeps what the user wrote. Blocks of one kind that came to stand side by side in
a rewritten sequence are one.
"""

from __future__ import annotations

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.base_expr import Id
from tvm.relax.expr import Call, Function, MatchCast, SeqExpr, VarBinding
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.normalize import normal_seq
from tvm.relax.struct_info_rules import result_after_rewrite
from tvm.relax.transform.rebuild import all_bindings, inner_seqs


def settled(before: Function, after: Function, mod: IRModule | None = None) -> Function:
    """`after`, a rewrite of `before`, with struct info that follows from its values."""
    if after is before:
        return after
    new = _Settler(before, mod).visit_expr(after)
    assert isinstance(new, Function), "functions stay functions"
    found = new.body.struct_info_
    if found is None or result_after_rewrite(new.ret_struct_info, found) is not None:
        return new
    return Function(new.params, new.body, None, new.is_pure, new.attrs, new.span)


def settled_module(before: IRModule, after: IRModule) -> IRModule:
    """The module with every function settled that a pass rewrote; functions are known by name."""
    old = {var.name_hint: func for var, func in before.functions.items()}
    functions = dict(after.functions.items())
    changed = False
    for var, func in functions.items():
        known = old.get(var.name_hint)
        if isinstance(func, Function) and isinstance(known, Function) and func is not known:
            new = functions[var] = settled(known, func, after)
            changed = changed or new is not func
            if new.ret_struct_info is not known.ret_struct_info:
                var.struct_info_ = new.struct_info_
    return after.with_functions(functions) if changed else after


class _Settler(PyExprMutator):
    def __init__(self, before: Function, mod: IRModule | None) -> None:
        super().__init__(mod)
        self._old: dict[Id, RelaxExpr] = {b.var.vid: b.value for b in all_bindings(before)}
        self._known = {before.body}
        for value in self._old.values():
            self._known.update(inner_seqs(value))

    def visit_seq_expr_(self, op: SeqExpr) -> RelaxExpr:
        new = super().visit_seq_expr_(op)
        if new is not op or op in self._known or not _has_neighbours_of_one_kind(op):
            return new
        return normal_seq(op.blocks, op.body, op)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        var, old = binding.var, self._old.get(binding.var.vid)
        value = self.visit_expr(_to_infer(binding.value, old))
        changed = value is not binding.value or (old is not None and old is not value)
        if changed and value.struct_info_ is not None:
            var = self.with_struct_info(var, value.struct_info_)
        self._var_remap[var.vid] = var
        if var is not binding.var or value is not binding.value:
            binding = VarBinding(var, value, binding.span)
        self.builder_.emit_normalized(binding)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self._var_remap[binding.var.vid] = binding.var
        super().visit_match_cast_(binding)


def _has_neighbours_of_one_kind(seq: SeqExpr) -> bool:
    kinds = [type(block) for block in seq.blocks]
    return any(a is b for a, b in zip(kinds, kinds[1:]))  # noqa: RUF007 - pairs by name


def _to_infer(value: RelaxExpr, old: RelaxExpr | None) -> RelaxExpr:
    """A call with other operands than before, without what was promised of the old one."""
    if value is old or not isinstance(value, Call) or not isinstance(old, Call):
        return value
    infers = isinstance(value.op, Op) and value.op.get_attr("FInferStructInfo") is not None
    if value.struct_info_ is None or value.op is not old.op or not infers:
        return value
    return Call(value.op, value.args, value.attrs, value.sinfo_args, value.span)
