"""Relay programs in Relax: the one road to kernels.

    def @main(%x: Tensor[(2), float32]) { %0 = add(%x, %x); nn.relu(%0) }
    ->
    def main(x: R.Tensor((2,), "float32")):
        lv = R.add(x, x)
        gv = R.nn.relu(lv)

Functions that are called where they are known are inlined at the call. What is left of
functions as values, references and data types has no form in Relax: `NotFirstOrder` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tvm import relax
from tvm.error import message
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.span import span_scope
from tvm.relax import op as R
from tvm.relax import transform as relax_transform

from .expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from .function import Function
from .outside_code import OutsideCode, codegen_of, outside_functions
from .to_relax_types import NotFirstOrder, Symbols, lowered
from .traverse import children


class _Closure(NamedTuple):
    """A function with the values of the variables around it."""

    func: Function
    scope: _Scope


class _Scope:
    """Values by expression and by variable; what an inner scope adds is forgotten with it."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.values: dict[int, Any] = {} if outer is None else dict(outer.values)
        self.vars: dict[Node, Any] = {} if outer is None else dict(outer.vars)


class _Translator:
    """The functions of one module on their way to Relax."""

    def __init__(self, mod: IRModule, outside: OutsideCode) -> None:
        self.mod = mod
        self.outside = outside
        self.bb = relax.BlockBuilder()
        self.names: dict[str, GlobalVar] = {}
        self.open: list[Function] = []  # those that are being inlined

    def function(self, name: str, func: Function) -> None:
        symbols = Symbols()
        params = [
            relax.Var(param.name_hint, symbols.info(param.checked_type)) for param in func.params
        ]
        scope = _Scope()
        scope.vars.update({p.vid: made for p, made in zip(func.params, params)})
        with self.bb.function(name, params):
            value = self.expr(func.body, scope)
            if isinstance(value, _Closure):
                raise NotFirstOrder(f"@{name} gives a function; legal: tensors and tuples of them")
            self.bb.emit_func_output(self.operand(value))

    def operand(self, value: Any) -> Any:
        """A value that stands as an operand."""
        if isinstance(value, (_Closure, GlobalVar, Op)):
            raise NotFirstOrder(
                message("a function is used as a value", legal="functions that are called")
            )
        if isinstance(value, tuple):
            return relax.Tuple([self.operand(field) for field in value])
        return value

    # --- expressions ---

    def expr(self, root: RelaxExpr, scope: _Scope) -> Any:
        """The value of an expression; tuples of Relay are tuples of values."""
        stack: list[tuple[RelaxExpr, int]] = [(root, 0)]
        while stack:
            expr, step = stack.pop()
            if id(expr) in scope.values:
                continue
            if isinstance(expr, Let):
                if step == 0:
                    if isinstance(expr.value, Function):
                        scope.vars[expr.var.vid] = _Closure(expr.value, scope)
                        stack.extend([(expr, 2), (expr.body, 0)])
                    else:
                        stack.extend([(expr, 1), (expr.value, 0)])
                elif step == 1:
                    scope.vars[expr.var.vid] = scope.values[id(expr.value)]
                    stack.extend([(expr, 2), (expr.body, 0)])
                else:
                    scope.values[id(expr)] = scope.values[id(expr.body)]
                continue
            if step == 0 and isinstance(expr, (Call, Tuple, TupleGetItem)):
                stack.append((expr, 1))
                stack.extend([(part, 0) for part in reversed(children(expr))])
                continue
            if step == 0 and isinstance(expr, If):
                stack.extend([(expr, 1), (expr.cond, 0)])
                continue
            with span_scope(expr.span):
                scope.values[id(expr)] = self.visit(expr, scope)
        return scope.values[id(root)]

    def visit(self, expr: RelaxExpr, scope: _Scope) -> Any:
        rule = _RULES.get(type(expr))
        if rule is None:
            raise NotFirstOrder(
                message(
                    f"a {type(expr).__name__} has no form in Relax",
                    found=str(expr)[:400],
                    legal="calls, tuples, lets, conditionals and functions that are called",
                )
            )
        return rule(self, expr, scope)

    def var(self, expr: Var, scope: _Scope) -> Any:
        found = scope.vars.get(expr.vid)
        if found is None:
            raise NotFirstOrder(
                f"the variable %{expr.name_hint} is free; legal: parameters and bound variables"
            )
        return found

    def tuple(self, expr: Tuple, scope: _Scope) -> Any:
        return tuple([scope.values[id(field)] for field in expr.fields])

    def item(self, expr: TupleGetItem, scope: _Scope) -> Any:
        value = scope.values[id(expr.tuple_value)]
        if isinstance(value, tuple):
            return value[expr.index]
        return self.bb.emit(relax.TupleGetItem(value, expr.index))

    def call(self, expr: Call, scope: _Scope) -> Any:
        args = [scope.values[id(arg)] for arg in expr.args]
        if isinstance(expr.op, Op):
            return self.result(lowered(self.bb, expr, [self.operand(arg) for arg in args]))
        callee = scope.values[id(expr.op)]
        if isinstance(callee, _Closure):
            if codegen_of(callee.func) is not None:
                return self.bb.emit(self.outside.call(callee.func, "", args))
            return self.inline(callee, args)
        if isinstance(callee, GlobalVar):
            return self.global_call(callee, args)
        raise NotFirstOrder(
            message("a call of a function that is known only at run time", found=str(expr)[:400])
        )

    def result(self, value: Any) -> Any:
        """What a lowered call gives: tuples in parts, tensors in a variable."""
        if isinstance(value, relax.Tuple):
            return tuple([self.result(field) for field in value.fields])
        if isinstance(value, (relax.Var, relax.Constant)):
            return value
        return self.bb.emit(value)

    def inline(self, closure: _Closure, args: Sequence[Any]) -> Any:
        if closure.func in self.open:
            raise NotFirstOrder("a local function calls itself; legal: functions of the module")
        self.open.append(closure.func)
        inner = _Scope(closure.scope)
        for part in _inside(closure.func):  # values of an earlier call are not those of this one
            inner.values.pop(id(part), None)
        inner.vars.update({p.vid: arg for p, arg in zip(closure.func.params, args)})
        made = self.expr(closure.func.body, inner)
        self.open.pop()
        return made

    def global_call(self, callee: GlobalVar, args: Sequence[Any]) -> Any:
        func = self.mod[callee.name_hint]
        if not isinstance(func, Function):
            raise NotFirstOrder(f"@{callee.name_hint} is no function of Relay")
        if codegen_of(func) is not None:
            return self.bb.emit(self.outside.call(func, callee.name_hint, args))
        if any(isinstance(arg, _Closure) for arg in args) or func.type_params:
            return self.inline(_Closure(func, _Scope()), args)
        known = self.names.get(callee.name_hint)
        if known is None:
            raise NotFirstOrder(f"@{callee.name_hint} takes or gives functions or data types")
        made = relax.Call(known, [self.operand(arg) for arg in args])
        return self.bb.emit(made)

    def choice(self, expr: If, scope: _Scope) -> Any:
        cond = self.operand(scope.values[id(expr.cond)])
        branches = [self.branch(e, scope) for e in (expr.true_branch, expr.false_branch)]
        return self.bb.emit(relax.If(cond, *branches))

    def branch(self, expr: RelaxExpr, scope: _Scope) -> Any:
        self.bb.begin_scope()
        self.bb.begin_binding_block()
        value = self.bb.normalize_argument(self.operand(self.expr(expr, _Scope(scope))))
        if not isinstance(value, relax.Var):
            value = self.bb.emit(value)
        block = self.bb.end_block()
        self.bb.end_scope()
        return self.bb.normalize(relax.SeqExpr([block], value))

    def declare(self, name: str, func: Function) -> None:
        """A signature for calls of a function that is not translated yet."""
        symbols = Symbols()
        made = func.checked_type
        infos = [symbols.info(arg) for arg in made.arg_types]  # type: ignore[attr-defined]
        ret = symbols.info(made.ret_type)  # type: ignore[attr-defined]
        self.names[name] = GlobalVar(name, relax.FuncStructInfo(infos, ret))


