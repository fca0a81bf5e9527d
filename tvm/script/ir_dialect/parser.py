"""How modules are read: all functions are declared first, so that any may call any other."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

from tvm.error import ScriptError
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.node import make_node
from tvm.script.parser.core import dispatch
from tvm.script.parser.core.error import ParserError
from tvm.script.parser.core.evaluator import POISON, Reported
from tvm.script.parser.core.parser import Parser

from . import builder as I
from .entry import PYTHON_TOKEN, TOKEN
from .frame import IRModuleFrame


class ModuleWithGlobalVars:
    """The module as its functions see it: `cls.name`, `Module.name`."""

    def __init__(self, name: str, frame: IRModuleFrame) -> None:
        self._name = name
        self._frame = frame

    def __getattr__(self, attr: str) -> GlobalVar:
        var = self.__dict__["_frame"].global_vars.get(attr)
        if var is None:
            known = sorted(self.__dict__["_frame"].global_vars)
            raise AttributeError(
                f"Cannot find the function {attr!r} in the current IRModule {self._name}; "
                f"its functions are: {', '.join(known)}"
            )
        return var  # type: ignore[no-any-return]

    def __dir__(self) -> list[str]:
        return sorted(self._frame.global_vars)


@dispatch.register(TOKEN, "ClassDef")
def visit_class_def(self: Parser, node: ast.ClassDef) -> None:
    """A module: attributes and names, then declarations, then bodies."""
    functions = [stmt for stmt in node.body if isinstance(stmt, ast.FunctionDef)]
    others = [stmt for stmt in node.body if not isinstance(stmt, ast.FunctionDef)]
    with self.var_table.with_frame(), I.ir_module() as frame:
        self.set_class_context(node.name, any(_is_py_base(base) for base in node.bases))
        module = ModuleWithGlobalVars(node.name, frame)
        self.var_table.add(node.name, module)
        with self.with_dispatch_token(TOKEN):
            self.visit_body(others)
            readable = [stmt for stmt in functions if not _is_python_method(stmt)]
            for stmt in readable:
                _declare(self, stmt, frame)
            self.visit_body(list(readable))


def _is_python_method(node: ast.FunctionDef) -> bool:
    """True for `__init__` and its like, which are no functions of the module."""
    return node.name.startswith("__") and not node.decorator_list


def _is_py_base(base: ast.expr) -> bool:
    return getattr(base, "id", getattr(base, "attr", "")) == "BasePyModule"


@dispatch.register(PYTHON_TOKEN, "tvm_declare_function")
def visit_tvm_declare_function(self: Parser, node: ast.FunctionDef) -> tuple[str, BaseFunc]:
    """A Python function is an outside function that knows its own text."""
    text = ast.get_source_segment(self.diag.source.source, node) or ast.unparse(node)
    made = make_node("relax.expr.ExternFunc", global_symbol=node.name)
    assert isinstance(made, BaseFunc)
    facts = {
        "is_pyfunc": True,
        "function_name": node.name,
        "python_source": textwrap.dedent(" " * node.col_offset + text),
    }
    return node.name, made.with_attrs(facts)


@dispatch.register(PYTHON_TOKEN, "FunctionDef")
def visit_function_def(self: Parser, node: ast.FunctionDef) -> None:
    """The body of a Python function is not read: its declaration is all that there is."""
    frame = I.current_ir_module()
    frame.define(node.name, frame.declared[frame.global_vars[node.name]])


def _declare(self: Parser, node: ast.FunctionDef, frame: IRModuleFrame) -> None:
    try:
        declared: Any = self.visit_tvm_declare_function(node)
    except Reported:
        return
    except Exception as err:
        try:
            self.report_error(node, err)
        except Reported:
            self.var_table.add(node.name, POISON, allow_shadowing=True)
        return
    if declared is not None:
        name, signature = declared
        try:
            frame.declare(name, signature)
        except ScriptError as err:
            raise ParserError(node, str(err)) from err


@dispatch.register(TOKEN, "Assign")
def visit_assign(self: Parser, node: ast.Assign) -> None:
    """A name for a value, or for a function made elsewhere."""
    if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name):
        raise ParserError(node, "Assign is only supported with one name as its target.")
    name, value = node.targets[0].id, self.eval_expr(node.value)
    frame = I.current_ir_module()
    if hasattr(value, "TYPE_KEY") and value.TYPE_KEY in ("relax.expr.ExternFunc",):
        value = frame.define(name, value)
    self.var_table.add(name, value, allow_shadowing=True)


@dispatch.register(TOKEN, "Expr")
def visit_expr_stmt(self: Parser, node: ast.Expr) -> None:
    """`I.module_attrs(...)` and their like; text documents."""
    self.eval_expr(node.value)


# A function of a module is none inside another one: nothing is to be done around it.


@dispatch.register(TOKEN, "pre_visit_local_function")
def pre_visit_local_function(self: Parser, node: ast.FunctionDef) -> None:
    """Functions of the module are put in by their own frames."""


@dispatch.register(TOKEN, "post_visit_local_function")
def post_visit_local_function(self: Parser, node: ast.FunctionDef) -> None:
    """Functions of the module are put in by their own frames."""
