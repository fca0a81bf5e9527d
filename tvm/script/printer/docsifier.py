"""From IR nodes to documents: rules by node class, names by frame, metadata aside.

Each dialect registers one rule a node class with `rule(...)`. Names are given when something is
defined in a frame and are free again when the frame ends.
"""

from __future__ import annotations

import importlib
import keyword
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from tvm.ffi.object import Object
from tvm.ir.access_path import AccessPath
from tvm.support.dtype import DataType

from .config import PrinterConfig
from .doc import (
    AttrAccessDoc,
    CallDoc,
    ClassDoc,
    DictDoc,
    Doc,
    ExprDoc,
    FunctionDoc,
    IdDoc,
    IndexDoc,
    ListDoc,
    LiteralDoc,
    StmtDoc,
)
from .followed import FollowedPath, add_path

Rule = Callable[[Any, "Docsifier"], Doc]
R = TypeVar("R", bound=Rule)
NameOrMaker = str | Callable[[], ExprDoc]

# Rules by dialect and node class. The rules of "" hold where a dialect has none of its own.
_RULES: Final[dict[str, dict[type, Rule]]] = {"": {}}
# Which dialect's frame a node is printed in when it is printed alone.
_DIALECTS: Final[dict[type, str]] = {}
# Modules with rules, by the packages of the node classes that they print.
_HOMES: Final[dict[str, str]] = {
    "tvm.ir": "tvm.script.ir_dialect.printer",
    "tvm.tir": "tvm.tir.script.printer",
    "tvm.te": "tvm.tir.script.printer",
    "tvm.target": "tvm.tir.script.printer",
    "tvm.relax": "tvm.relax.script.printer",
}


def rule(*classes: type, dialect: str = "", token: str = "") -> Callable[[R], R]:
    """Decorate the rule for nodes of `classes`.

    `dialect` is the one whose frame a node that stands alone is printed in. A rule with a `token`
    holds only within frames of that dialect.
    """

    def register(func: R) -> R:
        table = _RULES.setdefault(token, {})
        for cls in classes:
            assert cls not in table, f"two rules print {cls.__name__}"
            table[cls] = func
            if dialect:
                _DIALECTS[cls] = dialect
        return func

    return register


def find_rule(cls: type, token: str) -> Rule | None:
    """The rule for a class, or that of its nearest base class that has one."""
    _load_home(cls)
    for table in (_RULES.get(token, {}), _RULES[""]):
        for base in cls.__mro__:
            if base in table:
                return table[base]
    return None


def dialect_of(cls: type) -> str:
    """The dialect whose frame nodes of the class are printed in."""
    _load_home(cls)
    return next((_DIALECTS[base] for base in cls.__mro__ if base in _DIALECTS), "ir")


def load_dialect(dialect: str) -> None:
    """Have all rules for frames of a dialect: "relax"."""
    importlib.import_module(_HOMES[f"tvm.{dialect}"])


def _load_home(cls: type) -> None:
    for base in cls.__mro__:
        package = ".".join(base.__module__.split(".")[:2])
        home = _HOMES.get(package)
        if home is not None:
            importlib.import_module(home)


class Frame(Object):
    """A scope of names with the statements printed into it; `node` is what opened it."""

    __slots__ = ("defined", "dialect", "extra", "node", "stmts")

    def __init__(self, node: object = None, dialect: str = "ir") -> None:
        self.node: Final = node
        self.dialect: Final = dialect
        self.stmts: list[Doc] = []
        self.defined: list[object] = []
        self.extra: Any = None  # what the dialect wants to remember here


class ModuleAlias(Object):
    """The names by which functions call others of their module, and whether one did.

    Loop programs say the module's own name, graph functions the short one they begin with.
    """

    __slots__ = ("in_graph", "module_name", "name", "used")

    def __init__(self, module_name: str, name: str) -> None:
        self.module_name: Final = module_name
        self.name: Final = name
        self.in_graph = False
        self.used = False

    def maker(self, function: str) -> Callable[[], ExprDoc]:
        """Makes `Module.function` or `cls.function`."""

        def make() -> ExprDoc:
            self.used = True
            return AttrAccessDoc(IdDoc(self.name if self.in_graph else self.module_name), function)

        return make


