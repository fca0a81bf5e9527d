"""Read Relay's text: modules, expressions, types.

One method a rule of the grammar. Lets, statements of a graph and definitions are read in a loop, so
that only nesting that somebody wrote takes frames of Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from tvm.error import DiagnosticError, TVMError
from tvm.ir.attrs import Attrs, DictAttrs
from tvm.ir.diagnostics import show_error
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.json import load_json
from tvm.ir.module import IRModule
from tvm.ir.node import NODE_TYPES
from tvm.ir.op import OPS, Op
from tvm.ir.span import Span
from tvm.ir.type import TupleType, Type
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.recursion import nested_programs
from tvm.target.virtual_device import VirtualDevice

from . import ty
from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from .expr import (
    UNCONSTRAINED,
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Function
from .text_tokens import Source, Token, tokens_of

T = TypeVar("T")
_VERSION = "0.0.5"
_DEVICE = "virtual_device"  # the attribute that says where a variable or a result is
# From the loosest to the tightest; operators of one line bind alike.
_INFIX: Final[tuple[dict[str, str], ...]] = (
    {"==": "equal", "!=": "not_equal"},
    {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"},
    {"+": "add", "-": "subtract"},
    {"*": "multiply", "/": "divide"},
)
_DTYPES = re.compile(r"^(?:int\d*|uint\d*|float\d*|bfloat16|bool)(?:x\d+)?$")
_OF_32_BITS = ("int", "uint", "float")
_SUFFIX = re.compile(r"^(inf|nan|.*?)(bf16|f16|f32|f64|f|i\d+|u\d+)?$")
_NUMBERS = {"f": "float32", "f16": "float16", "f32": "float32", "f64": "float64",
            "bf16": "bfloat16"}  # fmt: skip


class WrongAttributes(DiagnosticError, AttributeError):
    """Attributes that the operator does not have, or lacks."""


class Parser:
    """One text on its way to a module or an expression."""

    def __init__(
        self,
        text: str,
        name: str,
        mod: IRModule,
        meta: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.source = Source(text, name)
        self.tokens, section = tokens_of(self.source)
        self.at = 0
        self.mod = mod
        self.meta: dict[str, list[Any]] = {k: list(v) for k, v in (meta or {}).items()}
        if section is not None:
            for key, nodes in load_json(section).items():
                self.meta[key] = list(nodes)
        self.globals: dict[str, GlobalVar] = {v.name_hint: v for v in mod.functions}
        self.types: dict[str, ty.GlobalTypeVar] = {v.name_hint: v for v in mod.type_definitions}
        self.awaited: dict[str, Token] = {}  # types that were named before their definition
        self.constructors: dict[str, Constructor] = {
            c.name_hint: c for data in mod.type_definitions.values() for c in data.constructors
        }
        self.scopes: list[dict[str, Var]] = [{}]
        self.graphs: list[dict[int, RelaxExpr]] = [{}]
        self.closed: dict[int, RelaxExpr] = {}  # of scopes that have ended: their nodes are shared
        self.type_vars: list[dict[str, ty.TypeVar]] = [{}]
        self.free: dict[str, Var] = {}

    # --- tokens ---

    @property
    def now(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """The next token, which is then behind."""
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def is_now(self, *texts: str) -> bool:
        """True when the next token is one of these signs or words."""
        return self.now.text in texts and self.now.kind in ("symbol", "name")

    def accept(self, text: str) -> bool:
        """Take the next token if it is this one."""
        if self.is_now(text):
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take the next token, which must be this one."""
        if not self.is_now(text):
            self.refuse(f"expected {text!r}", text)
        return self.take()

    def kind(self, kind: str, legal: str) -> Token:
        """Take the next token, which must be of a kind."""
        if self.now.kind != kind:
            self.refuse(f"expected {legal}", legal)
        return self.take()

    def refuse(self, asked: str, legal: str, token: Token | None = None) -> NoReturn:
        """Raise the error for the next token."""
        raise self.error(asked, legal, token)

    def error(self, asked: str, legal: str, token: Token | None = None) -> DiagnosticError:
        """The error for the next token."""
        token = token or self.now
        return self.source.error(token.at, f"Relay text: {asked}", token.text, legal)

    def span_from(self, start: Token) -> Span:
        """From a token to the last one that was taken."""
        last = self.tokens[max(self.at - 1, 0)]
        return self.source.span(start.at, last.at + len(last.text))

    def items(self, read: Callable[[], T], close: str) -> list[T]:
        """What stands between here and `close`, separated by commas; a last one may follow."""
        found: list[T] = []
        while not self.accept(close):
            found.append(read())
            if not self.accept(","):
                self.expect(close)
                break
        return found

    # --- modules ---

    def version(self, required: bool) -> None:
        """The line that says which format this is."""
        if self.now.kind == "version":
            found = self.take().text.split('"')[1]
            if found != _VERSION:
                self.refuse(
                    f"the version {found!r} of the format is not known", _VERSION,
                    self.tokens[self.at - 1],
                )  # fmt: skip
        elif required:
            self.refuse("the version of the format is missing", f'#[version = "{_VERSION}"]')

    def module(self) -> IRModule:
        """Definitions up to the end of the text."""
        functions: dict[GlobalVar, Function] = {}
        while self.now.kind != "end":
            if self.is_now("def"):
                token = self.take()
                var, func = self.definition()
                if var in functions or var in self.mod.functions:
                    self.refuse(f"a second definition of @{var.name_hint}", "another name", token)
                functions[var] = func
            elif self.is_now("type"):
                self.take()
                self.type_definition()
            elif self.is_now("extern"):
                self.take()
                self.expect("type")
                self.type_definition(extern=True)
            else:
                self.refuse("expected a definition", "def, type or extern type")
        for name, token in self.awaited.items():
            if self.types[name] not in self.mod.type_definitions:
                self.refuse(f"the type constructor `{name}` is undefined", "type ... { }", token)
        mod = self.mod.with_functions({**self.mod.functions, **functions})
        return mod.clone() if mod is self.mod else mod

    def definition(self) -> tuple[GlobalVar, Function]:
        token = self.kind("global", "the name of a function, such as @main")
        return self.global_var(token.text[1:]), self.function(token)

    def global_var(self, name: str) -> GlobalVar:
        if name not in self.globals:
            self.globals[name] = GlobalVar(name)
        return self.globals[name]

    def type_definition(self, extern: bool = False) -> None:
        """`type Name[A] { Cons(A), Nil }`."""
        token = self.kind("name", "the name of a type")
        if token.text in self.types and self.types[token.text] in self.mod.type_definitions:
            self.refuse(f"a second definition of the type {token.text}", "another name", token)
        header = self.types.setdefault(token.text, ty.GlobalTypeVar(token.text))
        self.type_vars.append({})
        names = self.type_params() if self.accept("[") else []
        made: list[Constructor] = []
        if not extern:
            self.expect("{")
            made = self.items(lambda: self.constructor(header), "}")
        self.type_vars.pop()
        self.mod[header] = TypeData(header, names, made)

    def type_params(self) -> list[ty.TypeVar]:
        found = []
        for token in self.items(lambda: self.kind("name", "a type variable"), "]"):
            found.append(ty.TypeVar(token.text))
            self.type_vars[-1][token.text] = found[-1]
        return found

    def constructor(self, header: ty.GlobalTypeVar) -> Constructor:
        token = self.kind("name", "the name of a constructor")
        if token.text in self.constructors:
            self.refuse(f"a second constructor {token.text}", "another name", token)
        inputs = self.items(self.type, ")") if self.accept("(") else []
        made = Constructor(token.text, inputs, header)
        self.constructors[token.text] = made
        return made

    # --- types ---

    def type(self) -> Type:
        """A type."""
        token = self.now
        if self.accept("("):
            fields = self.items(self.type, ")")
            return TupleType(fields)
        if self.accept("fn"):
            return self.function_type()
        if self.accept("_") or self.accept("?"):
            return ty.IncompleteType()
        if token.kind == "meta":
            found = self.meta_node(self.take())
            return found if isinstance(found, Type) else self.refuse("no type", "a type", token)
        name = self.kind("name", "a type").text
        if name == "Tensor":
            return self.tensor_type()
        if name == "ref":
            self.expect("(")
            value = self.type()
            self.expect(")")
            return ty.RefType(value)
        if _DTYPES.match(name):
            return ty.scalar_type(f"{name}32" if name in _OF_32_BITS else name)
        return self.named_type(name, token)

    def named_type(self, name: str, token: Token) -> Type:
        for scope in reversed(self.type_vars):
            if name in scope:
                return scope[name]
        if name not in self.types:
            self.types[name] = ty.GlobalTypeVar(name)
            self.awaited[name] = token
        head = self.types[name]
        if not self.accept("["):
            return head
        return ty.TypeCall(head, self.items(self.type, "]"))

    def tensor_type(self) -> Type:
        self.expect("[")
        self.expect("(")
        dims = self.items(self.dim, ")")
        self.expect(",")
        dtype = self.dtype()
        self.expect("]")
        return ty.TensorType(dims, dtype)

    def dtype(self) -> str:
        token = self.kind("name", "a data type")
        try:
            return str(DataType(token.text))
        except ValueError as err:
            legal = "bool, int8 ... int64, uint8 ... uint64, float16, float32, float64, bfloat16"
            raise self.error("unknown data type", legal, token) from err

    def dim(self) -> Any:
        if self.accept("?"):
            return ty.Any()
        if self.now.kind == "meta":
            return self.meta_node(self.take())
        token = self.kind("number", "an extent")
        value = self.number(token)
        if value.dtype.kind not in "iu":
            raise self.error(f"{value} is no extent", "a whole number", token)
        return ty.as_dim(int(value)) if value.dtype != np.int64 else _long(int(value))

    def function_type(self) -> Type:
        self.type_vars.append({})
        params = self.type_params() if self.accept("[") else []
        self.expect("(")
        args = self.items(self.type, ")")
        self.expect("->")
        ret = self.type()
        self.type_vars.pop()
        return ty.FuncType(args, ret, params)

    # --- expressions ---

    def body(self) -> RelaxExpr:
        """Lets and statements of a graph, and then a value."""
        steps: list[tuple[Var, RelaxExpr, Span]] = []
        self.scopes.append({})
        self.graphs.append({})
        value = self.statements(steps)
        self.scopes.pop()
        self.closed.update(self.graphs.pop())
        for var, bound, span in reversed(steps):
            value = Let(var, bound, value, span)
        return value

    def statements(self, steps: list[tuple[Var, RelaxExpr, Span]]) -> RelaxExpr:
        while True:
            start = self.now
            if self.accept("let"):
                var = self.declaration()
                self.expect("=")
                self.scopes[-1][var.name_hint] = var
                bound = self.expr()
                steps.append((var, bound, self.span_from(start)))
                self.expect(";")
            elif self.accept("free_var"):
                var = self.declaration()
                self.free[var.name_hint] = var
                self.accept(";")
            elif start.kind == "graph" and self.tokens[self.at + 1].text == "=":
                self.graph_statement()
            else:
                value = self.expr()
                if not self.accept(";"):
                    return value
                if self.is_now("}", ")") or self.now.kind == "end":
                    return value
                steps.append((Var("_"), value, self.span_from(start)))

    def graph_statement(self) -> None:
        token = self.take()
        number = int(token.text[1:])
        if any(number in graph for graph in self.graphs):
            self.refuse(f"{token.text} is defined twice", "each number once", token)
        self.expect("=")
        self.graphs[-1][number] = self.expr()
        self.expect(";")

    def declaration(self) -> Var:
        """`%x` or `%x: type`; `%x {virtual_device=...}` says where it is."""
        token = self.kind("local", "a local variable, such as %x")
        given = dict(self.items(self.named_attribute, "}")) if self.accept("{") else {}
        device = self.taken_device(given, token)
        if given:
            self.refuse(f"a variable has no attribute {next(iter(given))!r}", _DEVICE, token)
        annotation = self.type() if self.accept(":") else None
        var = Var(token.text[1:], annotation, self.span_from(token))
        var.virtual_device_ = device
        return var

    def taken_device(self, attrs: dict[str, Any], token: Token) -> VirtualDevice:
        """Where a variable or a result is; taken out of the attributes."""
        device = attrs.pop(_DEVICE, UNCONSTRAINED)
        if not isinstance(device, VirtualDevice):
            self.refuse(f"virtual_device is a {type(device).__name__}", "a VirtualDevice", token)
        return device

    def named_attribute(self) -> tuple[str, Any]:
        """`name=value`."""
        name = self.attribute_name()
        self.expect("=")
        return name, self.attribute()

    def expr(self, level: int = 0) -> RelaxExpr:
        """Infix operators, the loosest first."""
        if level == len(_INFIX):
            return self.prefix()
        start = self.now
        value = self.expr(level + 1)
        while self.now.kind == "symbol" and self.now.text in _INFIX[level]:
            name = _INFIX[level][self.take().text]
            other = self.expr(level + 1)
            value = Call(Op.get(name), (value, other), None, None, self.span_from(start))
        return value

    def prefix(self) -> RelaxExpr:
        start = self.now
        if not self.accept("-"):
            return self.postfix(self.atom())
        value = self.prefix()
        if isinstance(value, Constant):
            return Constant(np.negative(value.data.numpy()), self.span_from(start))
        return Call(Op.get("negative"), (value,), None, None, self.span_from(start))

    def postfix(self, value: RelaxExpr) -> RelaxExpr:
        """Calls, fields and reads of references, as often as they follow."""
        start = self.tokens[max(self.at - 1, 0)]
        while True:
            if self.is_now("("):
                value = self.call(value, start)
            elif self.is_now("["):
                value = self.typed_call(value, start)
            elif self.is_now("."):
                self.take()
                token = self.kind("number", "the number of a field")
                for index in token.text.split("."):  # `%x.0.1` reads as one number
                    value = TupleGetItem(value, int(index), self.span_from(start))
            elif self.accept("^"):
                value = RefRead(value, self.span_from(start))
            else:
                return value

    def atom(self) -> RelaxExpr:
        token = self.now
        rule = _ATOMS.get(token.kind)
        if rule is not None:
            found: RelaxExpr = rule(self, self.take())
            return found
        word = _WORDS.get(token.text) if token.kind in ("name", "symbol") else None
        if word is not None:
            named: RelaxExpr = word(self, self.take())
            return named
        if token.kind == "name":
            return self.named(self.take())
        raise self.error(
            "expected an expression", "a variable, a number, an operator, fn, if, match"
        )

    def named(self, token: Token) -> RelaxExpr:
        """An operator or a constructor."""
        made = self.constructors.get(token.text)
        if made is not None:
            return made if self.is_now("(") or made.inputs else Call(made, ())
        op = OPS.find(token.text)
        if op is None:
            self.refuse(
                f"the operator or constructor {token.text} is not known",
                "operators of relay.op, constructors of the module", token,
            )  # fmt: skip
        return op

    def local(self, token: Token) -> RelaxExpr:
        name = token.text[1:]
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.free:
            return self.free[name]
        raise self.error(f"the variable {token.text} is not known here", "a name in scope", token)

    def graph(self, token: Token) -> RelaxExpr:
        number = int(token.text[1:])
        for graph in reversed(self.graphs):
            if number in graph:
                return graph[number]
        if number in self.closed:
            return self.closed[number]
        raise self.error(
            f"{token.text} is not defined here", f"{token.text} = ...; before", token
        )

    def number(self, token: Token) -> Any:
        """A number of numpy, of the type that its letters tell."""
        match = _SUFFIX.match(token.text)
        assert match is not None, "every text has this form"
        digits, suffix = match.group(1), match.group(2) or ""
        if suffix[:1] in ("i", "u"):
            dtype = ("int" if suffix[0] == "i" else "uint") + suffix[1:]
        elif suffix:
            dtype = _NUMBERS[suffix]
        else:
            dtype = "float32" if re.search(r"[.eE]|inf|nan", digits) else "int32"
            if dtype == "int32" and not -(2**31) <= int(digits) < 2**31:
                dtype = "int64"
        plain = float(digits) if re.search(r"[.eE]|inf|nan", digits) else int(digits)
        try:
            return np.array(plain, numpy_dtype(DataType(dtype)))
        except (OverflowError, ValueError, TypeError, TVMError) as err:
            legal = "a number of a type that holds it"
            raise self.error(f"{token.text} is no {dtype}", legal, token) from err

    def parenthesis(self, start: Token) -> RelaxExpr:
        """A tuple, a write to a reference, or an expression in parentheses."""
        if self.accept(")"):
            return Tuple((), self.span_from(start))
        is_let = self.is_now("let")
        first = self.body() if is_let else self.expr()
        if self.accept(")"):
            return first
        if self.accept(":="):
            value = self.expr()
            self.expect(")")
            return RefWrite(first, value, self.span_from(start))
        self.expect(",")
        rest = self.items(self.expr, ")")
        return Tuple((first, *rest), self.span_from(start))

    def function(self, start: Token) -> Function:
        """What follows `fn` or the name of a definition."""
        self.type_vars.append({})
        self.scopes.append({})
        self.graphs.append({})
        type_params = self.type_params() if self.accept("[") else []
        self.expect("(")
        params: list[Var] = []
        attrs: dict[str, Any] = {}
        self.items(lambda: self.parameter(params, attrs), ")")
        ret_type = self.type() if self.accept("->") else None
        self.expect("{")
        body = self.body()
        self.expect("}")
        self.type_vars.pop()
        self.scopes.pop()
        self.closed.update(self.graphs.pop())
        device = self.taken_device(attrs, start)
        made = Function(
            params, body, ret_type, type_params, DictAttrs(attrs), self.span_from(start)
        )
        made.virtual_device_ = device
        return made

    def parameter(self, params: list[Var], attrs: dict[str, Any]) -> None:
        if self.now.kind == "local":
            params.append(self.declaration())
            self.scopes[-1][params[-1].name_hint] = params[-1]
            return
        name, attrs[name] = self.named_attribute()

    def choice(self, start: Token) -> RelaxExpr:
        self.expect("(")
        cond = self.expr()
        self.expect(")")
        yes = self.block()
        self.expect("else")
        no = self.choice(self.take()) if self.is_now("if") else self.block()
        return If(cond, yes, no, self.span_from(start))

    def block(self) -> RelaxExpr:
        return self.braces(self.expect("{"))

    def braces(self, _: Token) -> RelaxExpr:
        """What follows a brace: an expression with names of its own, as bodies have."""
        value = self.body()
        self.expect("}")
        return value

    def match(self, start: Token) -> RelaxExpr:
        complete = not self.accept("?")
        self.expect("(")
        data = self.expr()
        self.expect(")")
        self.expect("{")
        return Match(data, self.items(self.clause, "}"), complete)

    def clause(self) -> Clause:
        self.scopes.append({})
        pattern = self.pattern()
        self.expect("=>")
        value = self.block() if self.is_now("{") else self.expr()
        self.scopes.pop()
        return Clause(pattern, value)

    def pattern(self) -> Pattern:
        token = self.now
        if token.kind == "local":
            var = self.declaration()
            self.scopes[-1][var.name_hint] = var
            return PatternVar(var)
        if self.accept("_"):
            return PatternWildcard()
        if self.accept("("):
            return PatternTuple(self.items(self.pattern, ")"))
        name = self.kind("name", "a pattern: %name, _, a tuple or a constructor")
        made = self.constructors.get(name.text)
        if made is None:
            self.refuse(f"the constructor {name.text} is not known", "one of the module", name)
        return PatternConstructor(made, self.items(self.pattern, ")") if self.accept("(") else ())

    # --- calls ---

    def typed_call(self, callee: RelaxExpr, start: Token) -> RelaxExpr:
        """`f[T](x)`: a call with types for the type parameters."""
        self.expect("[")
        types = self.items(self.type, "]")
        made = self.call(callee, start)
        assert isinstance(made, Call), "a call gives a call"
        return Call(made.op, made.args, made.attrs, types, made.span)

    def call(self, callee: RelaxExpr, start: Token) -> RelaxExpr:
        self.expect("(")
        args: list[RelaxExpr] = []
        attrs: dict[str, Any] = {}
        self.items(lambda: self.argument(args, attrs), ")")
        span = self.span_from(start)
        return Call(callee, args, self.call_attrs(callee, attrs, start), None, span)

    def argument(self, args: list[RelaxExpr], attrs: dict[str, Any]) -> None:
        after = self.tokens[min(self.at + 1, len(self.tokens) - 1)].text
        if self.now.kind in ("name", "string") and after == "=":
            name, attrs[name] = self.named_attribute()
            return
        args.append(self.expr())

    def call_attrs(self, callee: RelaxExpr, given: dict[str, Any], start: Token) -> Attrs | None:
        """The attributes of a call: of the operator's kind, or of the kind that the text names."""
        key = given.pop("attrs_type_key", None)
        if key is None and isinstance(callee, Op):
            key = callee.attrs_type_key or None
        if key is None:
            return DictAttrs(given) if given else None
        try:
            made = NODE_TYPES.get(str(key)).from_keywords(_both_sides(given))
        except (TypeError, KeyError, TVMError) as err:
            told = self.error(f"the attributes do not fit: {err}", f"the fields of {key}", start)
            raise WrongAttributes(str(told)) from err
        assert isinstance(made, Attrs), "an operator names a kind of attributes"
        return made

    def attribute_name(self) -> str:
        if self.now.kind == "string":
            return _string(self.take().text)
        return self.kind("name", "the name of an attribute").text

    def attribute(self) -> Any:
        token = self.now
        if token.kind == "string":
            return _string(self.take().text)
        if self.accept("None"):
            return None
        if self.is_now("True", "False"):
            return self.take().text == "True"
        if self.accept("["):
            return tuple(self.items(self.attribute, "]"))
        if self.accept("("):
            return tuple(self.items(self.attribute, ")"))
        if self.accept("{"):
            return dict(self.items(self.attribute_pair, "}"))
        if self.accept("-"):
            behind = self.now
            value = self.attribute()
            if not isinstance(value, (int, float)):
                raise self.error("a minus stands before no number", "a number", behind)
            return -value
        if token.kind == "number":
            value = self.number(self.take()).item()
            # as attributes hold it: in full precision
            is_float = token.text.endswith("f") and token.text != "inf"
            return float(token.text[:-1]) if is_float else value
        if token.kind == "meta":
            return self.meta_node(self.take())
        if token.kind == "name":
            return self.take().text
        return self.expr()

    def attribute_pair(self) -> tuple[str, Any]:
        name = self.attribute_name()
        self.expect(":")
        return name, self.attribute()

    def meta_node(self, token: Token) -> Any:
        match = re.match(r"meta\[([\w.]+)\]\[(\d+)\]", token.text)
        assert match is not None, "the token has this form"
        known = self.meta.get(match.group(1), [])
        at = int(match.group(2))
        if at >= len(known):
            self.refuse(
                f"{token.text} is not in the metadata",
                f"{match.group(1)}: {len(known)} entries in the metadata section", token,
            )  # fmt: skip
        return known[at]

    def end(self) -> None:
        """Nothing may follow."""
        if self.now.kind != "end":
            self.refuse("expected the end of the text", "nothing after the expression")


