"""Data types that programs share, with functions over them: lists, options, trees.

    p = Prelude()
    total = relay.Function([xs], p.sum(p.map(double, xs)))      # xs: List[int32]

The definitions are Relay text in `std/`; `IRModule.import_from_std` brings a file into a module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import OPERATORS, GlobalVar
from tvm.ir.module import IRModule

from .text_parser import parse

_STD: Final = Path(__file__).parent / "std"
_FUNCTIONS: Final = (
    "id", "compose", "hd", "tl", "nth", "update", "map", "foldl", "foldr", "foldr1", "concat",
    "filter", "zip", "rev", "unfoldl", "unfoldr", "map_accumr", "map_accuml", "sum", "length",
    "tmap", "size", "iterate",
)  # fmt: skip


def import_from_std(mod: IRModule, file_name: str) -> None:
    """Add the types and functions of a file of `std/` to a module."""
    path = _STD / file_name
    if path.parent != _STD or not path.is_file():
        known = ", ".join(sorted(p.name for p in _STD.glob("*.rly")))
        raise TVMError(message(f"import_from_std: {file_name!r}", found="no file", legal=known))
    text = path.read_text(encoding="utf-8")
    present = {var.name_hint for var in mod.type_definitions}
    if present.issuperset(re.findall(r"^(?:extern )?type (\w+)", text, re.MULTILINE)):
        return
    made = parse(text, file_name, init_module=mod)
    for var, data in made.type_definitions.items():
        mod.update_type_def(var, data)
    mod.update(made)


OPERATORS["relay"]["import_from_std"] = import_from_std


class Prelude:
    """The definitions in a module; each function is an attribute."""

    id: GlobalVar
    compose: GlobalVar
    hd: GlobalVar
    tl: GlobalVar
    nth: GlobalVar
    update: GlobalVar
    map: GlobalVar
    foldl: GlobalVar
    foldr: GlobalVar
    foldr1: GlobalVar
    concat: GlobalVar
    filter: GlobalVar
    zip: GlobalVar
    rev: GlobalVar
    unfoldl: GlobalVar
    unfoldr: GlobalVar
    map_accumr: GlobalVar
    map_accuml: GlobalVar
    sum: GlobalVar
    length: GlobalVar
    tmap: GlobalVar
    size: GlobalVar
    iterate: GlobalVar

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = IRModule() if mod is None else mod
        self.load_prelude()

    def load_prelude(self) -> None:
        """Bring the definitions into the module."""
        import_from_std(self.mod, "prelude.rly")
        for name in _FUNCTIONS:
            setattr(self, name, self.mod.get_global_var(name))

    def get_name(self, canonical: str, dtype: str = "") -> str:
        """The name of a definition for a data type: `tensor_float32_t`, `tensor2_int32`, ..."""
        if not dtype:
            return canonical
        return f"tensor_{dtype}_t" if canonical == "tensor_t" else f"{canonical}_{dtype}"

    def get_global_var(self, canonical: str, dtype: str = "") -> GlobalVar:
        """A function of the module by name."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str = "") -> Any:
        """A data type by name, for users that build it of other types."""
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str = "") -> Any:
        """A constructor of a data type by name."""
        wanted = self.get_name(canonical, dtype)
        _, *constructors = self.mod.get_type(ty_name)
        for constructor in constructors:
            if constructor.name_hint == wanted:
                return constructor
        known = ", ".join(c.name_hint for c in constructors)
        raise TVMError(message(f"get_ctor: {wanted!r} of {ty_name}", found="none", legal=known))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Any:
        """A constructor of `tensor_<dtype>_t` by name."""
        return self.get_ctor(self.get_type("tensor_t", dtype).name_hint, canonical, dtype)
