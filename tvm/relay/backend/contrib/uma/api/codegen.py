"""The code of an accelerator's functions: C source with its includes, or machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.backend.c.module import CSourceModule
from tvm.ffi import register_global_func
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.function import Function
from tvm.runtime.module import Module
from tvm.tir.build import build

from .lower import UMALower


class UMACodegen:
    """How PrimFuncs become a module that runs."""

    def __init__(self, target_name: str) -> None:
        self.target_name = target_name
        self.fmt: str | None = None
        self._includes: Callable[[], str] | None = None

    def _register_codegen(
        self, fmt: str = "c", includes: Callable[[], str] | None = None, **kwargs: Any
    ) -> None:
        if fmt not in ("c", "llvm"):
            raise RuntimeError(f'Unsupported codegen format "{fmt}"')
        self.fmt = fmt
        self._includes = includes

    def register(self) -> None:
        """Make the lines before the code known as `relay.ext.uma.codegen_c_includes_TARGET`."""
        if self._includes is not None:
            name = f"relay.ext.uma.codegen_c_includes_{self.target_name}"
            register_global_func(name, self._includes, override=True)

    def module_of(self, func: Function, lower: UMALower) -> Module:
        """The module of one function of the accelerator."""
        symbol = str(func.attrs["global_symbol"])
        prim = lower.lower(func, symbol).without_attr("target").without_attr("relay_attrs")
        target = "c" if self.fmt == "c" else "llvm"
        context = PassContext.current()
        options = {**context.config, "tir.add_lower_pass": lower.lower_passes()}
        with PassContext(opt_level=context.opt_level, config=options):
            made = build(IRModule({symbol: prim}), target)
        if target == "llvm" or self._includes is None:
            return made
        assert isinstance(made, CSourceModule), "the target c makes C"
        emitted = made.emitted
        declared = tuple(f" {name}(" for name in emitted.externals)  # by the includes, too
        lines = [
            line for line in emitted.text.splitlines()
            if not (line.startswith("extern ") and any(name in line for name in declared))
        ]
        text = "\n".join([self._includes(), *lines, ""])
        return CSourceModule(emitted._replace(text=text, externals=()), made.target)