def _long(value: int) -> Any:
    from tvm.tir.expr import IntImm

    return IntImm("int64", value)


def _string(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])


def _ref(parser: Parser, start: Token) -> RelaxExpr:
    parser.expect("(")
    args = parser.items(parser.expr, ")")
    kinds = {"ref": (RefCreate, 1), "ref_read": (RefRead, 1), "ref_write": (RefWrite, 2)}
    kind, count = kinds[start.text]
    if len(args) != count:
        parser.refuse(f"{start.text} has {len(args)} operands", f"{count}", start)
    return kind(*args, parser.span_from(start))  # type: ignore[no-any-return]


_ATOMS: Final[dict[str, Callable[[Parser, Token], Any]]] = {
    "local": Parser.local,
    "graph": Parser.graph,
    "global": lambda p, t: p.global_var(t.text[1:]),
    "number": lambda p, t: Constant(p.number(t), p.span_from(t)),
    "meta": Parser.meta_node,
}
_WORDS: Final[dict[str, Callable[[Parser, Token], Any]]] = {
    "fn": Parser.function,
    "if": Parser.choice,
    "match": Parser.match,
    "ref": _ref,
    "ref_read": _ref,
    "ref_write": _ref,
    "(": Parser.parenthesis,
    "{": Parser.braces,
    "True": lambda p, t: Constant(np.array(True), p.span_from(t)),
    "False": lambda p, t: Constant(np.array(False), p.span_from(t)),
}


