"""Expressions of a program, interpreted from the syntax tree against the given names only.

No text is ever executed: each kind of syntax has its own small rule below. Nodes made on the way
get the span of their statement.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from tvm.ir.expr import GlobalVar
from tvm.ir.node import Node
from tvm.support.suggest import did_you_mean

from . import dispatch
from .error import ParserError
from .names import VarTable

if TYPE_CHECKING:
    from .parser import Parser


class Reported(Exception):
    """A mistake was noted already; reading goes on elsewhere."""


class _Missing:
    """Stands for no value at all."""


MISSING: Final = _Missing()
POISON: Final = _Missing()  # the value of a name whose definition was wrong

# The part of Python's builtins that a program may use; none of them reads files or runs text.
_HIDDEN: Final = frozenset(
    ("gi_frame", "gi_code", "cr_frame", "cr_code", "ag_frame", "ag_code", "f_back", "f_builtins",
     "f_code", "f_globals", "f_locals", "tb_frame", "tb_next", "func_globals", "func_code",
     "mro", "format_map")
)  # fmt: skip


def refusal(name: str, owner: Any = None) -> str | None:
    """Why an attribute may not be reached from a program: it leads into the interpreter."""
    if name in _HIDDEN or (name.startswith("__") and name.endswith("__")):
        return f"the attribute {name!r} may not be used in TVMScript"
    if name.startswith("_") and isinstance(owner, ModuleType):
        return f"{name!r} is private to the module {owner.__name__}"
    if name == "format" and isinstance(owner, (str, type)):
        return "str.format may not be used in TVMScript; f-strings may"
    return None


def _getattr(owner: Any, name: str, *default: Any) -> Any:
    """`getattr` with the limits that `owner.name` has."""
    refused = refusal(name, owner)
    if refused is not None:
        raise AttributeError(refused)
    return getattr(owner, name, *default)


# What computes values. What runs texts, opens files or looks into the interpreter is left out, as
# programs come from files too.
BUILTINS: Final[dict[str, Any]] = {
    f.__name__: f
    for f in (
        abs, all, any, ascii, bin, bool, bytearray, bytes, callable, chr, complex, dict, divmod,
        enumerate, filter, float, frozenset, hasattr, hash, hex, id, int, isinstance, issubclass,
        iter, len, list, map, max, min, next, object, oct, ord, pow, range, repr, reversed,
        round, set, slice, sorted, str, sum, tuple, type, zip,
    )
} | {
    "getattr": _getattr, "Ellipsis": Ellipsis, "NotImplemented": NotImplemented,
    **{e.__name__: e for e in vars(builtins).values()
       if isinstance(e, type) and issubclass(e, Exception)},
}  # fmt: skip

# What each operator of Python computes, unless a dialect has a rule of its own for the operands.
DEFAULT_OP: Final[dict[type[ast.AST], Callable[..., Any]]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.And: lambda a, b: a and b, ast.Or: lambda a, b: a or b,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"s": str, "r": repr, "a": ascii}

# Kinds whose operands may be evaluated ahead of them, where expressions nest too deep to recurse.
_PLAIN: Final = (ast.BinOp, ast.Call, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Tuple,
                 ast.List, ast.Attribute, ast.Starred, ast.Slice)  # fmt: skip
_DEEP: Final = 60


def set_span(value: Any, span: Any) -> None:
    """Give a node that was just made, and the conversions inside it, a span."""
    if not isinstance(value, Node) or getattr(value, "span", span) is not None:
        return
    object.__setattr__(value, "span", span)
    for side in ("a", "b", "value"):
        inner = getattr(value, side, None)
        if isinstance(inner, Node) and getattr(inner, "span", span) is None:
            object.__setattr__(inner, "span", span)


class _Nowhere:
    """Stands for the parser of an expression that is part of no program."""

    def __init__(self) -> None:
        self.var_table = VarTable()
        self.dispatch_tokens = ["default"]
        self.poisoned: set[str] = set()
        self.span = None


class ExprEvaluator:
    """Evaluates expressions for a parser."""

    value_table: Mapping[str, Any]
    new_value_count: int

    def __init__(
        self, parser: Parser | None, value_table: Mapping[str, Any] | None = None
    ) -> None:
        self.parser: Any = _Nowhere() if parser is None else parser
        self.value_table = value_table or {}
        self.new_value_count = 0
        self._locals: list[dict[str, Any]] = []
        self._depth = 0
        self._ahead: dict[int, Any] = {}

    @staticmethod
    def eval(parser: Parser | None, value_table: Mapping[str, Any], node: ast.AST) -> Any:
        """The value of an expression."""
        return ExprEvaluator(parser, value_table).value(node)

    def value(self, node: Any) -> Any:
        """The value of a piece of syntax; a ParserError at the piece if something is wrong."""
        if self._ahead and id(node) in self._ahead:
            return self._ahead.pop(id(node))
        rule = _RULES.get(type(node))
        if rule is None:
            raise ParserError(node, f"{type(node).__name__} is not supported in TVMScript")
        if self._depth >= _DEEP:
            return self._value_deep(node)
        self._depth += 1
        try:
            return rule(self, node)
        except (ParserError, Reported):
            raise
        except Exception as err:
            raise ParserError(node, _message(err)) from err
        finally:
            self._depth -= 1

    def _value_deep(self, root: Any) -> Any:
        """Evaluate the operands of nested calls and operators first, from an explicit stack."""
        depth, self._depth = self._depth, 0
        stack: list[tuple[Any, bool]] = [(root, False)]
        try:
            while stack:
                node, entered = stack.pop()
                if entered:
                    self._ahead[id(node)] = self.value(node)
                    continue
                stack.append((node, True))
                if isinstance(node, _PLAIN):
                    stack.extend((child, False) for child in reversed(_operands(node)))
            return self._ahead.pop(id(root))
        finally:
            self._depth = depth

    # --- names ---

    def name(self, node: ast.Name) -> Any:
        """The value of a name."""
        name = node.id
        for scope in reversed(self._locals):
            if name in scope:
                return scope[name]
        if name in self.value_table:
            found = self.value_table[name]
        else:
            found = self.parser.var_table.lookup(name, MISSING)
            if found is MISSING:
                found = BUILTINS.get(name, MISSING)
        if found is POISON or (found is MISSING and name in self.parser.poisoned):
            raise Reported
        if found is MISSING:
            self.parser.poisoned.add(name)  # one mistake, however often the name is used
            near = did_you_mean(name, [*self.parser.var_table.get(), *BUILTINS])
            raise ParserError(node, f"Undefined variable: {name}{near}")
        return found

    def attribute(self, node: ast.Attribute) -> Any:
        """`value.name`; names that lead out of the program into the interpreter are refused."""
        name = node.attr
        refused = refusal(name)
        owner = None if refused else self.value(node.value)
        refused = refused or refusal(name, owner)
        if refused:
            raise ParserError(node, refused)
        try:
            return getattr(owner, name)
        except AttributeError as err:
            raise ParserError(node, self._no_attribute(owner, name, err)) from err

    def _no_attribute(self, owner: Any, name: str, err: AttributeError) -> str:
        near = did_you_mean(name, [key for key in dir(owner) if not key.startswith("_")])
        return f"{err}{near}"

    def constant(self, node: ast.Constant) -> Any:
        """A literal."""
        return node.value

    # --- operators ---

    def binary(self, root: ast.BinOp) -> Any:
        """Operators of any depth on either side, evaluated left to right from a stack."""
        values: list[Any] = []
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, entered = stack.pop()
            if not isinstance(node, ast.BinOp):
                values.append(self.value(node))
            elif entered:
                right, left = values.pop(), values.pop()
                values.append(self._apply_binary(node, left, right))
            else:
                stack.extend(((node, True), (node.right, False), (node.left, False)))
        return values[0]

    def _apply_binary(self, node: ast.BinOp, left: Any, right: Any) -> Any:
        try:
            return self._operate(type(node.op), DEFAULT_OP[type(node.op)], left, right)
        except (ParserError, Reported):
            raise
        except Exception as err:
            raise ParserError(node, _message(err)) from err

    def _operate(self, kind: type, default: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        method = dispatch.get_op(type(a), kind, 0) or dispatch.get_op(type(b), kind, 1)
        made = default(a, b) if method is None else method(a, b)
        set_span(made, self.parser.span)
        return made

    def unary(self, node: ast.UnaryOp) -> Any:
        """One operand."""
        operand = self.value(node.operand)
        method = dispatch.get_op(type(operand), type(node.op), 0)
        made = DEFAULT_OP[type(node.op)](operand) if method is None else method(operand)
        set_span(made, self.parser.span)
        return made

    def compare(self, node: ast.Compare) -> Any:
        """A comparison, or a chain of them."""
        left = self.value(node.left)
        result: Any = MISSING
        for op, right_node in zip(node.ops, node.comparators):
            right = self.value(right_node)
            made = self._operate(type(op), DEFAULT_OP[type(op)], left, right)
            result = made if result is MISSING else self._logic(ast.And, result, made)
            left = right
        return result

    def boolean(self, node: ast.BoolOp) -> Any:
        """`and`, `or`: on Python values they decide early, on expressions they are built."""
        kind = type(node.op)
        result = self.value(node.values[0])
        for operand in node.values[1:]:
            if dispatch.get_op(type(result), kind, 0) is None:
                if bool(result) is (kind is ast.Or):
                    return result
                result = self.value(operand)
                continue
            result = self._logic(kind, result, self.value(operand))
        return result

    def _logic(self, kind: type, a: Any, b: Any) -> Any:
        method = dispatch.get_op(type(a), kind, 0) or dispatch.get_op(type(b), kind, 1)
        if method is None:
            return (a and b) if kind is ast.And else (a or b)
        made = method(a, b)
        set_span(made, self.parser.span)
        return made

    def choice(self, node: ast.IfExp) -> Any:
        """`a if c else b`: decided now for a Python value, built for an expression."""
        condition = self.value(node.test)
        method = dispatch.get_op(type(condition), ast.IfExp, 0)
        if method is None:
            return self.value(node.body if condition else node.orelse)
        made = method(condition, self.value(node.body), self.value(node.orelse))
        set_span(made, self.parser.span)
        return made

    # --- calls and subscripts ---

    def call(self, node: ast.Call) -> Any:
        """A call with positional, keyword and starred arguments."""
        func = self.value(node.func)
        args = self._sequence(node.args)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            given = self.value(keyword.value)
            if keyword.arg is None:
                kwargs.update(given)
            else:
                kwargs[keyword.arg] = given
        if not callable(func):
            raise ParserError(node, f"{func!r} is not callable")
        method = self._global_call() if type(func) is GlobalVar else None
        made = func(*args, **kwargs) if method is None else method(self.parser, func, args)
        set_span(made, self.parser.span)
        return made

    def _global_call(self) -> dispatch.OpMethod | None:
        """How the dialect calls functions of the module."""
        return dispatch.get(self.parser.dispatch_tokens[-1], "call_global")

    def _sequence(self, nodes: list[ast.expr]) -> list[Any]:
        values: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                values.extend(self.value(node.value))
            else:
                values.append(self.value(node))
        return values

    def subscript(self, node: ast.Subscript) -> Any:
        """`value[index]`."""
        owner, index = self.value(node.value), self.value(node.slice)
        method = dispatch.get_subscript(type(owner))
        if method is None:  # what a collection holds has its own span
            return owner[index]
        made = method(owner, index)
        set_span(made, self.parser.span)
        return made

    def slice_(self, node: ast.Slice) -> Any:
        """`start:stop:step`."""
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.value(part) for part in parts))

    def starred(self, node: ast.Starred) -> Any:
        """`*values`, where nothing around takes it apart."""
        return self.value(node.value)

    # --- collections ---

    def tuple_(self, node: ast.Tuple) -> Any:
        """`(a, b)`."""
        return tuple(self._sequence(node.elts))

    def list_(self, node: ast.List) -> Any:
        """`[a, b]`."""
        return self._sequence(node.elts)

    def set_(self, node: ast.Set) -> Any:
        """`{a, b}`."""
        return set(self._sequence(node.elts))

    def dict_(self, node: ast.Dict) -> Any:
        """`{key: value}`."""
        made: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                made.update(self.value(value))
            else:
                made[self.value(key)] = self.value(value)
        return made

    def list_comp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        """`[f(x) for x in xs if c]`."""
        return [self.value(node.elt) for _ in self._each(node.generators, 0)]

    def set_comp(self, node: ast.SetComp) -> Any:
        """`{f(x) for x in xs}`."""
        return {self.value(node.elt) for _ in self._each(node.generators, 0)}

    def dict_comp(self, node: ast.DictComp) -> Any:
        """`{k: v for k, v in items}`."""
        each = self._each(node.generators, 0)
        return {self.value(node.key): self.value(node.value) for _ in each}

    def _each(self, generators: list[ast.comprehension], at: int) -> Iterator[None]:
        if at == len(generators):
            yield
            return
        generator = generators[at]
        for item in self.value(generator.iter):
            scope: dict[str, Any] = {}
            bind_names(generator.target, item, scope)
            self._locals.append(scope)
            try:
                if all(self.value(test) for test in generator.ifs):
                    yield from self._each(generators, at + 1)
            finally:
                self._locals.pop()

    # --- text and functions ---

    def joined(self, node: ast.JoinedStr) -> Any:
        """An f-string."""
        return "".join([str(self.value(part)) for part in node.values])

    def formatted(self, node: ast.FormattedValue) -> Any:
        """`{value!r:spec}` of an f-string."""
        value = self.value(node.value)
        spec = "" if node.format_spec is None else self.value(node.format_spec)
        if node.conversion > 0:
            value = _CONVERSIONS[chr(node.conversion)](value)
        return format(value, spec)

    def function(self, node: ast.Lambda) -> Any:
        """`lambda x: body`."""
        return ScriptLambda(self, node)

    def walrus(self, node: ast.NamedExpr) -> Any:
        """`(name := value)`."""
        value = self.value(node.value)
        self.parser.var_table.add(node.target.id, value, allow_shadowing=True)
        return value

    def called(self, node: ast.Lambda, names: dict[str, Any], scopes: list[dict[str, Any]]) -> Any:
        """The body of a lambda with values for its parameters."""
        outer, self._locals = self._locals, [*scopes, names]
        try:
            return self.value(node.body)
        finally:
            self._locals = outer


class ScriptLambda:
    """A lambda of a program; `inspect.signature` shows its parameters."""

    def __init__(self, evaluator: ExprEvaluator, node: ast.Lambda) -> None:
        self._evaluator = evaluator
        self._node = node
        self._scopes = list(evaluator._locals)
        self.__name__ = "<lambda>"
        self.__signature__ = self._make_signature(node.args)

    def _make_signature(self, args: ast.arguments) -> inspect.Signature:
        kinds = inspect.Parameter
        names = [*args.posonlyargs, *args.args]
        defaults = [self._evaluator.value(default) for default in args.defaults]
        missing = [inspect.Parameter.empty] * (len(names) - len(defaults))
        params = [
            kinds(arg.arg, kinds.POSITIONAL_OR_KEYWORD, default=default)
            for arg, default in zip(names, [*missing, *defaults])
        ]
        if args.vararg is not None:
            params.append(kinds(args.vararg.arg, kinds.VAR_POSITIONAL))
        for arg, given in zip(args.kwonlyargs, args.kw_defaults):
            value = kinds.empty if given is None else self._evaluator.value(given)
            params.append(kinds(arg.arg, kinds.KEYWORD_ONLY, default=value))
        if args.kwarg is not None:
            params.append(kinds(args.kwarg.arg, kinds.VAR_KEYWORD))
        return inspect.Signature(params)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.__signature__.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._evaluator.called(self._node, dict(bound.arguments), self._scopes)


def _operands(node: Any) -> list[ast.expr]:
    """The operands of a plain expression, in the order of evaluation."""
    if isinstance(node, ast.BinOp):
        return _leaves(node)
    if isinstance(node, ast.Call):
        return [node.func, *[a.value if isinstance(a, ast.Starred) else a for a in node.args],
                *[keyword.value for keyword in node.keywords]]  # fmt: skip
    if isinstance(node, (ast.Tuple, ast.List)):
        return [a.value if isinstance(a, ast.Starred) else a for a in node.elts]
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def _leaves(root: ast.BinOp) -> list[ast.expr]:
    found: list[ast.expr] = []
    stack: list[ast.expr] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.BinOp):
            stack.extend((node.right, node.left))
        else:
            found.append(node)
    return found


def _message(err: Exception) -> str:
    text = str(err.args[0]) if isinstance(err, KeyError) and err.args else str(err)
    return text or type(err).__name__


def bind_names(target: ast.AST, value: Any, into: dict[str, Any]) -> None:
    """Take `value` apart as the target of an assignment says."""
    if isinstance(target, ast.Name):
        into[target.id] = value
    elif isinstance(target, ast.Starred):
        bind_names(target.value, value, into)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part, item in zip(target.elts, _unpacked(target, value)):
            bind_names(part, item, into)
    else:
        raise ParserError(target, f"cannot assign to {type(target).__name__} here")


def _unpacked(target: ast.Tuple | ast.List, value: Any) -> list[Any]:
    try:
        items = list(value)
    except (TypeError, RuntimeError) as err:
        raise ParserError(target, f"cannot unpack a {type(value).__name__}: {err}") from err
    stars = [i for i, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if stars:
        tail = len(target.elts) - stars[0] - 1
        if len(items) < len(target.elts) - 1:
            raise ParserError(target, f"{len(items)} values for {len(target.elts)} targets")
        end = len(items) - tail
        return [*items[: stars[0]], items[stars[0] : end], *items[end:]]
    if len(items) != len(target.elts):
        raise ParserError(target, f"cannot unpack {len(items)} values to {len(target.elts)} names")
    return items


_RULES: Final[dict[type, Callable[[ExprEvaluator, Any], Any]]] = {
    ast.Name: ExprEvaluator.name,
    ast.Attribute: ExprEvaluator.attribute,
    ast.Constant: ExprEvaluator.constant,
    ast.BinOp: ExprEvaluator.binary,
    ast.UnaryOp: ExprEvaluator.unary,
    ast.Compare: ExprEvaluator.compare,
    ast.BoolOp: ExprEvaluator.boolean,
    ast.IfExp: ExprEvaluator.choice,
    ast.Call: ExprEvaluator.call,
    ast.Subscript: ExprEvaluator.subscript,
    ast.Slice: ExprEvaluator.slice_,
    ast.Starred: ExprEvaluator.starred,
    ast.Tuple: ExprEvaluator.tuple_,
    ast.List: ExprEvaluator.list_,
    ast.Set: ExprEvaluator.set_,
    ast.Dict: ExprEvaluator.dict_,
    ast.ListComp: ExprEvaluator.list_comp,
    ast.GeneratorExp: ExprEvaluator.list_comp,
    ast.SetComp: ExprEvaluator.set_comp,
    ast.DictComp: ExprEvaluator.dict_comp,
    ast.JoinedStr: ExprEvaluator.joined,
    ast.FormattedValue: ExprEvaluator.formatted,
    ast.Lambda: ExprEvaluator.function,
    ast.NamedExpr: ExprEvaluator.walrus,
}


def eval_expr(
    parser: Parser, node: ast.AST, dict_globals: Mapping[str, Any] | None = None
) -> Any:
    """The value of an expression, with more names beside the parser's."""
    body = node.body if isinstance(node, ast.Expression) else node
    return ExprEvaluator(parser, dict_globals or {}).value(body)


def eval_assign(parser: Parser, target: ast.AST, source: Any) -> dict[str, Any]:
    """The names that an assignment gives values to."""
    found: dict[str, Any] = {}
    if isinstance(target, (ast.Tuple, ast.List)):
        names = [part.id for part in ast.walk(target)
                 if isinstance(part, ast.Name) and part.id != "_"]  # fmt: skip
        if len(set(names)) < len(names):
            raise ParserError(target, "Duplicate vars assigned.")
    bind_names(target, source, found)
    return found
