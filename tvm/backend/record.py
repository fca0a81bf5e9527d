"""What a backend is to the rest of the compiler."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvm.ir.module import IRModule
    from tvm.runtime.module import Module
    from tvm.target import Target


@dataclass(frozen=True)
class Backend:
    """A folder that turns lowered functions into something that runs.

    `home` is the module with `build(mod, target) -> Module` and `emit_text(mod, target) -> str`;
    it is imported when the backend is first used. `graph_passes` is one with the four lists of
    passes for graphs (`library_dispatch_passes` and the others of `tvm.relax.pipeline`).
    """

    kind: str  # the target kind it serves
    home: str
    makes_host_code: bool = False  # whether host functions can be compiled by it too
    graph_passes: str | None = None

    def build(self, mod: IRModule, target: Target) -> Module:
        """Compile the lowered functions of a module."""
        module: Module = self._home().build(mod, target)
        return module

    def emit_text(self, mod: IRModule, target: Target) -> str:
        """The generated code as text."""
        text: str = self._home().emit_text(mod, target)
        return text

    def _home(self) -> Any:
        return importlib.import_module(self.home)
