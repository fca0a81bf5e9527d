"""How statements of a Relax function are read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from numbers import Number
from typing import Any

from tvm.ir import structural_equal
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.relax.expr import Call, Function, Var, VarBinding, const, convert_to_expr
from tvm.relax.prim_func_info import prim_func_struct_info
from tvm.relax.struct_info import FuncStructInfo, ObjectStructInfo, TupleStructInfo
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame
from tvm.script.ir_dialect.frame import IRModuleFrame
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.error import ParserError
from tvm.script.parser.core.parser import Parser, VarTable
from tvm.tir.expr import FloatImm, IntImm, SizeVar
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc

# `T` reads `x == y` and its like on symbolic variables in Relax functions too.
from tvm.tir.script import operation as operation
from tvm.tir.script.entry import find_decorator_annotation

from . import builder as R
from .entry import TOKEN, MatchCastPair
from .proxies import StructInfoProxy, as_proxy


class ScriptNames(Mapping[str, Any]):
    """The parser's names as a mapping that is not copied."""

    def __init__(self, table: VarTable) -> None:
        self._table = table

    def __getitem__(self, name: str) -> Any:
        found = self._table.lookup(name, self)
        if found is self:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.get())

    def __len__(self) -> int:
        return len(self._table.get())

    def __contains__(self, name: object) -> bool:
        return self._table.lookup(str(name), self) is not self


def bind_assign_value(
    self: Parser,
    node: ast.expr,
    var_name: str,
    value: Any,
    anno_sinfo: StructInfo | None = None,
) -> Any:
    """What a name stands for after `name = ...`: a symbol, or the variable bound to a value."""
    if isinstance(value, TirVar) and (not value.name or not self.var_table.exist(value)):
        return _bind_symbol(self, node, var_name, value)
    is_number = isinstance(value, (IntImm, FloatImm)) and anno_sinfo is None
    if is_number or _is_plain_python(value):
        return value  # a number of TIR may stand in shapes and attributes
    if isinstance(value, IRBuilderFrame):
        raise ParserError(node, "a frame of Relax is used by `with`")
    if isinstance(value, MatchCastPair):
        if anno_sinfo is not None and not structural_equal(anno_sinfo, value.struct_info):
            raise ParserError(
                node,
                "Cannot specify inconsistent annotation for a match cast pair: the annotation is "
                f"{anno_sinfo}, the cast {value.struct_info}",
            )
        var = R.emit_match_cast(value.value, value.struct_info)
    else:
        is_plain = isinstance(value, Number) and not isinstance(value, PrimExpr)
        var = R.emit(const(value) if is_plain else convert_to_expr(value), anno_sinfo)
    return IRBuilder.name(var_name, var)


def _is_plain_python(value: Any) -> bool:
    """Values of the metaprogram: modules, struct infos, functions keep their names as they are."""
    return isinstance(value, (StructInfoProxy, StructInfo, str)) or not (
        isinstance(value, (RelaxExpr, PrimExpr, MatchCastPair, Number, tuple, list, IRBuilderFrame))
    )


def _bind_symbol(self: Parser, node: ast.expr, var_name: str, value: TirVar) -> TirVar:
    if value.name and value.name != var_name:
        raise ParserError(
            node,
            "Cannot define TIR variables with different names. The LHS of binding should has the "
            "same name provided in RHS.",
        )
    before = self.var_table.lookup(var_name)
    if var_name in self.var_table.name2value and before is not None:
        if not isinstance(before, TirVar):
            raise ParserError(
                node,
                "Cannot redefine a non-TIR-variable object to a TIR variable. Please define the "
                "TIR variable with another name.",
            )
        if before.dtype is not value.dtype:
            raise ParserError(
                node,
                "Expected the same dtype for TIR vars but got "
                f"{value.dtype} vs {before.dtype}",
            )
        return before
    return IRBuilder.name(var_name, value)  # type: ignore[no-any-return]


