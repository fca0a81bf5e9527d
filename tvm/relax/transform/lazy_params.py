"""Parameters that are fetched where they are needed, and results that are handed out when made.

    def f(A, B):                LazyGetInput    def f(fget_param):
        C = exp(A)                                  A = match_cast(fget_param(0, "A"), Tensor(...))
        return (C, B)               ->              C = exp(A) ...

    def f(A):                   LazySetOutput   def f(A, fset_output):
        C = exp(A)                                  C = exp(A)
        return (C,)                 ->              fset_output(0, C)
                                                    return ()

What a scope fetches twice is fetched once. This holds for public functions. The first `num_input`
parameters stay; the function that is called stands behind them, or behind all where nothing says
how many they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tvm.error import CheckError, message
from tvm.ir.attrs import DictAttrs
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.analysis.bindings import remove_all_unused
from tvm.relax.analysis.variables import free_symbolic_vars, free_vars
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    Var,
    VarBinding,
)
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.int_attrs import int_attr
from tvm.relax.op.base import VOID_RESULT
from tvm.relax.struct_info import FuncStructInfo, ObjectStructInfo, PrimStructInfo, ShapeExpr
from tvm.relax.struct_info_rules import (
    definable_tir_vars_in_struct_info,
    tir_vars_in,
    tir_vars_in_struct_info,
)
from tvm.relax.transform.eliminate_common_subexpr import eliminate_common_subexpr
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.private_calls import used_functions
from tvm.relax.transform.rebuild import sub_exprs, vars_needed
from tvm.relax.transform.to_non_dataflow import to_non_dataflow
from tvm.tir.expr import Var as TirVar


@relax_pass("LazyGetInput")
def LazyGetInput(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Parameters come from `fget_param(index, name)`, each before its first use."""
    count = int_attr(func, "num_input")
    if func.attrs.get("global_symbol") is None:
        return func
    _refuse_callers(func, mod, "LazyGetInput", "a callback that fetches its parameters")
    fetch = _callback("fget_param", ObjectStructInfo(), pure=True)
    attrs = func.with_attr("num_input", count + 1).attrs
    params = [*func.params[:count], fetch]
    known = {symbol for param in func.params[:count] for symbol in _symbols_of(param)}
    read = free_vars(func.body)

    def fetched(first: Sequence[Var]) -> Function:
        new = _Fetcher(mod, func.params[count:], fetch, first, read, known).visit_expr(func)
        assert isinstance(new, Function), "functions stay functions"
        new = Function(params, new.body, None, func.is_pure, attrs, func.span)
        return remove_all_unused(eliminate_common_subexpr(new))

    made = fetched(())
    unknown = set(free_symbolic_vars(made))
    if not unknown:
        return made
    return fetched([p for p in func.params[count:] if not unknown.isdisjoint(_symbols_of(p))])


def _symbols_of(param: Var) -> list[TirVar]:
    """The sizes that a parameter's struct info defines."""
    return definable_tir_vars_in_struct_info(param.struct_info)


def _symbols_used(value: RelaxExpr) -> list[TirVar]:
    """The sizes that an expression computes with; branches have bindings of their own."""
    if isinstance(value, Function):
        return free_symbolic_vars(value)
    found: list[TirVar] = []
    for expr in sub_exprs(value.cond if isinstance(value, If) else value):
        if isinstance(expr, ShapeExpr):
            found += tir_vars_in(expr.values)
        elif isinstance(expr, PrimValue):
            found += tir_vars_in([expr.value])
        elif isinstance(expr, Call):
            found += [v for info in expr.sinfo_args for v in tir_vars_in_struct_info(info)]
    return found


