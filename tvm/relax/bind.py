"""Functions with values put in: for parameters, for symbols, for functions they call; and copies.

    f(x: Tensor((n, 4)), w: Tensor((4,)))  with w = const   ->   f(x: Tensor((n, 4)))
    f(x: Tensor((n, 4)))  with n = 8                        ->   f(x: Tensor((8, 4)))

A parameter that is bound tells what the symbols in its shape are. Everything that depends on what
was bound gets its struct info anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.support.arguments import explained
from tvm.support.registry import Registry
from tvm.support.suggest import did_you_mean
from tvm.tir import expr as tir
from tvm.tir.functor import substitute
from tvm.tir.op.arith import cast

from .base_expr import Id
from .derive import bind_symbols
from .expr import (
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    PrimValue,
    SeqExpr,
    Var,
    VarBinding,
    const,
    convert_to_expr,
)
from .expr_functor import PyExprMutator, PyExprVisitor
from .shape_math import simplify
from .struct_info import PrimStructInfo, TensorStructInfo
from .struct_info_rules import (
    BaseCheckResult,
    base_check,
    definable_tir_vars_in_struct_info,
    tir_vars_in_struct_info,
)


class Binder(PyExprMutator):
    """Replaces variables and symbols by values."""

    def __init__(
        self, values: Mapping[Id, RelaxExpr], symbols: Mapping[tir.Var, PrimExpr]
    ) -> None:
        super().__init__()
        self.values = dict(values)
        self.symbols = dict(symbols)

    def visit_var_(self, op: Var) -> RelaxExpr:
        bound = self.values.get(op.vid)
        return super().visit_var_(op) if bound is None else bound

    def visit_dataflow_var_(self, op: DataflowVar) -> RelaxExpr:
        return self.visit_var_(op)

    def visit_prim_expr(self, expr: PrimExpr) -> PrimExpr:
        if not self.symbols or isinstance(expr, tir.IntImm):
            return expr
        if isinstance(expr, tir.Var):
            return self.symbols.get(expr, expr)
        new = substitute(expr, self.symbols)
        return expr if new is expr else simplify(new)


def bind(
    expr: RelaxExpr,
    values: Mapping[Var, RelaxExpr] | None = None,
    symbols: Mapping[tir.Var, PrimExpr] | None = None,
) -> RelaxExpr:
    """The expression with variables and symbols replaced by values."""
    by_id = {var.vid: value for var, value in (values or {}).items()}
    return Binder(by_id, symbols or {}).visit_expr(expr)


def _by_name(func: Function, key: str | Var) -> Var:
    if isinstance(key, Var):
        if not any(param is key for param in func.params):
            raise CheckError(
                message(
                    f"bind_params: {key.name_hint!r} is no parameter of the function",
                    legal=", ".join(param.name_hint for param in func.params) or "none",
                )
            )
        return key
    found = [param for param in func.params if param.name_hint == key]
    if len(found) != 1:
        names = [param.name_hint for param in func.params]
        what = "there is no" if not found else "there is more than one"
        raise CheckError(
            message(
                f"bind_params: {what} parameter named {key!r}{did_you_mean(key, names)}",
                found=f"parameters {', '.join(names)}",
                legal="the name of one parameter, or the parameter itself",
            )
        )
    return found[0]


def _value(value: Any, param: Var) -> RelaxExpr:
    if isinstance(value, RelaxExpr):
        return value
    info = param.struct_info_
    if isinstance(value, (int, float)) and isinstance(info, PrimStructInfo):
        return PrimValue(tir.make_const(value, info.dtype))
    if isinstance(value, (int, float)) and isinstance(info, TensorStructInfo):
        return const(value, info.dtype if info.dtype != "void" else None)
    if isinstance(value, (PrimExpr, str)):
        return convert_to_expr(value)
    return Constant(value)


@explained
def bind_params(func: Function, binding_map: Mapping[str | Var, Any]) -> Function:
    """The function with constants or expressions for some parameters, which it no longer has."""
    values: dict[Id, RelaxExpr] = {}
    symbols: dict[tir.Var, PrimExpr] = {}
    for key, given in binding_map.items():
        param = _by_name(func, key)
        if param.vid in values:
            raise CheckError(f"bind_params: parameter {param.name_hint!r} is bound twice")
        value = _value(given, param)
        _check_fits(param, value)
        values[param.vid] = value
        if param.struct_info_ is not None and value.struct_info_ is not None:
            bind_symbols(param.struct_info_, value.struct_info_, symbols)
    if not values:
        return func
    known = {var: value for var, value in symbols.items() if value is not var}
    rest = [param for param in func.params if param.vid not in values]
    return _rebuilt(func, rest, Binder(values, known))


def _check_fits(param: Var, value: RelaxExpr) -> None:
    wanted, found = param.struct_info_, value.struct_info_
    if wanted is None or found is None:
        return
    if base_check(wanted, found) is BaseCheckResult.FAIL_L0:
        raise CheckError(
            message(
                f"bind_params: the value does not fit parameter {param.name_hint!r}",
                found=str(found),
                legal=str(wanted),
            )
        )


def _rebuilt(func: Function, params: list[Var], binder: Binder) -> Function:
    """The function with these parameters, its body rewritten by the binder."""
    new_params = []
    for param in params:
        new = binder.visit_var_def(param)
        if new is not param:
            binder.set_var_remap(param.vid, new)
        new_params.append(new)
    body = binder.visit_with_new_scope(func.body, new_params)
    ret = binder.visit_struct_info(func.ret_struct_info)  # what is declared stays declared
    return Function(new_params, body, ret, func.is_pure, func.attrs, func.span)


@explained
def bind_symbolic_vars(
    func: Function, binding_map: Mapping[str | tir.Var, PrimExpr | int]
) -> Function:
    """The function with values for some of the symbols in its parameters' shapes."""
    known: dict[tir.Var, None] = {}
    for param in func.params:
        known.update(dict.fromkeys(tir_vars_in_struct_info(param.struct_info)))
    symbols: dict[tir.Var, PrimExpr] = {}
    for key, value in binding_map.items():
        var = _symbol(list(known), key)
        if var in symbols:
            raise CheckError(f"bind_symbolic_vars: {var.name!r} is bound twice")
        symbols[var] = cast(value, var.dtype)
    if not symbols:
        return func
    return _rebuilt(func, list(func.params), Binder({}, symbols))