def _both_sides(given: dict[str, Any]) -> dict[str, Any]:
    """Attributes with a padding for both sides of each axis; a text may say one for both."""
    pads, strides = given.get("padding"), given.get("strides", given.get("kernel_size"))
    short = isinstance(pads, tuple) and isinstance(strides, tuple) and len(pads) == len(strides)
    return {**given, "padding": (*pads, *pads)} if short else given  # type: ignore[misc]


@explained
def parse(
    source: str,
    source_name: str = "from_string",
    init_module: IRModule | None = None,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """The module that a text defines, added to `init_module`, with the types of all it holds.

    Raises DiagnosticError with the line and a mark below the column, or where types do not fit; a
    renderer of diagnostics that was set sees it too.
    """
    from .transform.infer_type import typed  # passes read these words

    mod = IRModule() if init_module is None else init_module.clone()
    try:
        return typed(parse_untyped(source, source_name, mod, init_meta_table))
    except DiagnosticError as error:
        show_error(mod, error)
        raise


def parse_untyped(
    source: str,
    source_name: str,
    mod: IRModule,
    init_meta_table: Mapping[str, Sequence[Any]] | None = None,
) -> IRModule:
    """The module with the definitions of a text, as they stand there."""
    with nested_programs():
        parser = Parser(source, source_name, mod, init_meta_table)
        parser.version(required=True)
        return parser.module()


def parse_expr(source: str) -> RelaxExpr:
    """The expression that a text says."""
    with nested_programs():
        parser = Parser(source, "string", IRModule())
        parser.version(required=False)
        value = parser.body()
        parser.end()
    return value


def fromtext(source: str, source_name: str = "from_string") -> Any:
    """The module, or else the expression, that a text with its version says."""
    parser = Parser(source, source_name, IRModule())
    parser.version(required=True)
    if parser.is_now("def", "type", "extern") or parser.now.kind == "end":
        return parse(source, source_name)
    return parse_expr(source)


__all__ = ["DiagnosticError", "Parser", "fromtext", "parse", "parse_expr"]