# --- annotations ---


def eval_struct_info_proxy(self: Parser, node: ast.expr) -> StructInfoProxy:
    """The proxy that an annotation gives."""
    try:
        return as_proxy(self.eval_expr(node))
    except ParserError:
        raise
    except Exception as err:
        raise ParserError(node, str(err)) from err


def eval_struct_info(self: Parser, node: ast.expr, eval_str: bool = False) -> StructInfo:
    """The struct info that an annotation gives; strings in it only with `eval_str`."""
    names = ScriptNames(self.var_table) if eval_str else None
    proxy = eval_struct_info_proxy(self, node)
    try:
        return proxy.as_struct_info(names)
    except Exception as err:  # of a string in it too, which has no lines of its own
        raise ParserError(node, str(err)) from err


@dispatch.register(TOKEN, "tvm_annotation")
def visit_tvm_annotation(self: Parser, node: ast.expr) -> StructInfo:
    """The struct info of an annotation."""
    return eval_struct_info(self, node, eval_str=False)


# --- functions ---


@dispatch.register(TOKEN, "enter_token")
def enter_token(self: Parser) -> dict[str, Any]:
    """From here on Relax is read, inside of a function; what held before, for `exit_token`."""
    context = {"inside_function": self.inside_function}
    self.inside_function = True
    return context


@dispatch.register(TOKEN, "exit_token")
def exit_token(self: Parser, context: dict[str, Any]) -> None:
    """Where Relax is no longer read, what held before holds again."""
    self.inside_function = context["inside_function"]


def is_called(node: Any, func_name: str) -> bool:
    """True if a function of this name is called somewhere in the syntax."""
    return any(
        isinstance(part, ast.Call)
        and isinstance(part.func, ast.Name)
        and part.func.id == func_name
        for part in ast.walk(node)
    )


def is_recursive(node: ast.FunctionDef) -> bool:
    """True if the function calls itself by name."""
    return any(is_called(stmt, node.name) for stmt in node.body)


def collect_symbolic_var_from_prelude(
    self: Parser, node: ast.FunctionDef, symbolic_vars: dict[str, TirVar]
) -> dict[str, TirVar]:
    """Symbols declared at the start of the body tell dtype and kind of those in the signature."""
    found = dict(symbolic_vars)
    for stmt in node.body:
        if not isinstance(stmt, ast.Assign) or len(stmt.targets) != 1:
            continue
        target = stmt.targets[0]
        if not isinstance(target, ast.Name) or target.id not in found:
            continue
        declaration = isinstance(stmt.value, ast.Call) and not stmt.value.args
        declared = self.eval_expr(stmt.value) if declaration else None
        if isinstance(declared, TirVar):
            found[target.id] = type(declared)(target.id, declared.dtype)
    return found


def collect_symbolic_var_from_params(self: Parser, node: ast.FunctionDef) -> None:
    """Give the quoted symbols of the signature their variables."""
    names: dict[str, TirVar] = {}
    for arg in node.args.args:
        if arg.annotation is None:
            raise ParserError(arg, "Type annotation is required for function parameters.")
        for name in sorted(eval_struct_info_proxy(self, arg.annotation).get_symbolic_vars()):
            names.setdefault(name, TirVar(name, "int64"))
    for name, var in collect_symbolic_var_from_prelude(self, node, names).items():
        self.var_table.add(name, var, allow_shadowing=False)


@dispatch.register(TOKEN, "FunctionDef")
def visit_function_def(self: Parser, node: ast.FunctionDef) -> None:
    """A function: symbols, signature, body."""
    is_inner = self.inside_function
    _inform_global_vars()
    pure = find_decorator_annotation(node, "pure")
    private = find_decorator_annotation(node, "private", default=False)
    if is_inner and is_recursive(node):
        self.var_table.add(node.name, Var(node.name, _signature(self, node)))
    with (
        self.var_table.with_frame(),
        self.with_dispatch_token(TOKEN),
        R.function(is_pure=pure, is_private=private or is_inner),
    ):
        R.func_name(node.name)
        collect_symbolic_var_from_params(self, node)
        if node.returns is not None:
            R.func_ret_struct_info(eval_struct_info(self, node.returns, eval_str=True))
        self.visit(node.args)
        self.visit_body(node.body)


