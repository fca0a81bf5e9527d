"""Relay as text: graphs as numbered temporaries, lets, and types in comments.

    fn (%x: Tensor[(2), float32]) {
      %0 = add(%x, %x);
      multiply(%0, %x)
    }

Each expression is printed once; a later use shows the temporary that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from tvm.ir.attrs import Attrs
from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.json import save_json
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.scriptable import PRINTERS
from tvm.ir.type import TupleType, Type
from tvm.ir.type_relation import TypeCall, TypeRelation
from tvm.support.recursion import nested_programs
from tvm.tir.expr import IntImm

from .adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
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
    RelayExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Function
from .text_literals import BY_NAME, VERSION, attribute_text, number_text, string_text
from .traverse import children
from .ty import (
    Any as AnyDim,
)
from .ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TypeVar,
)

_UNUSUAL = re.compile(r"[^\w./]|\.(?![A-Za-z_])|/$")  # what a name does not read back with
_OMITTED = """/* For debugging purposes the metadata section has been omitted.
 * If you would like to see the full metadata section you can set the 
 * option to `True` when invoking `astext`. 
 */"""
_COMMENTED = (Constant, Call, Var, Function, Tuple, TupleGetItem)


def _indented(text: str) -> str:
    return "\n".join("  " + line if line else line for line in text.split("\n"))


def _braces(text: str) -> str:
    return "{\n" + _indented(text) + "\n}"


class _Meta:
    """What has no text of its own, by the key of its node type."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[Node]] = {}

    def name(self, node: Node) -> str:
        key = _META_KEYS.get(node.TYPE_KEY, node.TYPE_KEY)
        known = self.nodes.setdefault(key, [])
        for at, other in enumerate(known):
            if other is node or (key == "VirtualDevice" and other == node):
                return f"meta[{key}][{at}]"
        known.append(node)
        return f"meta[{key}][{len(known) - 1}]"

    def section(self) -> str:
        return "#[metadata]\n" + save_json({k: tuple(nodes) for k, nodes in self.nodes.items()})


_META_KEYS = {
    "relay.IncompleteType": "IncompleteType", "relay.Any": "Any",
    "target.VirtualDevice": "VirtualDevice",
}  # fmt: skip