class Docsifier(Object):
    """The state of one printing: frames, names, metadata, and which dialects were used."""

    def __init__(self, config: PrinterConfig) -> None:
        self.cfg: Final = config
        self.frames: list[Frame] = []
        self.ir_usage: set[str] = set()
        self.metadata: dict[str, list[object]] = {}
        self.tokens: list[str] = []
        self.marks: dict[int, AccessPath] = {}  # of objects, wherever they print
        self.followed: list[FollowedPath] = []
        self.trail: list[int] = []  # the nodes whose documents are being made
        self.notes: dict[int, str] = {}
        self.binding_names: list[str] = list(config.binding_names)
        self.module_alias: ModuleAlias | None = None
        self._names: dict[int, NameOrMaker] = {}
        self._owned: dict[int, str] = {}
        # what the program's own words need is never given to a variable
        self._taken: set[str] = {
            config.ir_prefix, config.tir_prefix, config.relax_prefix,
            config.module_alias, "range",
        }  # fmt: skip
        self._next: dict[str, int] = {}
        self._words: dict[tuple[str, str], ExprDoc] = {}
        self._found: dict[str, dict[type, Rule | None]] = {}

    # --- dispatch ---

    def doc(self, node: object) -> Doc:
        """The document of a node, by the rule of its class."""
        token = self.tokens[-1] if self.tokens else ""
        found = self._found.get(token)
        if found is None:
            found = self._found[token] = {}
        cls = type(node)
        if cls not in found:
            found[cls] = find_rule(cls, token)
        printer = found[cls]
        if self.followed:
            return self._followed(node, printer)
        made = self._without_rule(node) if printer is None else printer(node, self)
        if self.marks or self.notes:
            self._mark(node, made)
        return made

    def _followed(self, node: object, printer: Rule | None) -> Doc:
        """The document of a node while paths are looked for."""
        if printer is None:
            made: Doc = self._without_rule(node)
        else:
            self.trail.append(id(node))
            made = printer(node, self)
            self.trail.pop()
        self._mark(node, made)
        return made

    def expr(self, node: object) -> ExprDoc:
        """The document of a node as an expression; if it is a statement, it goes to the metadata.

        Programs that are not well formed have to print, too.
        """
        made = self.doc(node)
        return made if isinstance(made, ExprDoc) else self._out_of_line(node)

    def exprs(self, nodes: Sequence[object]) -> list[ExprDoc]:
        """The documents of several nodes."""
        return [self.expr(node) for node in nodes]

    def mark(self, node: object, made: Doc, *, defines: bool = False) -> None:
        """Note for a document that was not made through `doc` which node it stands for.

        Where it `defines` a name, it is underlined by its path; the object is where it is used.
        """
        if self.marks or self.followed or self.notes:
            self._mark(node, made, defines)

    def _mark(self, node: object, made: Doc, defines: bool = False) -> None:
        for path in self.followed:
            path.see(id(node), self.trail, made)
        named = self.marks.get(id(node))
        if named is not None and not defines:
            add_path(made, named)
        note = None if defines else self.notes.get(id(node))
        if note is not None and isinstance(made, StmtDoc) and not isinstance(made, _PROGRAMS):
            made.comment = note

    def _without_rule(self, node: object) -> ExprDoc:
        """Python values print as themselves, other objects go to the metadata."""
        if isinstance(node, DataType):
            return LiteralDoc(str(node))
        if node is None or isinstance(node, (bool, int, float, str)):
            if isinstance(node, str) and "\n" in node:
                return self.metadata_of(node, "ffi.String")
            return LiteralDoc(node)
        if isinstance(node, (list, tuple)):
            return ListDoc(self.exprs(node))
        if isinstance(node, dict):
            items = list(node.items())
            if all(isinstance(key, str) for key in node):
                items.sort(key=lambda item: item[0])
            return DictDoc({self.expr(key): self.expr(value) for key, value in items})
        return self._out_of_line(node)

    def _out_of_line(self, node: object) -> ExprDoc:
        return self.metadata_of(node, str(getattr(node, "TYPE_KEY", type(node).__name__)))

    # --- words of the dialects ---

    def word(self, dialect: str, name: str) -> ExprDoc:
        """`T.name`, `R.nn.name`: a word of a dialect under the prefix that the user chose."""
        found = self._words.get((dialect, name))
        if found is None:
            self.ir_usage.add(dialect)
            prefix: str = getattr(self.cfg, f"{dialect}_prefix")
            found = IdDoc(prefix)
            for part in name.split("."):
                found = AttrAccessDoc(found, part)
            self._words[(dialect, name)] = found
        return found

    # --- frames and names ---

    @contextmanager
    def frame(self, node: object = None, dialect: str | None = None) -> Iterator[Frame]:
        """A frame for the time of the block; its names are free afterwards."""
        token = dialect if dialect is not None else (self.tokens[-1] if self.tokens else "ir")
        with self.enter(Frame(node, token)) as opened:
            yield opened

    @contextmanager
    def enter(self, opened: Frame) -> Iterator[Frame]:
        """A frame that was made before, for the time of the block."""
        self.frames.append(opened)
        self.tokens.append(opened.dialect)
        try:
            yield opened
        finally:
            self.tokens.pop()
            self.frames.pop()
            for obj in opened.defined:
                self._forget(obj)

    def define(self, obj: object, frame: Frame, hint: str) -> IdDoc:
        """Give `obj` a name that is free: the hint, or the hint with a number."""
        name = self.fresh_name(hint)
        if self.cfg.show_object_address:
            name = f"{name}_{id(obj):#x}"
        self._names[id(obj)] = name
        self._owned[id(obj)] = name
        frame.defined.append(obj)
        return IdDoc(name)

    def define_as(self, obj: object, frame: Frame, make: Callable[[], ExprDoc]) -> None:
        """Say that `obj` is printed as what `make` returns, such as `A.data`."""
        self._names[id(obj)] = make
        frame.defined.append(obj)

    def is_defined(self, obj: object) -> bool:
        """True when `obj` has a name here."""
        return id(obj) in self._names

    def name_doc(self, obj: object) -> ExprDoc | None:
        """The name of `obj`, or None."""
        found = self._names.get(id(obj))
        if found is None:
            return None
        return IdDoc(found) if isinstance(found, str) else found()

    def fresh_name(self, hint: str) -> str:
        """Take a name that nothing visible has."""
        hint = identifier(hint)
        taken = self._taken
        name = hint
        if name in taken:
            count = self._next.get(hint, 1)
            while (name := f"{hint}_{count}") in taken:
                count += 1
            self._next[hint] = count + 1
        taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Give a name of the program's own to no variable."""
        self._taken.add(name)

    def _forget(self, obj: object) -> None:
        self._names.pop(id(obj), None)
        name = self._owned.pop(id(obj), None)
        if name is None:
            return
        self._taken.discard(name)
        # The freed number is given again first, as if names were counted from the start.
        hint, _, count = name.rpartition("_")
        if count.isdigit() and hint in self._next:
            self._next[hint] = min(self._next[hint], int(count))

    # --- metadata ---

    def metadata_of(self, obj: object, type_key: str) -> ExprDoc:
        """`metadata["type.key"][i]` for what has no text of its own."""
        items = self.metadata.setdefault(type_key, [])
        index = next((i for i, item in enumerate(items) if item is obj), len(items))
        if index == len(items):
            items.append(obj)
        table = IndexDoc(IdDoc("metadata"), [LiteralDoc(type_key)])
        return IndexDoc(table, [LiteralDoc(index)])


def call(callee: ExprDoc, args: Sequence[ExprDoc], kwargs: dict[str, ExprDoc]) -> CallDoc:
    """A call document of lists."""
    return CallDoc(callee, *args, **kwargs)


def identifier(hint: str) -> str:
    """The hint with everything replaced that a Python name may not have."""
    if hint.isidentifier():
        return f"{hint}_" if hint in _KEYWORDS else hint
    text = "".join(c if c.isalnum() or c == "_" else "_" for c in hint) or "v"
    return f"v_{text}" if text[0].isdigit() else text


_PROGRAMS: Final = (FunctionDoc, ClassDoc)  # a comment of theirs would be documentation
_KEYWORDS: Final = frozenset(keyword.kwlist)