def _symbol(known: list[tir.Var], key: str | tir.Var) -> tir.Var:
    names = [var.name for var in known]
    found = [var for var in known if (var is key if isinstance(key, tir.Var) else var.name == key)]
    if len(found) == 1:
        return found[0]
    name = key.name if isinstance(key, tir.Var) else key
    what = "no symbol" if not found else "more than one symbol"
    raise CheckError(
        message(
            f"bind_symbolic_vars: {what} of the parameters is {name!r}{did_you_mean(name, names)}",
            found=f"symbols {', '.join(names) or '(none)'}",
            legal="the name of one symbol, or the variable itself",
        )
    )


# --- inlining ---


class _Inliner(PyExprMutator):
    def __init__(self, functions: Mapping[str, Function]) -> None:
        super().__init__()
        self.functions = functions
        self.active: list[str] = []

    def visit_call_(self, op: Call) -> RelaxExpr:
        call = super().visit_call_(op)
        if not isinstance(call, Call) or not isinstance(call.op, GlobalVar):
            return call
        name = call.op.name_hint
        func = self.functions.get(name)
        if func is None:
            return call
        if name in self.active:
            raise CheckError(
                f"inline_functions: {name!r} calls itself, so its body cannot replace its calls"
            )
        self.active.append(name)
        fresh = copy_with_new_vars(func)
        values = {param.vid: arg for param, arg in zip(fresh.params, call.args)}
        symbols: dict[tir.Var, PrimExpr] = {}
        for param, arg in zip(fresh.params, call.args):
            bind_symbols(param.struct_info, arg.struct_info, symbols)
        casts = _casts(fresh.params, call.args, symbols)
        values.update({cast.var.vid: cast.var for cast in casts})
        body = Binder(values, symbols).visit_expr(fresh.body)
        if casts:
            assert isinstance(body, SeqExpr), "bodies of functions are sequences"
            body = SeqExpr([BindingBlock(casts), *body.blocks], body.body, body.span)
        result = self.visit_expr(body)
        self.active.pop()
        return result


def _casts(
    params: Sequence[Var], args: Sequence[RelaxExpr], symbols: dict[tir.Var, PrimExpr]
) -> list[MatchCast]:
    """What tells the sizes of arguments that nothing is known of, and the body has symbols for."""
    found: list[MatchCast] = []
    told = set(symbols)
    for param, arg in zip(params, args):
        if not told.issuperset(definable_tir_vars_in_struct_info(param.struct_info)):
            told.update(definable_tir_vars_in_struct_info(param.struct_info))
            info = Binder({}, symbols).visit_struct_info(param.struct_info)
            found.append(MatchCast(Var(param.vid, info), arg, info, arg.span))
    return found


