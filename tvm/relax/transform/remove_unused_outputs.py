"""Let private functions return only the fields of their result that some caller reads.

    def f(): return (a, b, c)                 def f(): return (a, c)
    t = cls.f(); x = t[0]; y = t[2]    ->     t = cls.f(); x = t[0]; y = t[1]

Where one field is left the function returns it alone. A caller that uses the tuple as a whole
needs all fields. What only computed a field that is gone is removed too.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.normalize import merge_blocks
from tvm.relax.struct_info import TupleStructInfo
from tvm.relax.transform.canonicalize_bindings import CanonicalizeBindings
from tvm.relax.transform.dead_code_elimination import RemoveUnusedWork
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import private_functions, with_signatures
from tvm.relax.transform.rebuild import all_bindings, map_bindings, sub_exprs, with_value
from tvm.relax.transform.settle import settled_module


@relax_module_pass("RemoveUnusedOutputs")
def RemoveUnusedOutputs(mod: IRModule, ctx: PassContext) -> IRModule:
    """Drop them, and renumber the fields that callers read."""
    candidates = {
        var: len(func.ret_struct_info.fields)
        for var, func in private_functions(mod).items()
        if isinstance(func.ret_struct_info, TupleStructInfo)
    }
    kept = _fields_read(mod, candidates)
    changed: dict[GlobalVar, Function] = {}
    for var, fields in kept.items():
        func = mod[var]
        assert isinstance(func, Function), "only Relax functions are candidates"
        if 0 < len(fields) < candidates[var]:
            changed[var] = _with_fields(func, fields)
    if not changed:
        return RemoveUnusedWork()(CanonicalizeBindings()(mod))
    by_name = {var.name_hint: kept[var] for var in changed}
    results = _Results()
    renumbered = _renumber(mod, {var: kept[var] for var in changed}, results)

    def on_call(binding: Binding, call: Call, callee: GlobalVar) -> list[Binding]:
        left = results.left_of(binding.var, by_name[callee.name_hint])
        new = Call(callee, call.args, call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = left.var.struct_info_
        return [VarBinding(left.var, new, binding.span), *left.bindings(binding.span)]

    mod = settled_module(mod, with_signatures(renumbered, changed, on_call))
    return RemoveUnusedWork()(CanonicalizeBindings()(mod))


class _Left:
    """What is left of a result: its variable, and one for each field, bound behind the call."""

    def __init__(self, old: Var, fields: list[int]) -> None:
        whole = old.struct_info_
        assert isinstance(whole, TupleStructInfo), "the function gave a tuple"
        self.var = type(old)(old.vid, _result_info(whole, fields), old.span)
        if len(fields) == 1:
            self.fields = {fields[0]: self.var}
        else:
            name = "lv" if isinstance(old, DataflowVar) else "gv"
            self.fields = {i: type(old)(name, whole.fields[i]) for i in fields}

    def bindings(self, span: Span | None) -> list[Binding]:
        if len(self.fields) == 1:
            return []
        return [_item(var, self.var, i, span) for i, var in enumerate(self.fields.values())]


class _Results:
    """What is left of each result, made once."""

    def __init__(self) -> None:
        self._made: dict[Var, _Left] = {}

    def left_of(self, old: Var, fields: list[int]) -> _Left:
        """What is in place of the variable that held the whole tuple."""
        if old not in self._made:
            self._made[old] = _Left(old, fields)
        return self._made[old]


def _item(var: Var, whole: Var, index: int, span: Span | None = None) -> Binding:
    item = TupleGetItem(whole, index)
    item.struct_info_ = var.struct_info_
    return VarBinding(var, item, span)


def _result_info(whole: TupleStructInfo, fields: list[int]) -> StructInfo:
    if len(fields) == 1:
        return whole.fields[fields[0]]
    return TupleStructInfo([whole.fields[i] for i in fields])


def _fields_read(
    mod: IRModule, candidates: dict[GlobalVar, int]
) -> dict[GlobalVar, list[int]]:
    """For each candidate the fields that some caller reads."""
    read: dict[GlobalVar, set[int]] = {var: set() for var in candidates}
    for func in mod.functions.values():
        if not isinstance(func, Function):
            continue
        results: dict[Var, GlobalVar] = {}
        bindings = list(all_bindings(func))
        for binding in bindings:
            callee = _callee(binding.value)
            if callee in read:
                results[binding.var] = callee
                if not isinstance(binding, VarBinding):
                    read[callee].update(range(candidates[callee]))
        whole = [func.body.body, *_branch_results(bindings)]
        for value in [*(b.value for b in bindings), *whole]:
            item = isinstance(value, TupleGetItem)
            if item and value.tuple_value in results:  # type: ignore[attr-defined]
                read[results[value.tuple_value]].add(value.index)  # type: ignore[attr-defined]
                continue
            for part in sub_exprs(value):
                if isinstance(part, Var) and part in results:
                    callee = results[part]
                    read[callee].update(range(candidates[callee]))
    return {var: sorted(fields) for var, fields in read.items()}


def _branch_results(bindings: list[Binding]) -> list[RelaxExpr]:
    return [b.value.body.body for b in bindings if isinstance(b.value, Function)]


def _callee(value: RelaxExpr) -> GlobalVar | None:
    callee = value.op if isinstance(value, Call) else None
    return callee if isinstance(callee, GlobalVar) else None


def _with_fields(func: Function, fields: list[int]) -> Function:
    """The fields are read from what was returned before, for the passes behind to shorten."""
    seq, info = func.body, func.ret_struct_info
    assert isinstance(info, TupleStructInfo), "the caller looked"
    before = Var("previous_outputs", info)
    parts = [Var("gv", info.fields[i]) for i in fields]
    bindings = [VarBinding(before, seq.body)]
    items = [_item(part, before, i) for part, i in zip(parts, fields)]
    whole: RelaxExpr = parts[0] if len(parts) == 1 else Tuple(parts)
    blocks = merge_blocks([*seq.blocks, BindingBlock([*bindings, *items])])
    body = SeqExpr(blocks, whole, seq.span)
    body.struct_info_ = whole.struct_info_
    info_left = _result_info(info, fields)
    return Function(func.params, body, info_left, func.is_pure, func.attrs, func.span)


def _renumber(
    mod: IRModule, kept: dict[GlobalVar, list[int]], names: _Results
) -> IRModule:
    """Fields of the results as the variables that will hold them."""

    def renumbered(func: Function) -> Function:
        results: dict[Var, list[int]] = {}
        for binding in all_bindings(func):
            callee = _callee(binding.value)
            if callee in kept:
                results[binding.var] = kept[callee]

        def on_binding(binding: Binding) -> list[Binding]:
            value = binding.value
            if not isinstance(value, TupleGetItem) or value.tuple_value not in results:
                return [binding]
            old = value.tuple_value
            assert isinstance(old, Var), "results are bound to variables"
            return [with_value(binding, names.left_of(old, results[old]).fields[value.index])]

        return map_bindings(func, on_binding) if results else func

    functions = {
        var: renumbered(func) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)