def _inform_global_vars() -> None:
    """Tell what is known of the module's TIR functions, for calls of them."""
    module = IRBuilder.current().find(IRModuleFrame)
    if module is None:
        return
    for var, func in module.declared.items():
        if isinstance(func, PrimFunc) and var.struct_info_ is None:
            var.struct_info_ = prim_func_struct_info(
                func, is_declared=var not in module.functions
            )


def _signature(self: Parser, node: ast.FunctionDef) -> FuncStructInfo:
    with self.var_table.with_frame():
        collect_symbolic_var_from_params(self, node)
        params = [
            eval_struct_info(self, arg.annotation, eval_str=True)
            for arg in node.args.args
            if arg.annotation is not None
        ]
        ret: StructInfo = ObjectStructInfo()
        if node.returns is not None:
            ret = eval_struct_info(self, node.returns, eval_str=True)
    return FuncStructInfo(params, ret, find_decorator_annotation(node, "pure"))


@dispatch.register(TOKEN, "tvm_declare_function")
def visit_tvm_declare_function(self: Parser, node: ast.FunctionDef) -> tuple[str, Function]:
    """The signature, for other functions of the module to call."""
    info = _signature(self, node)
    names = [arg.arg for arg in node.args.args]
    params = [Var(name, part) for name, part in zip(names, info.params or ())]
    return node.name, Function.create_empty(params, info.ret, info.purity)


@dispatch.register(TOKEN, "pre_visit_local_function")
def pre_visit_local_function(self: Parser, node: ast.FunctionDef) -> None:
    """A function inside a function is built on its own."""
    IRBuilder().__enter__()


@dispatch.register(TOKEN, "post_visit_local_function")
def post_visit_local_function(self: Parser, node: ast.FunctionDef) -> None:
    """Bind the function that was built to its name."""
    inner = IRBuilder.current()
    func = inner.get()
    inner.__exit__(None, None, None)
    reserved = self.var_table.name2value.get(node.name)
    if reserved and isinstance(reserved[-1], Var) and is_recursive(node):
        R.emit_var_binding(VarBinding(reserved[-1], func, self.span))
        return
    var = IRBuilder.name(node.name, R.emit(func))
    self.var_table.add(node.name, var, allow_shadowing=True)


@dispatch.register(TOKEN, "arguments")
def visit_arguments(self: Parser, node: ast.arguments) -> None:
    """Parameters with their struct infos."""
    if node.vararg or node.kwarg or node.kwonlyargs or node.posonlyargs or node.defaults:
        wrong = node.vararg or node.kwarg or (node.kwonlyargs or node.posonlyargs or node.args)[0]
        raise ParserError(wrong, "a Relax function takes plain positional parameters only")
    for arg in node.args:
        if arg.annotation is None:
            raise ParserError(arg, "Type annotation is required for function parameters.")
        info = eval_struct_info(self, arg.annotation, eval_str=True)
        try:
            self.var_table.add(arg.arg, R.arg(arg.arg, info))
        except ValueError as err:
            raise ParserError(arg, str(err)) from err


# --- statements ---


@dispatch.register(TOKEN, "Assign")
def visit_assign(self: Parser, node: ast.Assign) -> None:
    """A binding."""
    if len(node.targets) != 1:
        raise ParserError(node, "Consequential assignments like 'a = b = c' are not supported.")
    value = self.eval_expr(node.value)
    target = node.targets[0]
    if isinstance(target, ast.Name):
        bound = bind_assign_value(self, target, target.id, value)
        self.var_table.add(target.id, bound, allow_shadowing=True)
        return
    self.eval_assign(target, value, bind_assign_value, allow_shadowing=True)