# What clears up behind a step; passes, which stand above and are loaded when asked for.
TIDIERS: Final[Registry[Callable[[Function], Function]]] = Registry(
    "tidying step", "tvm.relax.transform.tidy"
)


def inline_functions(
    func: Function, function_map: Mapping[str | GlobalVar, Function]
) -> Function:
    """The function with the bodies of the given functions in place of their calls.

    A body without dataflow block divides the caller's block; what is read behind it is a result.
    Raises TypeError for a key that names no function, and for a value that is none.
    """
    for key, value in function_map.items():
        if not isinstance(key, (str, GlobalVar)) or not isinstance(value, Function):
            raise TypeError(
                message(
                    "inline_functions", found=f"{key!r}: {type(value).__name__}",
                    legal="functions of Relax by name, or by global variable",
                )
            )  # fmt: skip
    names = {key if isinstance(key, str) else key.name_hint: f for key, f in function_map.items()}
    result = _Inliner(names).visit_expr(func)
    assert isinstance(result, Function), "a function stays one"
    if result is func:
        return func
    escaping = _Escaping()
    escaping.visit_expr(result)
    if escaping.found:
        result = _Outward(escaping.found).visit_expr(result)
        assert isinstance(result, Function), "a function stays one"
    return TIDIERS.get("inlined")(result)


class _Escaping(PyExprVisitor):
    """Inner values of dataflow blocks that are read outside of their block."""

    def __init__(self) -> None:
        self._home: dict[Id, DataflowBlock] = {}
        self._block: BindingBlock | None = None
        self.found: set[Id] = set()

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        self._home.update({binding.var.vid: block for binding in block.bindings})
        self._within(block)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        self._within(block)

    def _within(self, block: BindingBlock) -> None:
        before, self._block = self._block, block
        for binding in block.bindings:
            self.visit_binding(binding)
        self._block = before

    def visit_dataflow_var_(self, op: DataflowVar) -> None:
        if self._home.get(op.vid) is not self._block:
            self.found.add(op.vid)


class _Outward(PyExprMutator):
    """Makes the given inner values results of their blocks."""

    def __init__(self, found: set[Id]) -> None:
        super().__init__()
        self._found = found

    def visit_dataflow_var_def_(self, var: DataflowVar) -> Var:
        if var.vid not in self._found:
            return super().visit_dataflow_var_def_(var)  # type: ignore[no-any-return]
        new = Var(var.vid, var.struct_info_, var.span)
        self.set_var_remap(var.vid, new)
        return new


# --- copies ---


class _Copier(PyExprMutator):
    """New variables and symbols in place of all that are bound."""

    def __init__(self, symbols: Mapping[tir.Var, tir.Var]) -> None:
        super().__init__()
        self.symbols = dict(symbols)

    def visit_prim_expr(self, expr: PrimExpr) -> PrimExpr:
        return substitute(expr, self.symbols) if self.symbols else expr

    def visit_var_def(self, var: Var) -> Var:
        info = var.struct_info_
        new = type(var)(
            var.name_hint, None if info is None else self.visit_struct_info(info), var.span
        )
        self.set_var_remap(var.vid, new)
        return new

    def visit_var_binding_(self, binding: VarBinding) -> None:
        if not isinstance(binding.value, Function):
            super().visit_var_binding_(binding)
            return
        new = self.visit_var_def(binding.var)  # first, as a local function may call itself
        value = self.visit_expr(binding.value)
        if value.struct_info_ is not None:
            new = self.with_struct_info(new, value.struct_info_)
            self.set_var_remap(binding.var.vid, new)
        self.builder_.emit_normalized(VarBinding(new, value, binding.span))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        for var in tir_vars_in_struct_info(binding.struct_info):
            self.symbols.setdefault(var, var.copy_with_suffix(""))
        super().visit_match_cast_(binding)


@explained
def copy_with_new_vars(func: Function) -> Function:
    """A copy of the function that shares no variable and no symbol with it."""
    defined: dict[tir.Var, tir.Var] = {}
    for param in func.params:
        for var in tir_vars_in_struct_info(param.struct_info):
            defined.setdefault(var, var.copy_with_suffix(""))
    copy = _Copier(defined).visit_expr(func)
    assert isinstance(copy, Function), "a function stays one"
    return copy
