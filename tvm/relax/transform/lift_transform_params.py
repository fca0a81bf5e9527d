"""What a function computes from its weights alone is computed once, by a function of its own.

    def main(x, w):  # num_input: 1          def main(x, w_t):  # num_input: 1
        w_t = permute_dims(w)         ->         y = matmul(x, w_t)
        y = matmul(x, w_t)
                                             def main_transform_params(params):  # num_input: 0
                                                 w_t = permute_dims(params[0])
                                                 gv = (w_t,)

Weights are the parameters after the first `num_input`. Functions that others use stay as they are,
as their callers have the weights as they were. Bindings outside of dataflow blocks stay, and so
does what depends on `builtin.stop_lift_params`, which goes once it has done so. Values that need no
weight are not handed over: both functions compute them. Local functions become functions of the
module. Symbols that only weights tell are handed
over as a shape.

With `shared_transform` one function, `transform_params`, does what all functions have in common. A
function of that name that is there already is carried out first. Under the option
`relax.lift_transform_params.consume_params` an item is dropped from `params` after it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.ir.transform import PassContext
from tvm.relax.analysis import free_symbolic_vars, free_vars, remove_all_unused
from tvm.relax.analysis.variables import used_symbolic_vars
from tvm.relax.bind import Binder, copy_with_new_vars
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    DataflowBlock,
    DataflowVar,
    ExternFunc,
    Function,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.int_attrs import int_attr
from tvm.relax.op.base import call_pure_packed
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import definable_tir_vars_in_struct_info
from tvm.relax.transform.bundle_model_params import bundle_model_params
from tvm.relax.transform.canonicalize_bindings import canonicalize_bindings
from tvm.relax.transform.lambda_lift import LambdaLift
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.private_calls import used_functions
from tvm.relax.transform.rebuild import with_bindings
from tvm.support.arguments import explained
from tvm.tir.expr import IntImm
from tvm.tir.expr import Var as TirVar

_SUFFIX: Final = "transform_params"
_CONSUME: Final = "relax.lift_transform_params.consume_params"


@relax_module_pass("LiftTransformParams")
@explained
def LiftTransformParams(
    mod: IRModule, ctx: PassContext, shared_transform: bool | Sequence[str] = False
) -> IRModule:
    """Lift out of every function with `num_input`, or with one transform for all, or for some."""
    if isinstance(shared_transform, str):
        raise TypeError(
            f"LiftTransformParams: shared_transform is a bool or a list of names; "
            f"found {shared_transform!r}, legal [{shared_transform!r}]"
        )
    names = [] if isinstance(shared_transform, bool) else list(shared_transform)
    sources = [_collect(var, func) for var, func in _candidates(mod, names)]
    if not sources:
        return LambdaLift()(mod)
    groups = [[source] for source in sources]
    if shared_transform is not False:
        groups = [sources]
        _match_up(sources)
    functions = dict(mod.functions)
    for group in groups:
        var = group[0].var
        shared = shared_transform is not False
        name = _SUFFIX if shared else f"{var.name_hint}_{_SUFFIX}"
        transform = _lift(group, functions)
        _add_transform(functions, name, transform, bool(ctx.option(_CONSUME, False)))
    return LambdaLift()(mod.with_functions(functions))


def _candidates(mod: IRModule, names: list[str]) -> list[tuple[GlobalVar, Function]]:
    used = used_functions(mod)  # their callers pass the weights as they were
    found = [
        (var, func)
        for var, func in mod.functions_items()
        if isinstance(func, Function)
        and "num_input" in func.attrs
        and not var.name_hint.endswith(_SUFFIX)
        and var not in used
    ]
    if not names:
        return found
    legal = [var.name_hint for var, _ in found]
    for name in names:
        if name not in legal:
            raise CheckError(
                message(
                    "LiftTransformParams: a function that is to share its transform",
                    found=name,
                    legal=f"functions with the attribute num_input: {', '.join(legal)}; "
                    "none that others use",
                )
            )
    return [(var, func) for var, func in found if var.name_hint in names]


@dataclass
class _Source:
    """A function, and what of it can be computed from weights alone.

    `origin` says for every weight and lifted variable what it is in the first function of its
    group; `symbols` the same for symbols.
    """

    var: GlobalVar
    func: Function
    inputs: int
    lifted: dict[Var, VarBinding]
    origin: dict[Var, Var] = field(default_factory=dict)
    symbols: dict[TirVar, TirVar] = field(default_factory=dict)

    @property
    def weights(self) -> tuple[Var, ...]:
        return self.func.params[self.inputs :]


def _collect(var: GlobalVar, func: Function) -> _Source:
    inputs = int_attr(func, "num_input")
    if not 0 <= inputs <= len(func.params):
        raise CheckError(
            message(
                f"LiftTransformParams: the attribute num_input of {var.name_hint}",
                found=f"{inputs}, of a function with {len(func.params)} parameters",
                legal=f"0 ... {len(func.params)}",
            )
        )
    source = _Source(var, func, inputs, {})
    known: set[Var] = set(source.weights)
    symbols = set(_definable(source.weights))
    for block in func.body.blocks:
        for binding in block.bindings if isinstance(block, DataflowBlock) else ():
            if isinstance(binding, VarBinding) and _can_lift(binding.value, known, symbols):
                known.add(binding.var)
                source.lifted[binding.var] = binding
    source.origin = {one: one for one in known}
    source.symbols = {symbol: symbol for symbol in symbols}
    return source


def _can_lift(value: RelaxExpr, known: set[Var], symbols: set[TirVar]) -> bool:
    if isinstance(value, ExternFunc):
        return False
    if is_call_of(value, "relax.builtin.stop_lift_params"):
        return False
    return known.issuperset(free_vars(value)) and symbols.issuperset(used_symbolic_vars(value))


def _definable(params: Sequence[Var]) -> list[TirVar]:
    return definable_tir_vars_in_struct_info(TupleStructInfo([p.struct_info for p in params]))


# --- what functions have in common ---


def _match_up(sources: list[_Source]) -> None:
    """Keep of each what all can lift, and say what it is in the first."""
    first = sources[0]
    common = set(first.lifted)
    for source in sources[1:]:
        _check_weights(first, source)
        _match(first, source)
        common &= set(source.origin.values())
    for source in sources:
        for var in list(source.lifted):
            if source.origin.get(var) not in common:
                del source.lifted[var]
                source.origin.pop(var, None)


def _check_weights(first: _Source, other: _Source) -> None:
    ours, theirs = (TupleStructInfo([w.struct_info for w in s.weights]) for s in (first, other))
    if not structural_equal(ours, theirs, map_free_vars=True):
        raise CheckError(
            message(
                "LiftTransformParams: functions that share a transform have other weights",
                found=f"{theirs} in {other.var.name_hint}",
                legal=f"{ours}, as in {first.var.name_hint}",
            )
        )


def _match(first: _Source, other: _Source) -> None:
    by_hash: dict[int, list[VarBinding]] = {}
    for binding in first.lifted.values():
        by_hash.setdefault(structural_hash(binding.value), []).append(binding)
    symbols: dict[TirVar, PrimExpr] = {}
    for one, weight in zip(first.weights, other.weights):
        bind_symbols(weight.struct_info, one.struct_info, symbols)
    other.symbols = {var: to for var, to in symbols.items() if isinstance(to, TirVar)}
    other.origin = dict(zip(other.weights, first.weights))
    taken: set[Var] = set()
    for var, binding in other.lifted.items():
        if not all(used in other.origin for used in free_vars(binding.value)):
            continue
        values: dict[object, RelaxExpr] = {a.vid: b for a, b in other.origin.items()}
        value = Binder(values, symbols).visit_expr(binding.value)  # type: ignore[arg-type]
        candidates = by_hash.get(structural_hash(value), [])
        same = [one.var for one in candidates if structural_equal(one.value, value)]
        if same:
            other.origin[var] = next((one for one in same if one not in taken), same[0])
            taken.add(other.origin[var])


# --- the two functions ---


def _lift(group: list[_Source], functions: dict[GlobalVar, BaseFunc]) -> Function:
    """Put what is left of each function into `functions`; the result is the transform."""
    first = group[0]
    from_weights = _needing_weights(first)
    stays = [_at_run_time(source) for source in group]
    wanted = {
        source.origin[var]
        for source, (_, used) in zip(group, stays)
        for var in used
        if var in source.origin
    }
    outputs = [w for w in first.weights if w in wanted]
    outputs += [var for var in first.lifted if var in wanted and var in from_weights]
    symbols: dict[TirVar, None] = {}
    for source, (kept, _) in zip(group, stays):
        for symbol in free_symbolic_vars(_run_time(source, kept, outputs, [])):
            if symbol in source.symbols:
                symbols.setdefault(source.symbols[symbol])
    for source, (kept, _) in zip(group, stays):
        new = canonicalize_bindings(_run_time(source, kept, outputs, list(symbols)))
        source.var.struct_info_ = new.struct_info_
        functions[source.var] = new
    transform = _compile_time(first, outputs, list(symbols))
    if any("global_symbol" in source.func.attrs for source in group):
        transform = transform.with_attr("global_symbol", "")
    return transform


def _needing_weights(source: _Source) -> set[Var]:
    """Weights, and the lifted variables that depend on them; their symbols alone do not count."""
    found = set(source.weights)
    for var, binding in source.lifted.items():
        if not found.isdisjoint(free_vars(binding.value)):
            found.add(var)
    return found


def _at_run_time(source: _Source) -> tuple[set[Var], set[Var]]:
    """The variables bound at run time, and all that are read there."""
    from_weights = _needing_weights(source)
    used = set(free_vars(source.func.body.body))
    kept: set[Var] = set()
    for binding in reversed(_bindings(source.func)):
        if binding.var not in source.lifted or binding.var not in from_weights:
            kept.add(binding.var)
            used.update(free_vars(binding.value))
    return kept, used


def _bindings(func: Function) -> list[Binding]:
    return [binding for block in func.body.blocks for binding in block.bindings]


def _run_time(
    source: _Source, kept: set[Var], outputs: list[Var], symbols: list[TirVar]
) -> Function:
    """The function without what was lifted; that comes in by parameters."""
    func = source.func
    own = {to: var for var, to in reversed(source.origin.items())}
    params = list(func.params[: source.inputs])
    if symbols:
        back = {to: symbol for symbol, to in source.symbols.items()}
        shape = ShapeStructInfo([back[symbol] for symbol in symbols])
        params.append(Var("vars_from_compile_time_params", shape))
    given: list[Binding] = []
    for output in outputs:
        var = own[output]
        param = Var(var.name_hint, var.struct_info_) if var in source.lifted else var
        params.append(param)
    # several variables may be one output: all of them are its parameter
    by_output = dict(zip(outputs, params[len(params) - len(outputs) :]))
    for var in source.lifted:
        if var not in kept and source.origin[var] in by_output:
            given.append(VarBinding(var, by_output[source.origin[var]]))
    blocks: list[BindingBlock] = [DataflowBlock(given)] if given else []
    for block in func.body.blocks:
        left = with_bindings(block, [_released(b) for b in block.bindings if b.var in kept])
        if left.bindings:
            blocks.append(left)
    result = func.body.body
    if isinstance(result, Tuple) and result.fields:  # a variable, as in the transform
        var = Var("gv", result.struct_info)
        blocks.append(BindingBlock([VarBinding(var, result)]))
        result = var
    body = SeqExpr(_joined(blocks), result, func.body.span)
    body.struct_info_ = func.body.struct_info_
    return Function(params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)


def _released(binding: Binding) -> Binding:
    """What stopped lifting has done its work: the value itself."""
    call = binding.value
    if is_call_of(call, "relax.builtin.stop_lift_params") and isinstance(binding, VarBinding):
        return VarBinding(binding.var, call.args[0], binding.span)
    return binding


def _joined(blocks: list[BindingBlock]) -> list[BindingBlock]:
    """What comes in stands in the first dataflow block, as its variables may be read there only."""
    joined: list[BindingBlock] = []
    for block in blocks:
        if joined and type(joined[-1]) is type(block):
            joined[-1] = type(block)([*joined[-1].bindings, *block.bindings], block.span)
        else:
            joined.append(block)
    return joined


def _compile_time(source: _Source, outputs: list[Var], symbols: list[TirVar]) -> Function:
    """A function of all weights whose result is the tuple of the outputs."""
    used = set(outputs)
    needed: list[VarBinding] = []
    for var, binding in reversed(source.lifted.items()):
        if var in used:
            needed.append(binding)
            used.update(free_vars(binding.value))
    fields: list[RelaxExpr] = list(outputs)
    if symbols:
        fields.insert(0, ShapeExpr(symbols))
    whole = Tuple(fields)
    infos = [one.struct_info for one in fields]
    whole.struct_info_ = TupleStructInfo(infos)
    result = Var("output_tuple", whole.struct_info_)
    block = DataflowBlock([*reversed(needed), VarBinding(result, whole)])
    body = SeqExpr([block], result)
    body.struct_info_ = result.struct_info_
    func = Function(source.weights, body, None, True, {"num_input": 0})
    return canonicalize_bindings(copy_with_new_vars(func))


# --- the transform in the module ---


def _add_transform(
    functions: dict[GlobalVar, BaseFunc], name: str, transform: Function, consume: bool
) -> None:
    """Put the transform into the module, after one that is there already."""
    var = next((one for one in functions if one.name_hint == name), None)
    present = functions[var] if var is not None else None
    if "global_symbol" in transform.attrs:
        transform = transform.with_attr("global_symbol", name)
    if isinstance(present, Function):
        transform = _after(present, transform, name)
    params = transform.params
    if present is None or len(params) != 1 or not _is_tuple(params[0].struct_info):
        transform = bundle_model_params(transform, 0, "model_params")
    transform = _canonical(transform)
    if consume:
        transform = _consume(transform)
    if var is None:
        var = GlobalVar(name)
    var.struct_info_ = transform.struct_info_
    functions[var] = transform


def _canonical(func: Function) -> Function:
    """Without names of names; weights that all pass through in order are the parameter itself."""
    func = canonicalize_bindings(func)
    result = func.body.body
    for binding in _bindings(func):
        if isinstance(binding, VarBinding) and binding.var is result:
            value = binding.value
            if isinstance(value, Tuple) and not value.fields:
                body = SeqExpr(func.body.blocks, value, func.body.span)
                body.struct_info_ = func.body.struct_info_
                func = Function(
                    func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span
                )
    return remove_all_unused(func)


def _is_tuple(info: StructInfo | None) -> bool:
    return isinstance(info, TupleStructInfo)


def _after(first: Function, second: Function, name: str) -> Function:
    """One function that gives the results of `first` to `second`."""
    first, second = copy_with_new_vars(first), copy_with_new_vars(second)
    info = first.body.body.struct_info_
    if not isinstance(info, TupleStructInfo) or len(info.fields) != len(second.params):
        raise CheckError(
            message(
                f"LiftTransformParams: what {name} gives is not what the function takes",
                found=f"a result {info}",
                legal=f"a tuple of {len(second.params)} weights",
            )
        )
    symbols: dict[TirVar, PrimExpr] = {}
    for param, one in zip(second.params, info.fields):
        bind_symbols(param.struct_info, one, symbols)
    known = Binder({}, symbols).visit_expr(second)
    assert isinstance(known, Function), "functions stay functions"
    items: list[Binding] = []
    for i, param in enumerate(known.params):
        item = TupleGetItem(first.body.body, i)
        item.struct_info_ = info.fields[i]
        items.append(VarBinding(param, item))
    blocks = [*first.body.blocks, DataflowBlock(items), *known.body.blocks]
    body = SeqExpr(_joined([b for b in blocks if b.bindings]), known.body.body)
    body.struct_info_ = known.body.struct_info_
    func = Function(first.params, body, None, first.is_pure, first.attrs, first.span)
    return _without_dead_tuples(canonicalize_bindings(func))


def _without_dead_tuples(func: Function) -> Function:
    """The results of the first function are no value of their own any more."""
    read = {var for binding in _bindings(func) for var in free_vars(binding.value)}
    read.update(free_vars(func.body.body))

    def lives(binding: Binding) -> bool:
        return binding.var in read or not isinstance(binding.value, Tuple)

    blocks = [with_bindings(b, [one for one in b.bindings if lives(one)]) for b in func.body.blocks]
    body = SeqExpr([block for block in blocks if block.bindings], func.body.body, func.body.span)
    body.struct_info_ = func.body.struct_info_
    return Function(func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)


def _consume(func: Function) -> Function:
    """After an item of the parameter is read, the parameter forgets it."""
    params = func.params[0]
    seen: dict[int, Var] = {}
    if any(params in free_vars(b.value) for b in _bindings(func) if not _is_item(b, params)):
        return func

    def rewritten(block: BindingBlock) -> Iterator[Binding]:
        for binding in block.bindings:
            value = binding.value
            if not isinstance(value, TupleGetItem) or value.tuple_value is not params:
                yield binding
            elif value.index in seen:
                yield VarBinding(binding.var, seen[value.index], binding.span)
            else:
                yield binding
                seen[value.index] = binding.var
                yield _reset(params, value.index, isinstance(block, DataflowBlock))

    blocks = [with_bindings(block, list(rewritten(block))) for block in func.body.blocks]
    body = SeqExpr(blocks, func.body.body, func.body.span)
    body.struct_info_ = func.body.struct_info_
    new = Function(func.params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)
    return canonicalize_bindings(new)


def _is_item(binding: Binding, params: Var) -> bool:
    value = binding.value
    return isinstance(value, TupleGetItem) and value.tuple_value is params


def _reset(params: Var, index: int, dataflow: bool) -> Binding:
    none = TupleStructInfo([])
    number = PrimValue(IntImm("int32", index))
    call = call_pure_packed("vm.builtin.tuple_reset_item", params, number, sinfo_args=[none])
    call.struct_info_ = none
    return VarBinding((DataflowVar if dataflow else Var)("_", none), call)
