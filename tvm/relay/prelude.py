"""Data types that programs share, with functions over them: lists, options, trees.

    p = Prelude()
    total = relay.Function([xs], p.sum(p.map(double, xs)))      # xs: List[int32]

The definitions are Relay text in `std/`; `IRModule.import_from_std` brings a file into a module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import OPERATORS, GlobalVar
from tvm.ir.module import IRModule
from tvm.support.arguments import explained

from .tensor_array_ops import StaticTensorArrayOps as StaticTensorArrayOps
from .tensor_array_ops import TensorArrayOps as TensorArrayOps
from .tensor_array_ops import constructor_of, name_of, static_name_of
from .tensor_array_ops import get_tensor_array_shape as get_tensor_array_shape
from .text_parser import parse

_STD: Final = Path(__file__).parent / "std"
_FUNCTIONS: Final = (
    "id", "compose", "flip", "hd", "tl", "nth", "update", "map", "foldl", "foldr", "foldr1",
    "concat", "filter", "zip", "rev", "unfoldl", "unfoldr", "map_accumr", "map_accuml", "sum",
    "length", "tmap", "size", "iterate",
)  # fmt: skip

_TENSOR_DTYPES: Final = (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
)  # fmt: skip


@explained
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
    flip: GlobalVar
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
        self._bring_tensors(dtype)
        return name_of(canonical, dtype)

    def _bring_tensors(self, dtype: str) -> None:
        """Tensors of a data type, with their functions, come when they are first asked for."""
        own = name_of("tensor_t", dtype)
        known = any(var.name_hint == own for var in self.mod.type_definitions)
        if dtype in _TENSOR_DTYPES and not known:
            TensorArrayOps(self, dtype).register()

    def get_global_var(self, canonical: str, dtype: str = "") -> GlobalVar:
        """A function of the module by name."""
        return self.mod.get_global_var(self.get_name(canonical, dtype))

    def get_type(self, canonical: str, dtype: str = "") -> Any:
        """A data type by name, for users that build it of other types."""
        return self.mod.get_global_type_var(self.get_name(canonical, dtype))

    def get_ctor(self, ty_name: str, canonical: str, dtype: str = "") -> Any:
        """A constructor of a data type by name."""
        return constructor_of(self.mod, ty_name, self.get_name(canonical, dtype))

    def get_tensor_ctor(self, canonical: str, dtype: str) -> Any:
        """A constructor of `tensor_<dtype>_t` by name."""
        return self.get_ctor(self.get_type("tensor_t", dtype).name_hint, canonical, dtype)

    def get_name_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None
    ) -> str:
        """The name of a definition for tensors of one shape."""
        return static_name_of(canonical, dtype, shape, batch_dim)

    def get_global_var_static(
        self, canonical: str, dtype: str, shape: Sequence[Any], batch_dim: int | None = None
    ) -> GlobalVar:
        """A function over tensors of one shape."""
        return self.mod.get_global_var(static_name_of(canonical, dtype, shape, batch_dim))

    def get_type_static(self, canonical: str, dtype: str, shape: Sequence[Any]) -> Any:
        """The data type of tensors of one shape."""
        return self.mod.get_global_type_var(static_name_of(canonical, dtype, shape))

    def get_ctor_static(self, ty_name: str, name: str, dtype: str, shape: Sequence[Any]) -> Any:
        """A constructor of a data type; both by their short names for a shape."""
        owner = static_name_of(ty_name, dtype, shape)
        return constructor_of(self.mod, owner, static_name_of(name, dtype, shape))

    def get_tensor_ctor_static(self, name: str, dtype: str, shape: Sequence[Any]) -> Any:
        """A constructor of the tensors of one shape."""
        return self.get_ctor_static("tensor_t", name, dtype, shape)