class Names:
    """Names that are given once; a number makes the next one of a kind different."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def fresh(self, prefix: str) -> str:
        name = prefix
        while name in self._given:
            self._given[prefix] += 1
            name = f"{prefix}{self._given[prefix]}"
        self._given[name] = 0
        return name


class Printer:
    """One text: its names, its temporaries, and the lines of the scopes that are open."""

    def __init__(self, annotate: Callable[[Any], str] | None = None) -> None:
        self.annotate = annotate
        self.meta = _Meta()
        self.names = Names()
        self.memo: dict[int, str] = {}  # how an expression stands within others
        self.texts: dict[int, str] = {}  # of those that are written out, but stand nowhere yet
        self.vars: dict[Node, str] = {}
        self.type_vars: dict[TypeVar, str] = {}  # of the definition that is written
        self.type_names = Names()
        self.uses: dict[int, int] = {}
        self.scopes: list[list[str]] = []
        self.temporaries = 0
        self._kept: list[object] = []  # holds what `memo` knows by address

    # --- scopes ---

    def count_uses(self, root: RelaxExpr) -> None:
        stack = [root]
        seen = {id(root)}
        self._kept.append(root)
        while stack:
            for part in children(stack.pop()):
                self.uses[id(part)] = self.uses.get(id(part), 0) + 1
                if id(part) not in seen:
                    seen.add(id(part))
                    stack.append(part)

    def scope(self, expr: RelaxExpr) -> str:
        """The lines that an expression needs in a scope of its own."""
        self.scopes.append([])
        last = self.expr(expr, inline=True)
        lines = self.scopes.pop()
        return "\n".join([*lines, last])

    # --- expressions ---

    def expr(self, expr: RelaxExpr, inline: bool = False) -> str:
        """An expression as it stands within another: a name, or the text itself.

        Texts are made from the inside out. A line appears when the first user of its value is
        written, after what that user's other operands are made of.
        """
        for operand in _pending(expr, self.memo, self.texts):
            if isinstance(operand, Constant):
                self.constant(operand)  # metadata is numbered as it is met
                continue
            self.texts[id(operand)] = self._visit(operand)
            self._kept.append(operand)
        return self._print(expr, inline)

    def _print(self, expr: RelaxExpr, inline: bool) -> str:
        if isinstance(expr, Var):
            return self.vars.get(expr.vid) or self._free_var(expr)
        known = self.memo.get(id(expr))
        if known is not None:
            return known
        inline = isinstance(expr, _INLINE) or (inline and self.uses.get(id(expr), 0) <= 1)
        text = self.texts.pop(id(expr), None) or self._visit(expr)
        if isinstance(expr, Let) and not inline:
            text = "(\n" + _indented(text) + "\n)"
        text += self.comment(expr)
        if not inline:
            name = f"%{self.temporaries}"
            self.temporaries += 1
            self.scopes[-1].append(f"{name} = {text};")
            text = name
        self.memo[id(expr)] = text
        self._kept.append(expr)
        return text

    def _visit(self, expr: RelaxExpr) -> str:
        rule = _RULES.get(type(expr))
        return self.meta.name(expr) if rule is None else rule(self, expr)

    def comment(self, expr: RelaxExpr) -> str:
        """What is known of an expression besides its text."""
        if self.annotate is not None and not isinstance(expr, Op):
            said = self.annotate(expr)
            return f" /* {said} */" if said else ""
        if not isinstance(expr, _COMMENTED):
            return ""
        parts = []
        if expr.checked_type_ is not None:
            parts.append(f"ty={self.type(expr.checked_type_)}")
        if expr.span is not None:
            parts.append(f"span={expr.span}")
        return f" /* {' '.join(parts)} */" if parts else ""

    def _free_var(self, var: Var) -> str:
        self.scopes[-1].append(f"free_var {self.declare(var)};")
        return self.vars[var.vid]

    def declare(self, var: Var) -> str:
        """A new variable with its annotation."""
        name = _UNUSUAL.sub("_", var.name_hint)
        alpha = bool(name) and name[0].isascii() and name[0].isalpha()
        self.vars[var.vid] = self.names.fresh("%" + (name if alpha else f"v{name}"))
        typed = "" if var.type_annotation is None else f": {self.type(var.type_annotation)}"
        device = self.device(var)
        return self.vars[var.vid] + (f" {{{device}}}" if device else "") + typed + self.comment(var)

    def device(self, expr: RelayExpr) -> str:
        """Where a variable or the result of a function is, if that was decided."""
        given = expr.virtual_device_
        return "" if given == UNCONSTRAINED else f"virtual_device={self.attribute(given)}"

    def constant(self, expr: Constant) -> str:
        text = None
        if expr.is_scalar() and str(expr.data.dtype) not in BY_NAME:
            text = number_text(expr.data.numpy()[()], expr.data.dtype)
        return self.meta.name(expr) if text is None else text

    def tuple(self, expr: Tuple) -> str:
        fields = [self.expr(field) for field in expr.fields]
        return f"({', '.join(fields)}{',' * (len(fields) == 1)})"

    def call(self, expr: Call) -> str:
        args = [self.expr(arg) for arg in expr.args] + self.call_attrs(expr)
        if isinstance(expr.op, Constructor):
            name = expr.op.name_hint
            return name if not expr.op.inputs else f"{name}({', '.join(args)})"
        return f"{self.expr(expr.op)}({', '.join(args)})"

    def call_attrs(self, call: Call) -> list[str]:
        if call.attrs is None:
            return []
        found = [f"{name}={self.attribute(value)}" for name, value in _stated(call.attrs)]
        if not isinstance(call.op, Op):
            found.append(f"attrs_type_key={string_text(call.attrs.TYPE_KEY)}")
        return found

    def attribute(self, value: Any) -> str:
        text = attribute_text(value)
        if text is not None:
            return text
        if isinstance(value, (tuple, list)):
            return f"[{', '.join(self.attribute(item) for item in value)}]"
        if isinstance(value, Mapping):
            items = [f"{string_text(str(k))}: {self.attribute(v)}" for k, v in value.items()]
            return "{" + ", ".join(items) + "}"
        if isinstance(value, RelayExpr):
            return self.expr(value)
        if isinstance(value, Type):
            return self.type(value)
        return self.meta.name(value) if isinstance(value, Node) else string_text(str(value))

    def item(self, expr: TupleGetItem) -> str:
        return f"{self.expr(expr.tuple_value)}.{expr.index}"

    def choice(self, expr: If) -> str:
        cond = self.expr(expr.cond)
        yes, no = self.scope(expr.true_branch), self.scope(expr.false_branch)
        return f"if ({cond}) {_braces(yes)} else {_braces(no)}"

    def let(self, expr: Let) -> str:
        """Lets that follow one another go on the lines of one text."""
        self.scopes.append([])
        lines = self.scopes[-1]
        at: RelaxExpr = expr
        while isinstance(at, Let):
            name = self.declare(at.var)
            value = self.expr(at.value, inline=True)
            lines.append(f"let {name} = {value};")
            at = at.body
            if self.uses.get(id(at), 0) > 1:
                break
        last = self.expr(at, inline=True)
        self.scopes.pop()
        return "\n".join([*lines, last])

    def function(self, func: Function, prefix: str = "fn ") -> str:
        head = prefix
        if func.type_params:
            head += f"[{', '.join(self.type(var) for var in func.type_params)}]"
        params = [self.declare(param) for param in func.params]
        params += [f"{_key(k)}={self.attribute(v)}" for k, v in func.attrs.items()]
        params += filter(None, [self.device(func)])
        head += f"({', '.join(params)}) "
        if func.ret_type is not None:
            head += f"-> {self.type(func.ret_type)} "
        return head + _braces(self.scope(func.body))

    def match(self, expr: Match) -> str:
        data = self.expr(expr.data)
        lines = [self._clause(clause) for clause in expr.clauses]
        mark = "" if expr.complete else "?"
        return f"match{mark} ({data}) " + _braces("\n".join(lines))

    def _clause(self, clause: Clause) -> str:
        pattern = self.pattern(clause.lhs)
        return f"{pattern} => {_braces(self.scope(clause.rhs))},"

    def pattern(self, pattern: Pattern) -> str:
        if isinstance(pattern, PatternVar):
            return self.declare(pattern.var)
        if isinstance(pattern, PatternTuple):
            inner = [self.pattern(p) for p in pattern.patterns]
            return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
        if isinstance(pattern, PatternConstructor):
            inner = [self.pattern(p) for p in pattern.patterns]
            name = pattern.constructor.name_hint
            return f"{name}({', '.join(inner)})" if inner else name
        return "_"

    # --- types ---

    def forget_type_vars(self) -> None:
        """Begin a definition: names of type variables are its own."""
        self.type_vars, self.type_names = {}, Names()

    def type(self, root: Type) -> str:
        """A type."""
        if isinstance(root, TensorType):
            dims = ", ".join(self.dim(extent) for extent in root.shape)
            dtype = "" if root.dtype == "void" else str(root.dtype)  # an option that nobody gave
            return f"Tensor[({dims}), {dtype}]" if root.shape else dtype
        if isinstance(root, TupleType):
            fields = [self.type(field) for field in root.fields]
            return f"({', '.join(fields)}{',' * (len(fields) == 1)})"
        if isinstance(root, FuncType):
            given = [self.type(var) for var in root.type_params]
            head = f"fn [{', '.join(given)}]" if given else "fn "
            args = ", ".join(self.type(arg) for arg in root.arg_types)
            return f"{head}({args}) -> {self.type(root.ret_type)}"
        if isinstance(root, TypeVar):
            if root not in self.type_vars:
                name = root.name_hint
                plain = bool(name) and name[0].isalpha()
                self.type_vars[root] = self.type_names.fresh(name if plain else f"t{name}")
            return self.type_vars[root]
        if isinstance(root, GlobalTypeVar):
            return root.name_hint
        if isinstance(root, TypeCall):
            args = ", ".join(self.type(arg) for arg in root.args)
            return f"{self.type(root.func)}[{args}]" if root.args else self.type(root.func)
        if isinstance(root, RefType):
            return f"ref({self.type(root.value)})"
        if isinstance(root, TypeData):
            return self.type_data(root)
        if isinstance(root, TypeRelation):
            name = "" if root.func is None else root.func.name
            return f"{name}({', '.join(self.type(arg) for arg in root.args)})"
        return "?" if isinstance(root, IncompleteType) else self.meta.name(root)

    def type_data(self, data: TypeData) -> str:
        head = f"type {data.header.name_hint}"
        if data.type_vars:
            head += f"[{', '.join(self.type(var) for var in data.type_vars)}]"
        lines = []
        for made in data.constructors:
            inputs = ", ".join(self.type(given) for given in made.inputs)
            lines.append(f"{made.name_hint}({inputs})," if inputs else f"{made.name_hint},")
        return f"{head} {_braces(chr(10).join(lines))}"

    def dim(self, extent: Any) -> str:
        """One extent of a shape."""
        if isinstance(extent, AnyDim):
            return "?"
        if isinstance(extent, IntImm):
            return str(number_text(extent.value, extent.dtype))
        return self.meta.name(extent)

    # --- modules ---

    def module(self, mod: IRModule) -> str:
        parts = []
        for type_var in mod.get_global_type_vars():
            self.forget_type_vars()
            parts.append(self.type(mod.type_definitions[type_var]))
        for var in mod.get_global_vars():
            self.forget_type_vars()
            func = mod.functions[var]
            if isinstance(func, Function):
                self.count_uses(func)
                parts.append(self.function(func, f"def @{var.name_hint}"))
            else:
                parts.append(f"// function {var.name_hint} is no function of Relay")
        return "".join(part + "\n" for part in _spaced(parts))


def _spaced(parts: list[str]) -> list[str]:
    return [part if at == 0 else "\n" + part for at, part in enumerate(parts)]


def _key(name: str) -> str:
    return name if name.replace("_", "a").replace(".", "a").isalnum() else string_text(name)


def _stated(attrs: Attrs) -> list[tuple[str, Any]]:
    """The attributes that are not what they are by default."""
    non_default = getattr(attrs, "non_default", None)
    if non_default is not None:
        return cast("list[tuple[str, Any]]", non_default())
    return [(str(name), attrs[name]) for name in list(attrs.keys())]


_INLINE: Final = (GlobalVar, Constant, Op, Var, Constructor)

_RULES: Final[dict[type, Callable[[Printer, Any], str]]] = {
    Constant: Printer.constant,
    Tuple: Printer.tuple,
    Call: Printer.call,
    TupleGetItem: Printer.item,
    If: Printer.choice,
    Let: Printer.let,
    Function: Printer.function,
    Match: Printer.match,
    GlobalVar: lambda p, e: f"@{e.name_hint}",
    Op: lambda p, e: str(e.name),
    Constructor: lambda p, e: str(e.name_hint),
    RefCreate: lambda p, e: f"ref({p.expr(e.value)})",
    RefRead: lambda p, e: f"ref_read({p.expr(e.ref)})",
    RefWrite: lambda p, e: f"ref_write({p.expr(e.ref)}, {p.expr(e.value)})",
}


def _pending(
    root: RelaxExpr, known: Mapping[int, str], written: Mapping[int, str]
) -> Iterator[RelaxExpr]:
    """What `root` is computed from within its scope and has no text yet, first things first."""
    stack: list[tuple[RelaxExpr, bool]] = [(root, False)]
    seen: set[int] = set()
    while stack:
        expr, entered = stack.pop()
        key = id(expr)
        if entered or isinstance(expr, Constant):
            yield expr
        elif isinstance(expr, _INLINE) or key in seen or key in known or key in written:
            continue
        else:
            seen.add(key)
            stack.append((expr, True))
            if isinstance(expr, (Call, Tuple, TupleGetItem)):
                stack.extend([(part, False) for part in reversed(children(expr))])


def relay_text(obj: Any, options: Mapping[str, Any] | None = None) -> str:
    """A module, expression or type as text, as `options` (show_meta_data, annotate, head) say.

    Without the head, which is how things print, nothing is said of metadata that is left out.
    """
    given = dict(options or {})
    printer = Printer(given.get("annotate"))
    with nested_programs():
        body = _whole(printer, obj)
    head = bool(given.get("head", True))
    text = (VERSION if head else "") + body
    if printer.meta.nodes:
        shown = given.get("show_meta_data", True)
        text += "\n" + (printer.meta.section() if shown else _OMITTED if head else "")
    return text


def _whole(printer: Printer, obj: Any) -> str:
    if isinstance(obj, IRModule):
        return printer.module(obj)
    if isinstance(obj, Type):
        return printer.type(obj)
    if isinstance(obj, Pattern):
        return printer.pattern(obj)
    if isinstance(obj, Clause):
        printer.count_uses(obj.rhs)
        return printer._clause(obj)
    printer.count_uses(obj)
    return printer.scope(obj)


def type_text(root: Type) -> str:
    """A type on one line."""
    return Printer().type(root)


def pattern_text(root: Pattern) -> str:
    """A pattern of a match on one line."""
    return Printer().pattern(root)


PRINTERS.register("relay", relay_text)
