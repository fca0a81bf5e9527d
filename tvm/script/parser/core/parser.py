"""Statements of a program, read by the rules of their dialect."""

from __future__ import annotations

import abc
import ast
import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tvm.error import DiagnosticError, ScriptError
from tvm.ir.span import Span
from tvm.script.ir_builder.base import IRBuilder

from . import dispatch
from .diagnostics import Diagnostics, Source
from .error import ParserError
from .evaluator import POISON, ExprEvaluator, Reported, bind_names, eval_assign
from .names import VarTable, VarTableFrame

__all__ = ["Parser", "ScriptMacro", "VarTable", "VarTableFrame", "current_parser"]

DEFAULT_TOKEN: Final = "default"


class _Running(threading.local):
    def __init__(self) -> None:
        self.parsers: list[Parser] = []


_RUNNING: Final = _Running()


def current_parser() -> Parser | None:
    """The parser that is reading a program right now."""
    return _RUNNING.parsers[-1] if _RUNNING.parsers else None


class ScriptMacro(abc.ABC):
    """A function whose body is parsed again for each call."""

    def __init__(
        self,
        source: Source,
        closure_vars: Mapping[str, Any],
        func: Callable[..., Any],
        hygienic: bool,
    ) -> None:
        self.source = source
        # a macro may call itself; its own name has no value yet where it is defined
        self.closure_vars = {func.__name__: self, **closure_vars}
        self.func = func
        self.hygienic = hygienic

    def __repr__(self) -> str:
        return self.source.source

    @abc.abstractmethod
    def parse_macro(self, parser: Parser) -> Any:
        """Read the body; the parameters have their values."""

    def get_macro_def(self) -> ast.FunctionDef:
        """The macro's definition."""
        for stmt in self.source.as_ast().body:
            if isinstance(stmt, ast.FunctionDef) and stmt.name == self.func.__name__:
                return stmt
        raise ScriptError(f"cannot find macro definition for {self.func.__name__}")

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As an attribute of a class a macro is a method."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        parser = current_parser()
        if parser is None:
            raise ScriptError(f"macro {self.func.__name__} is called outside of TVMScript")
        bound = inspect.signature(self.func).bind(*args, **kwargs)
        bound.apply_defaults()
        outer, span = parser.var_table, parser.span
        if self.hygienic:
            parser.var_table = VarTable(self.closure_vars)
        try:
            with parser.with_diag_source(self.source), parser.var_table.with_frame():
                for name, value in bound.arguments.items():
                    parser.var_table.add(name, value)
                return self.parse_macro(parser)
        finally:
            parser.var_table = outer
            parser.set_span(span)


