"""A module: functions of all dialects under their global names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, TypeAlias

from tvm.error import TVMError
from tvm.support.arguments import explained
from tvm.support.frozen import FrozenMap
from tvm.support.suggest import did_you_mean

from .attrs import DictAttrs
from .expr import OPERATORS, GlobalVar, RelaxExpr
from .function import BaseFunc, as_attrs
from .global_info import GlobalInfo
from .node import Field, Node, fields, register_nodes
from .scriptable import PRINTERS

GlobalInfos = Mapping[str, "list[GlobalInfo] | tuple[GlobalInfo, ...]"]
Name: TypeAlias = "str | GlobalVar"


class IRModule(Node):
    """Functions by global variable, with attributes and global infos.

    A module is the one IR object with an editing interface (`mod["f"] = func`); an edit replaces
    its function table, so whoever took the old table keeps it. Passes return new modules.
    `pyfuncs` holds the functions of a script that stay Python, by name; equality ignores them.
    """

    __slots__ = (
        "__name__", "attrs", "functions", "global_infos", "pyfuncs", "source_map",
        "type_definitions",
    )  # fmt: skip
    TYPE_KEY = "ir.IRModule"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "attrs", "type_definitions", "functions", "source_map~", "global_infos"
    )
    CTOR: ClassVar[tuple[str, ...]] = (
        "functions", "attrs", "global_infos", "source_map", "type_definitions",
    )  # fmt: skip

    @explained
    def __init__(
        self,
        functions: Mapping[GlobalVar, BaseFunc] | Mapping[str, BaseFunc] | None = None,
        attrs: DictAttrs | Mapping[str, object] | None = None,
        global_infos: GlobalInfos | None = None,
        source_map: object = None,
        type_definitions: Mapping[Any, Any] | None = None,
    ) -> None:
        if functions is not None and not hasattr(functions, "items"):
            raise TypeError(
                f"IRModule: the functions are a {type(functions).__name__}; "
                "legal: a dict of functions by name or GlobalVar"
            )
        table: dict[GlobalVar, BaseFunc] = {}
        names: dict[str, GlobalVar] = {}
        for key, func in (functions or {}).items():
            var = GlobalVar(key) if isinstance(key, str) else key
            if not isinstance(var, GlobalVar):
                raise TypeError(
                    "IRModule: a function's key is a str or a GlobalVar, "
                    f"found {type(key).__name__}"
                )
            _check_function(var, func)
            if names.setdefault(var.name_hint, var) is not var:
                raise TVMError(f"IRModule: two functions are called {var.name_hint!r}")
            table[var] = func
        self.functions: FrozenMap[GlobalVar, BaseFunc] = FrozenMap(table)
        self.attrs: DictAttrs = as_attrs(attrs)
        self.global_infos: FrozenMap[str, tuple[GlobalInfo, ...]] = FrozenMap(
            {name: tuple(infos) for name, infos in (global_infos or {}).items()}
        )
        self.source_map = source_map
        # the data types of Relay by their names (GlobalTypeVar)
        self.type_definitions: FrozenMap[Any, Any] = FrozenMap(type_definitions or {})
        self.pyfuncs: dict[str, Callable[..., Any]] = {}

    # --- reading ---

    def _find(self, name: str) -> GlobalVar | None:
        for var in self.functions:
            if var.name_hint == name:
                return var
        return None

    @explained
    def get_global_var(self, name: str) -> GlobalVar:
        """The global variable called `name`."""
        var = self._find(name)
        if var is None:
            known = [v.name_hint for v in self.functions]
            raise UnknownFunctionError(
                f"Cannot find global var {name!r} in the module{did_you_mean(name, known)}; "
                f"candidates are: {sorted(known)}"
            )
        return var

    def get_global_vars(self) -> list[GlobalVar]:
        """All global variables, in the order of their names."""
        return sorted(self.functions, key=lambda var: var.name_hint)

    @property
    def global_var_map_(self) -> FrozenMap[str, GlobalVar]:
        """Global variables by name."""
        return FrozenMap({var.name_hint: var for var in self.functions})

    def functions_items(self) -> list[tuple[GlobalVar, BaseFunc]]:
        """Global variables with functions, in the order of their names."""
        return [(var, self.functions[var]) for var in self.get_global_vars()]

    def __getitem__(self, var: Name) -> BaseFunc:
        key = self.get_global_var(var) if isinstance(var, str) else var
        if key not in self.functions:
            if key in self.type_definitions:
                data: BaseFunc = self.type_definitions[key]
                return data
            if not isinstance(key, GlobalVar):
                raise TypeError(f"IRModule: functions have a str or a GlobalVar, found {var!r}")
            key = self.get_global_var(key.name_hint)
        return self.functions[key]

    def __contains__(self, var: object) -> bool:
        if isinstance(var, str):
            return self._find(var) is not None
        return var in self.functions

    def __len__(self) -> int:
        return len(self.functions)

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self.functions)

    # --- editing ---

    def __setitem__(self, var: Any, func: Any) -> None:
        if not isinstance(func, BaseFunc) and hasattr(func, "constructors"):
            self.update_type_def(var, func)
            return
        key = (self._find(var) or GlobalVar(var)) if isinstance(var, str) else var
        self.update_func(key, func)

    def __delitem__(self, var: Name) -> None:
        key = self.get_global_var(var) if isinstance(var, str) else var
        self.functions = FrozenMap({v: f for v, f in self.functions.items() if v is not key})

    @explained
    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Set the function of `var`."""
        _check_function(var, func)
        other = self._find(var.name_hint)
        if other is not None and other is not var:
            self.functions = FrozenMap(
                {(var if v is other else v): (func if v is other else f)
                 for v, f in self.functions.items()}
            )  # fmt: skip
            return
        self.functions = FrozenMap({**self.functions, var: func})

    @explained
    def update_type_def(self, var: Any, type_data: Any) -> None:
        """Set the data type called `var` (a name of it, or its GlobalTypeVar)."""
        key = type_data.header if isinstance(var, str) else var
        self.type_definitions = FrozenMap({**self.type_definitions, key: type_data})

    def get_global_type_var(self, name: str) -> Any:
        """The name of the data type called `name`."""
        for var in self.type_definitions:
            if var.name_hint == name:
                return var
        known = sorted(var.name_hint for var in self.type_definitions)
        raise UnknownFunctionError(
            f"Cannot find global type var {name!r} in the module{did_you_mean(name, known)}; "
            f"candidates are: {known}"
        )

    def get_global_type_vars(self) -> list[Any]:
        """The names of all data types, sorted."""
        return sorted(self.type_definitions, key=lambda var: str(var.name_hint))

    def import_from_std(self, file_name: str) -> None:
        """Add the types and functions of a file of the standard library of Relay."""
        import_module("tvm.relay.prelude")  # the library stands there
        OPERATORS["relay"]["import_from_std"](self, file_name)

    def get_type(self, name: str) -> tuple[Any, ...]:
        """The data type called `name` with its constructors."""
        var = self.get_global_type_var(name)
        return (var, *self.type_definitions[var].constructors)

    def get_constructor(self, adt: str | int, cons: str = "") -> Any:
        """The constructor `cons` of the data type called `adt`, or the one with a tag."""
        if isinstance(adt, int):
            return self._constructor_by_tag(adt)
        var, *constructors = self.get_type(adt)
        for made in constructors:
            if made.name_hint == cons:
                return made
        known = [made.name_hint for made in constructors]
        raise UnknownFunctionError(
            f"{var.name_hint} has no constructor {cons!r}{did_you_mean(cons, known)}; "
            f"legal: {', '.join(known)}"
        )

    def _constructor_by_tag(self, tag: int) -> Any:
        for data in self.type_definitions.values():
            for made in data.constructors:
                if made.tag == tag:
                    return made
        raise UnknownFunctionError(f"There is no constructor with the tag {tag} in the module")

    @explained
    def update(
        self, other: IRModule | Mapping[GlobalVar, BaseFunc] | Mapping[str, BaseFunc]
    ) -> None:
        """Take over all functions of another module, or of a table by names."""
        mod = other if isinstance(other, IRModule) else IRModule(other)
        for var, func in mod.functions.items():
            self.update_func(var, func)

    @explained
    def update_global_info(self, name: str, global_info: list[GlobalInfo]) -> None:
        """Set the global infos called `name`."""
        self.global_infos = FrozenMap({**self.global_infos, name: tuple(global_info)})

    def clone(self) -> IRModule:
        """A module with the same functions that can be edited on its own."""
        return self._changed(self.functions, self.attrs)

    def _changed(
        self, functions: Mapping[GlobalVar, BaseFunc], attrs: DictAttrs | Mapping[str, object]
    ) -> IRModule:
        """A module with other functions and attributes, and the rest of this one."""
        made = IRModule(
            functions, attrs, self.global_infos, self.source_map, self.type_definitions
        )
        made.pyfuncs = dict(self.pyfuncs)
        return made

    @explained
    def with_functions(self, functions: Mapping[GlobalVar, BaseFunc]) -> IRModule:
        """A new module with other functions and the same attributes; itself if they are equal."""
        same = len(functions) == len(self.functions) and all(
            self.functions.get(var) is func for var, func in functions.items()
        )
        if same:
            return self
        return self._changed(functions, self.attrs)

    @explained
    def replace_global_vars(self, replacements: Mapping[Name, Name]) -> IRModule:
        """A module in which functions and their uses have other names."""
        from .replace_global_vars import replace_global_vars  # needs the functors of the dialects

        return replace_global_vars(self, replacements)

    # --- text ---

    def script(self, **options: Any) -> str:
        """This module as TVMScript, or in the text format of Relay if its functions are Relay's.

        The version of that format is in `astext()` alone.
        """
        only_types = self.type_definitions and not self.functions
        if only_types or any(func.DIALECT == "relay" for func in self.functions.values()):
            shown = bool(options.get("show_meta", False))
            return PRINTERS.get("relay")(self, {"show_meta_data": shown, "head": False})
        return super().script(**options)

    def _repr_html_(self) -> str:
        """What notebooks show: the functions in colours, folded where they are many."""
        return PRINTERS.get("html")(self, {})

    def astext(self, show_meta_data: bool = True, annotate: Any = None) -> str:
        """A module of Relay in the text format that `relay.parse` reads."""
        return PRINTERS.get("relay")(self, {"show_meta_data": show_meta_data, "annotate": annotate})

    # --- attributes ---

    @explained
    def get_attr(self, attr_key: str) -> object:
        """A module attribute, or None."""
        return self.attrs.get(attr_key)

    @explained
    def with_attr(self, attr_key: str, attr_value: object) -> IRModule:
        """A copy with one attribute set."""
        return self.with_attrs({attr_key: attr_value})

    @explained
    def with_attrs(self, attr_map: DictAttrs | Mapping[str, object]) -> IRModule:
        """A copy with the given attributes set beside the present ones."""
        merged = {**dict(self.attrs.items()), **dict(attr_map.items())}
        return self._changed(self.functions, merged)

    def without_attr(self, attr_key: str) -> IRModule:
        """A copy without the attribute."""
        rest = {key: value for key, value in self.attrs.items() if key != attr_key}
        return self._changed(self.functions, rest)

    @staticmethod
    def from_expr(
        expr: RelaxExpr,
        functions: Mapping[GlobalVar, BaseFunc] | None = None,
        type_defs: Mapping[Any, Any] | None = None,
    ) -> IRModule:
        """A module whose `main` (or global symbol) is the given function.

        An expression of Relay is the body of a function of its free variables; `type_defs` are
        data types by their GlobalTypeVar.
        """
        if not isinstance(expr, BaseFunc) and getattr(expr, "DIALECT", "") == "relay":
            expr = OPERATORS["relay"]["as_function"](expr)  # type: ignore[assignment]
        if not isinstance(expr, BaseFunc):
            raise TypeError(
                f"IRModule.from_expr takes a function, found {type(expr).__name__}; "
                "wrap the expression in a relax.Function first"
            )
        symbol = expr.attrs.get("global_symbol")
        name = str(symbol) if symbol is not None else "main"
        return IRModule({**(functions or {}), GlobalVar(name): expr}, type_definitions=type_defs)


class UnknownFunctionError(TVMError, ValueError, KeyError):
    """A function name that the module does not have."""

    __str__ = TVMError.__str__


register_nodes(IRModule)


def _check_function(var: GlobalVar, func: object) -> None:
    if not isinstance(func, BaseFunc):
        raise TypeError(
            f"IRModule: function {var.name_hint!r} is a {type(func).__name__}; "
            "legal: tir.PrimFunc, relax.Function, relax.ExternFunc"
        )