def _inside(func: Function) -> list[RelaxExpr]:
    from .traverse import post_order

    return list(post_order(func.body))


_RULES: Final[dict[type, Callable[[_Translator, Any, _Scope], Any]]] = {
    Constant: lambda t, e, s: relax.Constant(e.data),
    Var: _Translator.var,
    GlobalVar: lambda t, e, s: e,
    Op: lambda t, e, s: e,
    Tuple: _Translator.tuple,
    TupleGetItem: _Translator.item,
    Call: _Translator.call,
    If: _Translator.choice,
    Function: lambda t, e, s: _Closure(e, s),
}


def to_relax(mod: IRModule, entry: str = "main") -> IRModule:
    """The module in Relax; types are inferred first.

    Functions that `entry` does not need (by calls that stay calls) are left out.
    """
    from .qnn.transform import without_quantized
    from .transform import InferType

    mod = InferType()(mod)
    outside = OutsideCode(outside_functions(mod))
    mod = without_quantized(mod)
    translator = _Translator(mod, outside)
    functions = {
        var.name_hint: func
        for var, func in mod.functions.items()
        if isinstance(func, Function) and not func.type_params and _is_first_order(func)
    }
    for name, func in functions.items():
        translator.declare(name, func)
    if entry not in functions:
        raise NotFirstOrder(f"@{entry} takes or gives functions or data types")
    functions = {n: f for n, f in functions.items() if n == entry or codegen_of(f) is None}
    for name in _needed(entry, functions):
        translator.function(name, functions[name])
    made = translator.bb.finalize()
    made = outside.linked(_joined_names(made, translator.names))
    return relax_transform.ConvertToDataflow()(made)


def _is_first_order(func: Function) -> bool:
    try:
        for found in (*[p.checked_type for p in func.params], func.ret_type):
            Symbols().info(found)  # type: ignore[arg-type]
    except NotFirstOrder:
        return False
    return True


def _needed(entry: str, functions: dict[str, Function]) -> list[str]:
    """The functions that are reached from the entry, callees first where there is an order."""
    from .traverse import post_order

    found: list[str] = []
    stack = [entry]
    while stack:
        name = stack.pop()
        if name in found or name not in functions:
            continue
        found.append(name)
        for expr in post_order(functions[name]):
            if isinstance(expr, GlobalVar):
                stack.append(expr.name_hint)
    return found[::-1]


def _joined_names(mod: IRModule, names: dict[str, GlobalVar]) -> IRModule:
    """Calls refer to the variables under which the functions stand."""
    own = {var.name_hint: var for var in mod.functions}

    class Renamer(relax.PyExprMutator):
        def visit_global_var_(self, op: GlobalVar) -> RelaxExpr:
            known = names.get(op.name_hint)
            return own[op.name_hint] if known is op else op

    if len(names) <= 1:
        return mod
    renamer = Renamer(mod)
    for var, func in list(mod.functions.items()):
        if isinstance(func, relax.Function):
            mod[var] = renamer.visit_expr(func)
    return mod


__all__ = ["NotFirstOrder", "R", "to_relax"]