class Parser(ast.NodeVisitor):
    """Reads a program: each statement by the rule of the dialect it stands in."""

    diag: Diagnostics
    dispatch_tokens: list[str]
    function_annotations: dict[str, dict[str, Any]] | None
    var_table: VarTable
    inside_function: bool
    current_class: str | None
    base_py_module_context: bool

    def __init__(
        self,
        source: Source,
        function_annotations: dict[str, dict[str, Any]] | None = None,
        outer_names: Mapping[str, Any] | None = None,
    ) -> None:
        self.diag = Diagnostics(source)
        self.dispatch_tokens = [DEFAULT_TOKEN]
        self.function_annotations = function_annotations
        self.var_table = VarTable(outer_names)
        self.inside_function = False
        self.current_class = None
        self.base_py_module_context = False
        self.span: Span | None = None
        self.poisoned: set[str] = set()  # names whose definition was wrong, wherever it stood
        self._cause: BaseException | None = None

    # --- the whole ---

    def parse(self, extra_vars: Mapping[str, Any] | None = None) -> None:
        """Read the program with these names; what it makes is the builder's result.

        Raises a DiagnosticError that holds all mistakes found.
        """
        _RUNNING.parsers.append(self)
        try:
            with self.var_table.with_frame():
                for name, value in (extra_vars or {}).items():
                    self.var_table.add(name, value)
                self.visit_body(self.diag.source.as_ast().body)
        except Reported:
            pass
        finally:
            _RUNNING.parsers.pop()
        self.raise_if_wrong()

    def raise_if_wrong(self) -> None:
        """Raise what was noted so far."""
        if self.diag.found:
            raise self.diag.failure() from self._cause

    def get_dispatch_token(self, node: ast.FunctionDef) -> str:
        """The dialect of a function, told by its decorator."""
        if not node.decorator_list:
            raise ParserError(node, "Function must be decorated")
        decorator = node.decorator_list[0]
        while isinstance(decorator, ast.Call):
            decorator = decorator.func
        word = self.eval_expr(decorator)
        token = getattr(word, "dispatch_token", None)
        if token is None:
            raise ParserError(
                node.decorator_list[0], "The parser does not understand the decorator"
            )
        return str(token)

    # --- contexts ---

    @contextmanager
    def with_dispatch_token(self, token: str) -> Iterator[None]:
        """Statements are read by the rules of a dialect for the time of the block."""
        self.dispatch_tokens.append(token)
        enter = dispatch.get(token, "enter_token")
        context = enter(self) if enter is not None else None  # type: ignore[call-arg]
        try:
            yield
        finally:
            leave = dispatch.get(token, "exit_token")
            if leave is not None:
                leave(self, context)
            self.dispatch_tokens.pop()

    def set_class_context(self, class_name: str, is_base_py_module: bool = False) -> None:
        """Note the class whose body is being read."""
        self.current_class = class_name
        self.base_py_module_context = is_base_py_module

    @contextmanager
    def with_diag_source(self, source: Source) -> Iterator[None]:
        """Diagnostics refer to another text within the `with` block."""
        outer = self.diag.source
        self.diag.source = source
        try:
            yield
        finally:
            self.diag.source = outer

    # --- expressions ---

    def eval_expr(self, node: ast.AST, extra_vars: Mapping[str, Any] | None = None) -> Any:
        """The value of an expression."""
        body = node.body if isinstance(node, ast.Expression) else node
        return ExprEvaluator(self, extra_vars or {}).value(body)

    def eval_assign(
        self,
        target: ast.expr,
        source: Any,
        bind_value: Callable[[Parser, ast.expr, str, Any], Any],
        allow_shadowing: bool = False,
    ) -> dict[str, Any]:
        """Bind the names of a target; `bind_value` says what a name stands for from then on."""
        found = eval_assign(self, target, source)
        for name, value in found.items():
            bound = bind_value(self, target, name, value)
            found[name] = bound
            self.var_table.add(name, bound, allow_shadowing)
        return found

    def report_error(self, node: ast.AST, err: Exception | str) -> None:
        """Note a mistake and leave the statement; reading goes on after it."""
        if isinstance(err, Reported):
            raise err
        if isinstance(err, ParserError):
            node = err.node if hasattr(err.node, "lineno") else node
        if isinstance(err, BaseException) and self._cause is None:
            self._cause = err.__cause__ or err
        message = str(err) or type(err).__name__
        if isinstance(err, KeyError) and err.args:
            message = f"KeyError: {err.args[0]}"
        self.diag.note(node, message)
        raise Reported

    # --- statements ---

    def set_span(self, span: Span | None) -> None:
        """The span of what is made from now on."""
        self.span = span
        if IRBuilder.is_in_scope():
            IRBuilder.current().span = span

    def visit(self, node: ast.AST) -> Any:
        """Read a piece of syntax by the rule of the innermost dialect."""
        kind = type(node).__name__
        # whose function or class it is, its own decorator says
        named = kind in ("FunctionDef", "ClassDef")
        rule = None if named else dispatch.get(self.dispatch_tokens[-1], kind)
        span = self.diag.source.span(node)
        if span is not None:
            self.set_span(span)
        noted = self.diag.count
        try:
            if rule is not None:
                return rule(self, node)
            method = getattr(self, f"visit_{kind}", None)
            if method is None:
                raise ParserError(node, f"{kind} is not supported here")
            return method(node)
        except (DiagnosticError, Reported):
            raise
        except Exception as err:
            if self.diag.count > noted:  # a consequence of what was noted inside
                raise Reported from err
            self.report_error(node, err)

    def visit_body(self, node: list[ast.stmt]) -> Any:
        """Read statements in order; a wrong one is noted and left out."""
        for stmt in node:
            try:
                self.visit(stmt)
            except Reported:
                if self.diag.full:
                    raise
                self._poison(stmt)

    def _poison(self, stmt: ast.stmt) -> None:
        """Names that a wrong statement should have defined raise no mistakes of their own."""
        names: dict[str, Any] = {}
        targets: list[ast.AST] = []
        if isinstance(stmt, ast.Assign):
            targets = list(stmt.targets)
        elif isinstance(stmt, (ast.AnnAssign, ast.AugAssign)):
            targets = [stmt.target]
        elif isinstance(stmt, ast.FunctionDef):
            names[stmt.name] = POISON
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    bind_names(part, POISON, names)
        self.poisoned.update(names)
        for name in names:
            if self.var_table.frames:
                self.var_table.add(name, POISON, allow_shadowing=True)

    def visit_tvm_annotation(self, node: ast.expr) -> Any:
        """The value of an annotation, by the rule of the innermost dialect."""
        rule = dispatch.get(self.dispatch_tokens[-1], "tvm_annotation")
        if rule is None:
            raise ParserError(node, "annotations are not supported here")
        return rule(self, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function, by the rules of the dialect that its decorator names."""
        token = self.get_dispatch_token(node)
        rule = dispatch.get(token, "FunctionDef")
        if rule is None:
            raise ParserError(node, "The parser does not understand the decorator")
        before = dispatch.get(self.dispatch_tokens[-1], "pre_visit_local_function")
        after = dispatch.get(self.dispatch_tokens[-1], "post_visit_local_function")
        with IRBuilder.unwinding():
            if before is not None:
                before(self, node)
            rule(self, node)
            if after is not None:
                after(self, node)

    def visit_tvm_declare_function(self, node: ast.FunctionDef) -> Any:
        """The signature of a function, before the bodies of its module are read."""
        token = self.get_dispatch_token(node)
        with self.with_dispatch_token(token):
            rule = dispatch.get(token, "tvm_declare_function")
            if rule is None:
                raise ParserError(node, "The parser does not understand the decorator")
            return rule(self, node)

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        """A class is a module."""
        rule = dispatch.get("ir", "ClassDef")
        assert rule is not None, "the module dialect reads classes"
        return rule(self, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Outside of functions a name may be given a value, such as the metadata."""
        if len(node.targets) != 1:
            raise ParserError(node, "Consequential assignments like 'a = b = c' are not supported.")
        value = self.eval_expr(node.value)
        for name, item in eval_assign(self, node.targets[0], value).items():
            self.var_table.add(name, item, allow_shadowing=True)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Outside of functions expressions mean nothing, except that text documents."""
        if not isinstance(node.value, ast.Constant):
            raise ParserError(node, "an expression stands here outside of any function")

    def _visit_by_dialect(self, node: ast.AST) -> Any:
        """Syntax that only dialects read."""
        kind = type(node).__name__
        rule = dispatch.get(self.dispatch_tokens[-1], kind)
        if rule is None:
            raise ParserError(node, f"{kind} is not supported here")
        return rule(self, node)

    visit_arguments = visit_For = visit_While = visit_With = visit_AnnAssign = _visit_by_dialect
    visit_If = visit_AugAssign = visit_Assert = visit_Return = _visit_by_dialect
    visit_Continue = visit_Break = _visit_by_dialect

    def visit_Pass(self, node: ast.Pass) -> None:
        """Nothing."""

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        """Nothing: it lets Python keep names of the enclosing function for the program to see."""

    def visit_Import(self, node: ast.Import) -> None:
        """Programs see the names given to them; their imports are there for readers."""
        names = [alias.asname or alias.name.split(".")[0] for alias in node.names]
        self._check_imports(names, node)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """See `visit_Import`."""
        self._check_imports([alias.asname or alias.name for alias in node.names], node)

    def _check_imports(self, names: list[str], node: ast.AST) -> None:
        for name in names:
            if self.var_table.lookup(name) is None:
                raise ParserError(
                    node, f"a program imports nothing by itself; give {name!r} in extra_vars"
                )
