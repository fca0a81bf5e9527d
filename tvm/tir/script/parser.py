"""How statements of a TensorIR function are read."""

from __future__ import annotations

import ast
from typing import Any

from tvm.ir.expr import GlobalVar, PrimExpr, PrimExprConvertible, RelaxExpr
from tvm.ir.type import PrimType
from tvm.script.ir_builder.base import IRBuilder, IRBuilderFrame
from tvm.script.ir_dialect.frame import IRModuleFrame
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.error import ParserError
from tvm.script.parser.core.parser import Parser
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.expr import Call, IterVar, Var, as_expr
from tvm.tir.function import PrimFunc
from tvm.tir.op.builtin import break_loop, continue_loop, ret

from . import builder as T
from . import operation as operation
from .entry import TOKEN, find_decorator_annotation
from .frames import ForFrame, WhileFrame
from .words import meta_var


def bind_with_value(self: Parser, node: ast.expr, var_name: str, value: Any) -> Any:
    """What a name stands for after `with ... as name`."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            bind_with_value(self, node, f"{var_name}_{i}", item)
        return value
    if isinstance(value, (Buffer, Var)):
        return IRBuilder.name(var_name, value)
    raise ParserError(node, f"Do not know how to bind type: {type(value)} in with statement")


def bind_for_value(self: Parser, node: ast.expr, var_name: str, value: Any) -> Any:
    """What a name stands for after `for name in ...`."""
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            bind_for_value(self, node, f"{var_name}_{i}", item)
        return value
    if isinstance(value, Var):
        return IRBuilder.name(var_name, value)
    raise ParserError(node, f"Do not know how to bind type: {type(value)} in for statement")


def bind_assign_value(self: Parser, node: ast.expr, var_name: str, value: Any) -> Any:
    """What a name stands for after `name = ...`: something new, or a let variable for a value."""
    if isinstance(value, meta_var):
        return value.value
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            bind_assign_value(self, node, f"{var_name}_{i}", item)
        return value
    if isinstance(value, IRBuilderFrame):
        return IRBuilder.name(var_name, value.open_to_end())
    if isinstance(value, (Buffer, IterVar)):
        return IRBuilder.name(var_name, value)
    if isinstance(value, Var) and not self.var_table.exist(value):
        return IRBuilder.name(var_name, value)
    if not _is_expression(value):
        return value
    frame = T.LetStmt(value)
    IRBuilder.name(var_name, frame.var)
    frame.open_to_end()
    return frame.var


def _is_expression(value: Any) -> bool:
    return isinstance(value, (PrimExpr, PrimExprConvertible, bool, int, float)) or (
        getattr(value, "shape", None) == () and hasattr(value, "item")
    )


# --- functions ---


@dispatch.register(TOKEN, "FunctionDef")
def visit_function_def(self: Parser, node: ast.FunctionDef) -> None:
    """A function: signature, then body."""
    private = find_decorator_annotation(node, "private", default=False)
    if self.inside_function:
        raise ParserError(node, "a TensorIR function cannot stand inside another function")
    self.inside_function = True
    try:
        with self.var_table.with_frame(), T.prim_func(is_private=private):
            T.func_name(node.name)
            if node.returns is not None:
                _return_type(self, node.returns)
            with self.with_dispatch_token(TOKEN):
                self.visit(node.args)
                self.visit_body(node.body)
    finally:
        self.inside_function = False


def _return_type(self: Parser, node: ast.expr) -> None:
    result = self.eval_expr(node)
    if result is not None:
        T.func_ret(T.as_type(result))


@dispatch.register(TOKEN, "arguments")
def visit_arguments(self: Parser, node: ast.arguments) -> None:
    """Parameters with their annotations; later ones may use the earlier ones."""
    if node.vararg or node.kwarg or node.kwonlyargs or node.posonlyargs or node.defaults:
        wrong = node.vararg or node.kwarg or (node.kwonlyargs or node.posonlyargs or node.args)[0]
        raise ParserError(wrong, "a TensorIR function takes plain positional parameters only")
    for arg in node.args:
        if arg.annotation is None:
            raise ParserError(arg, "Type annotation required for function parameters.")
        param = T.arg(arg.arg, _parameter(self, arg))
        self.var_table.add(arg.arg, param)


def _parameter(self: Parser, arg: ast.arg) -> Any:
    assert arg.annotation is not None
    value = self.visit_tvm_annotation(arg.annotation)
    if not isinstance(value, (Var, Buffer)):
        raise ParserError(
            arg.annotation,
            f"a parameter is annotated by T.int32, T.handle, T.Buffer(...) or their like, found "
            f"{type(value).__name__}",
        )
    # an annotation that stands in a variable makes a parameter of its own each time
    if self.var_table.exist(value):
        return value.with_changes() if isinstance(value, Buffer) else value.copy_with_name("")
    return value


@dispatch.register(TOKEN, "tvm_annotation")
def visit_tvm_annotation(self: Parser, node: ast.expr) -> Any:
    """The value of an annotation; words such as `T.int32` are called."""
    value = self.eval_expr(node)
    if isinstance(value, str):  # quoted annotations
        value = self.eval_expr(ast.parse(value, mode="eval"))
    return value() if callable(value) else value


@dispatch.register(TOKEN, "tvm_declare_function")
def visit_tvm_declare_function(self: Parser, node: ast.FunctionDef) -> tuple[str, PrimFunc]:
    """The signature, for other functions of the module to call."""
    with self.var_table.with_frame():
        params: list[Var] = []
        buffers: dict[Var, Buffer] = {}
        ret_type = None if node.returns is None else self.eval_expr(node.returns)
        for arg in node.args.args:
            if arg.annotation is None:
                raise ParserError(arg, "Type annotation required for function parameters.")
            value = _parameter(self, arg)
            if isinstance(value, Buffer):
                handle = Var(f"{arg.arg}_handle", "handle")
                params.append(handle)
                buffers[handle] = value
            else:
                params.append(value)
            self.var_table.add(arg.arg, value)
        kind = None if ret_type is None else T.as_type(ret_type)
        return node.name, PrimFunc(params, s.Evaluate(0), kind, buffers)


# --- compound statements ---


@dispatch.register(TOKEN, "For")
def visit_for(self: Parser, node: ast.For) -> None:
    """A loop over a frame of loops; `range` is a serial loop."""
    _refuse_else(node)
    frame = _loop_frame(self, node.iter)
    if not isinstance(frame, ForFrame):
        raise ParserError(
            node.iter,
            "Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, "
            "T.vectorized, T.unroll, T.thread_binding",
        )
    with self.var_table.with_frame(), frame as loops:
        self.eval_assign(node.target, loops, bind_for_value)
        self.visit_body(node.body)


def _loop_frame(self: Parser, node: ast.expr) -> Any:
    if isinstance(node, ast.IfExp):  # which loop it is may be a choice of Python
        return _loop_frame(self, node.body if self.eval_expr(node.test) else node.orelse)
    called = [node.func] if isinstance(node, ast.Call) else []
    while called and isinstance(called[-1], ast.IfExp):
        choice = called.pop()
        assert isinstance(choice, ast.IfExp), "asked above"
        called.append(choice.body if self.eval_expr(choice.test) else choice.orelse)
    if called and self.eval_expr(called[0]) is range:
        assert isinstance(node, ast.Call), "asked above"
        serial = ast.copy_location(ast.Name("range", ast.Load()), node.func)
        node = ast.copy_location(ast.Call(serial, node.args, node.keywords), node)
        return self.eval_expr(node, {"range": T.serial})
    return self.eval_expr(node)


@dispatch.register(TOKEN, "While")
def visit_while(self: Parser, node: ast.While) -> None:
    """A loop with a condition."""
    _refuse_else(node)
    with self.var_table.with_frame(), T.While(self.eval_expr(node.test)):
        self.visit_body(node.body)


def _refuse_else(node: ast.For | ast.While) -> None:
    """Loops of TensorIR have nothing that runs only if they were not broken off."""
    if node.orelse:
        raise ParserError(
            node.orelse[0],
            "the else branch of a loop has no meaning here; legal: statements after the loop",
        )


@dispatch.register(TOKEN, "With")
def visit_with(self: Parser, node: ast.With) -> None:
    """Scopes that end with the statement."""
    with self.var_table.with_frame():
        _enter_items(self, list(node.items), node)


def _enter_items(self: Parser, items: list[ast.withitem], node: ast.With) -> None:
    if not items:
        self.visit_body(node.body)
        return
    item = items.pop(0)
    frame = self.eval_expr(item.context_expr)
    if not isinstance(frame, IRBuilderFrame):
        raise ParserError(item.context_expr, "Invalid context expression in the with-statement.")
    with frame as value:
        if item.optional_vars is not None:
            self.eval_assign(item.optional_vars, value, bind_with_value)
        _enter_items(self, items, node)


@dispatch.register(TOKEN, "If")
def visit_if(self: Parser, node: ast.If) -> None:
    """A choice at run time, or for a Python bool a choice now."""
    condition = self.eval_expr(node.test)
    if isinstance(condition, (PrimExpr, PrimExprConvertible)):
        span = self.span
        with T.If(condition):
            with T.Then(), self.var_table.with_frame():
                self.visit_body(node.body)
            self.set_span(span)
            if node.orelse:
                with T.Else(), self.var_table.with_frame():
                    self.visit_body(node.orelse)
    elif isinstance(condition, bool):
        self.visit_body(node.body if condition else node.orelse)
    else:
        raise ParserError(
            node.test, f"If condition must be a boolean expression, but got {condition}"
        )


# --- simple statements ---


@dispatch.register(TOKEN, "Assign")
def visit_assign(self: Parser, node: ast.Assign) -> None:
    """A store, a name for something new, or a let."""
    if len(node.targets) != 1:
        raise ParserError(node, "Consequential assignments like 'a = b = c' are not supported.")
    target = node.targets[0]
    value = self.eval_expr(node.value)
    if isinstance(target, ast.Subscript):
        T.buffer_store(_buffer_of(self, target), value, _indices(self, target))
        return
    self.eval_assign(target, value, bind_assign_value)


def _buffer_of(self: Parser, target: ast.Subscript) -> Buffer:
    found = self.eval_expr(target.value)
    if not isinstance(found, Buffer):
        raise ParserError(
            target.value, f"only elements of a buffer are stored to, found {type(found).__name__}"
        )
    return found


def _indices(self: Parser, target: ast.Subscript) -> list[Any]:
    given = self.eval_expr(target.slice)
    parts = list(given) if isinstance(given, (tuple, list)) else [given]
    return [_without_gaps(part, i, self, target) for i, part in enumerate(parts)]


def _without_gaps(part: Any, dim: int, self: Parser, target: ast.Subscript) -> Any:
    """A slice with its ends filled in."""
    if not isinstance(part, slice) or (part.start is not None and part.stop is not None):
        return part
    shape = _buffer_of(self, target).shape
    start = 0 if part.start is None else part.start
    return slice(start, shape[dim] if part.stop is None else part.stop, part.step)


@dispatch.register(TOKEN, "AugAssign")
def visit_aug_assign(self: Parser, node: ast.AugAssign) -> None:
    """`target op= value`: the target is read, combined and stored or bound again."""
    loaded = _as_load(node.target)
    combined = ast.copy_location(ast.BinOp(loaded, node.op, node.value), node)
    value = self.eval_expr(combined)
    if isinstance(node.target, ast.Subscript):
        T.buffer_store(_buffer_of(self, node.target), value, _indices(self, node.target))
        return
    self.eval_assign(node.target, value, bind_assign_value, allow_shadowing=True)


def _as_load(target: ast.expr) -> ast.expr:
    if isinstance(target, ast.Subscript):
        made: ast.expr = ast.Subscript(target.value, target.slice, ast.Load())
    elif isinstance(target, ast.Name):
        made = ast.Name(target.id, ast.Load())
    else:
        raise ParserError(target, f"cannot assign to {type(target).__name__} here")
    return ast.copy_location(made, target)


@dispatch.register(TOKEN, "AnnAssign")
def visit_ann_assign(self: Parser, node: ast.AnnAssign) -> None:
    """`x: T.int32 = value`: a let variable of a given type."""
    var = self.visit_tvm_annotation(node.annotation)
    if not isinstance(var, Var):
        raise ParserError(node.annotation, "the annotation of a variable is a type such as T.int32")
    if node.value is None:
        self.eval_assign(node.target, var, bind_assign_value)
        return
    value = self.eval_expr(node.value)
    self.eval_assign(node.target, var, _bind_let_var)
    T.LetStmt(value, var=var).open_to_end()


def _bind_let_var(self: Parser, node: ast.expr, name: str, value: Any) -> Any:
    """A name that stands for a declared variable already is bound to that one again."""
    return IRBuilder.name(name, value)


@dispatch.register(TOKEN, "Expr")
def visit_expr_stmt(self: Parser, node: ast.Expr) -> None:
    """A scope without `with`, an evaluation, or a store by a function."""
    value = self.eval_expr(node.value)
    if value is None or isinstance(value, str):
        return
    if isinstance(value, IRBuilderFrame):
        value.open_to_end()
    elif isinstance(value, s.BufferStore):
        T.buffer_store(value.buffer, value.value, value.indices, value.predicate)
    elif isinstance(value, (PrimExpr, PrimExprConvertible)):
        T.evaluate(as_expr(value))
    elif isinstance(value, (int, bool)):
        T.evaluate(value)
    elif isinstance(value, RelaxExpr):
        raise ParserError(node, f"a Relax expression cannot stand in a TensorIR function: {value}")
    else:
        raise ParserError(node, f"Parsing resulted in unexpected type {type(value)}")


@dispatch.register(TOKEN, "Assert")
def visit_assert(self: Parser, node: ast.Assert) -> None:
    """A condition that must hold for the rest."""
    message = "" if node.msg is None else self.eval_expr(node.msg)
    T.Assert(self.eval_expr(node.test), message).open_to_end()


@dispatch.register(TOKEN, "Return")
def visit_return(self: Parser, node: ast.Return) -> None:
    """Leave the function with a value."""
    value = None if node.value is None else self.eval_expr(node.value)
    if value is None:
        raise ParserError(node, "Expression to be returned must be a PrimExpr")
    T.evaluate(ret(value))


@dispatch.register(TOKEN, "Continue")
def visit_continue(self: Parser, node: ast.Continue) -> None:
    """Go on with the next iteration."""
    _need_loop(node, "continue")
    T.evaluate(continue_loop())


@dispatch.register(TOKEN, "Break")
def visit_break(self: Parser, node: ast.Break) -> None:
    """Leave the loop."""
    _need_loop(node, "break")
    T.evaluate(break_loop())


def _need_loop(node: ast.stmt, word: str) -> None:
    builder = IRBuilder.current()
    if builder.find(ForFrame) is None and builder.find(WhileFrame) is None:
        raise ParserError(node, f"{word} is not within a loop; legal: in the body of for or while")


@dispatch.register(TOKEN, "pre_visit_local_function")
def pre_visit_local_function(self: Parser, node: ast.FunctionDef) -> None:
    """Functions do not nest."""
    raise ParserError(node, "a TensorIR function cannot contain another function")


@dispatch.register(TOKEN, "call_global")
def call_global(self: Parser, func: GlobalVar, args: list[Any]) -> PrimExpr:
    """A call of a function of the module, of the type that the function returns."""
    module = IRBuilder.current().find(IRModuleFrame)
    signature = None if module is None else module.declared.get(func)
    kind = getattr(signature, "ret_type", None)
    dtype = kind.dtype if isinstance(kind, PrimType) else "void"
    return Call(dtype, func, args, self.span)