@relax_pass("LazySetOutput")
def LazySetOutput(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Results go to `fset_output(index, value)`, each right after it is made."""
    if func.attrs.get("global_symbol") is None:
        return func
    _refuse_callers(func, mod, "LazySetOutput", "a callback that takes its results")
    give = _callback("fset_output", VOID_RESULT, pure=False)
    func = to_non_dataflow(func)
    body = func.body.body
    results = list(body.fields) if isinstance(body, Tuple) else [body]
    positions: dict[Var, list[int]] = {}
    for i, result in enumerate(results):
        if isinstance(result, Var):
            positions.setdefault(result, []).append(i)

    def handed_out(var: Var) -> list[Binding]:
        return [_hand_out(give, i, var) for i in positions.get(var, ())]

    bindings = [one for param in func.params for one in handed_out(param)]
    for block in func.body.blocks:
        for binding in block.bindings:
            bindings += [binding, *handed_out(binding.var)]
    bindings += [_hand_out(give, i, r) for i, r in enumerate(results) if not isinstance(r, Var)]
    known = func.attrs.get("num_input") is not None
    count = int_attr(func, "num_input") if known else len(func.params)
    params = [*func.params[:count], give, *func.params[count:]]
    nothing = Tuple([])
    nothing.struct_info_ = VOID_RESULT
    seq = SeqExpr([BindingBlock(bindings)], nothing, func.body.span)
    seq.struct_info_ = VOID_RESULT
    return Function(params, seq, VOID_RESULT, False, _attrs(func), func.span)


def _refuse_callers(func: Function, mod: IRModule, name: str, callback: str) -> None:
    """A call within the module has arguments and a result, no callback."""
    used = used_functions(mod)
    found = next((var for var, known in mod.functions.items() if known is func), None)
    if found in used:
        raise CheckError(
            message(
                f"{name}: {found.name_hint!r} gets {callback}",
                found=f"a use of it in {used[found]!r}",
                legal="functions that others use are private (@R.function(private=True))",
            )
        )


def _attrs(func: Function) -> DictAttrs:
    """Those of the function, with one input more where they are counted; it has effects."""
    new = func.without_attr("relax.force_pure")
    if func.attrs.get("num_input") is not None:
        new = new.with_attr("num_input", int_attr(func, "num_input") + 1)
    return new.attrs


def _callback(name: str, result: StructInfo, pure: bool) -> Var:
    index = PrimStructInfo("int64")
    info = FuncStructInfo([index, ObjectStructInfo()], result, purity=pure)
    return Var(name, info)


def _hand_out(give: Var, index: int, value: RelaxExpr) -> Binding:
    call = Call(give, [PrimValue(index), value], None, [], value.span)
    call.struct_info_ = VOID_RESULT
    return VarBinding(Var("_", VOID_RESULT), call, value.span)


class _Fetcher(PyExprMutator):
    """Fetches parameters at their first use; what a branch fetched is not there after it.

    Those in `first` are fetched at the start: nothing but their sizes is of use.
    """

    def __init__(
        self,
        mod: IRModule,
        params: Sequence[Var],
        fetch: Var,
        first: Sequence[Var],
        read: Sequence[Var],
        known: Iterable[TirVar],
    ) -> None:
        super().__init__(mod)
        self._first = list(first)
        self._index = {param: i for i, param in enumerate(params)}
        self._fetch = fetch
        self._held: dict[Var, Var] = {}
        self._definers: dict[TirVar, list[Var]] = {}
        for param in read:
            for symbol in _symbols_of(param):
                self._definers.setdefault(symbol, []).append(param)
        for symbol in known:
            self._definers.pop(symbol, None)

    def visit_var_binding_(self, binding: VarBinding) -> None:
        """A size that no parameter defined so far is defined before its use."""
        for symbol in _symbols_used(binding.value) if self._definers else ():
            definers = self._definers.get(symbol, [])
            here = [var for var in vars_needed(binding.value) if var in definers]
            if definers and not here and self._held.keys().isdisjoint(definers):
                self.visit_var_(definers[0])
        super().visit_var_binding_(binding)

    def visit_var_(self, op: Var) -> RelaxExpr:
        index = self._index.get(op)
        if index is None:
            return super().visit_var_(op)
        if op not in self._held:
            call = Call(self._fetch, [PrimValue(index), StringImm(op.name_hint)], None, [], op.span)
            value = self.builder_.emit(call, op.name_hint + "_untyped")
            self._held[op] = self.builder_.match_cast(value, op.struct_info, op.name_hint)
        return self._held[op]

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        if not self._first:
            return super().visit_binding_block_(block)
        self.builder_._begin_binding_block()
        while self._first:
            self.visit_var_(self._first.pop(0))
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_._end_block()

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        """What a dataflow block fetched is not there after it."""
        new = super().visit_dataflow_block_(block)
        self._held = {p: v for p, v in self._held.items() if not isinstance(v, DataflowVar)}
        return new

    def visit_function_(self, op: Function) -> RelaxExpr:
        """What a local function captures is fetched before it, where what follows sees it too."""
        for var in free_vars(op):
            self.visit_var_(var)
        return super().visit_function_(op)

    def visit_if_(self, op: If) -> RelaxExpr:
        cond = self.visit_expr(op.cond)
        return If(cond, self._branch(op.true_branch), self._branch(op.false_branch), op.span)

    def _branch(self, branch: SeqExpr) -> RelaxExpr:
        before = dict(self._held)
        new = self.visit_with_new_scope(branch)
        self._held = before
        return new
