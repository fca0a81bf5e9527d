"""Compiled code from outside joins the module's `external_mods`, which the build links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext, module_pass


@module_pass(opt_level=0, name="AttachExternModules")
class AttachExternModules:
    """Load external modules, each once, and attach them."""

    def __init__(self, extern_modules: Sequence[Any]) -> None:
        wrong = [one for one in extern_modules if not callable(getattr(one, "load", None))]
        if wrong:
            raise TypeError(
                message(
                    "AttachExternModules",
                    found=type(wrong[0]).__name__,
                    legal="tvm.relax.frontend.nn.ExternModule: SourceModule, ObjectModule",
                )
            )
        self.extern_modules = list(extern_modules)

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module with them behind those that it has."""
        known = mod.attrs.get("external_mods", ()) if mod.attrs else ()
        loaded = [one.load() for one in self.extern_modules]
        return mod.with_attr("external_mods", [*known, *loaded])  # type: ignore[misc]