@dispatch.register(TOKEN, "AnnAssign")
def visit_ann_assign(self: Parser, node: ast.AnnAssign) -> None:
    """A binding with a struct info."""
    if node.value is None or not isinstance(node.target, ast.Name):
        raise ParserError(node, "an annotated binding has one name and a value")
    value = self.eval_expr(node.value)
    info = eval_struct_info(self, node.annotation, eval_str=False)
    bound = bind_assign_value(self, node.target, node.target.id, value, info)
    self.var_table.add(node.target.id, bound, allow_shadowing=True)


@dispatch.register(TOKEN, "Expr")
def visit_expr_stmt(self: Parser, node: ast.Expr) -> None:
    """Something done for its effects: it must give nothing."""
    value = self.eval_expr(node.value)
    if isinstance(value, RelaxExpr):
        var = IRBuilder.name("_", R.emit(value))
        info = var.struct_info_
        if not isinstance(info, TupleStructInfo) or info.fields:
            raise ParserError(
                node,
                "Non-void relax expressions must be bound to a variable, but expression of type "
                f"{info} was used as a statement.",
            )
    elif value is not None and not isinstance(value, str):
        raise ParserError(node, f"Unsupported Expr stmt type {type(value).__name__}.")


@dispatch.register(TOKEN, "With")
def visit_with(self: Parser, node: ast.With) -> None:
    """A dataflow block; its outputs keep their names after it."""
    if len(node.items) != 1:
        raise ParserError(node, "Only one dataflow block is allowed")
    frame = self.eval_expr(node.items[0].context_expr)
    if not isinstance(frame, IRBuilderFrame):
        raise ParserError(
            node.items[0].context_expr, "Invalid context expression in the with-statement."
        )
    if node.items[0].optional_vars is not None:
        raise ParserError(
            node.items[0].context_expr,
            "Relax syntax doesn't allow binding expressions in `with` to variables",
        )
    with self.var_table.with_frame():
        with frame:
            self.visit_body(node.body)
        visible = {
            name: values[-1]
            for name, values in self.var_table.name2value.items()
            if name in self.var_table.frames[-1].vars
        }
    for var in getattr(frame, "output_vars", None) or ():  # a block may give nothing
        for name, value in visible.items():
            if value is var:
                self.var_table.add(name, var, allow_shadowing=True)
    for name, value in visible.items():  # symbols are the function's own
        if isinstance(value, (TirVar, SizeVar)):
            self.var_table.add(name, value, allow_shadowing=True)


@dispatch.register(TOKEN, "If")
def visit_if(self: Parser, node: ast.If) -> None:
    """A choice whose branches end with a binding of the same name, or one made now."""
    condition = self.eval_expr(node.test)
    if isinstance(condition, bool):
        self.visit_body(node.body if condition else node.orelse)
        return
    if not node.orelse:
        raise ParserError(node, "Else statements are required for relax dataflow if statement.")
    span = self.span
    with R.If(condition) as frame:
        for branch, stmts in ((R.Then(), node.body), (R.Else(), node.orelse)):
            with self.var_table.with_frame(), branch:
                self.visit_body(stmts)
            self.set_span(span)
    self.var_table.add(frame.var_name, frame.var, allow_shadowing=True)


@dispatch.register(TOKEN, "Return")
def visit_return(self: Parser, node: ast.Return) -> None:
    """The function's value."""
    if node.value is None:
        raise ParserError(node, "a Relax function returns a value; legal: return R.tuple()")
    R.func_ret_value(convert_to_expr(self.eval_expr(node.value)))


@dispatch.register(TOKEN, "call_global")
def call_global(self: Parser, func: GlobalVar, args: list[Any]) -> RelaxExpr:
    """A call of a function of the module."""
    return Call(func, [convert_to_expr(arg) for arg in args], None, None, self.span)
