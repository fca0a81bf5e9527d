"""What a backend is to the rest of the compiler."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tvm.ir.module import IRModule
    from tvm.runtime.module import Module
    from tvm.target import Target
    from tvm.target.kind import TargetKind


@dataclass(frozen=True)
class Backend:
    """A folder that turns lowered functions into something that runs.

    `home` is the module with `build(mod, target) -> Module` and `emit_text(mod, target) -> str`;
    it is imported when the backend is first used. `graph_passes` is one with the four lists of
    passes for graphs (`library_dispatch_passes` and the others of `tvm.relax.pipeline`); without
    it graphs compile by the lists for any CPU or any GPU. `target_kind` is for kinds that
    `tvm.target` does not know by itself; it says what passes ask of them (`KindTraits`).
    """

    kind: str  # the name of the target kind that it serves
    home: str
    makes_host_code: bool = False  # whether host functions can be compiled by it too
    graph_passes: str | None = None
    keyed_graph_passes: Mapping[str, str] = field(default_factory=dict)  # for targets with a key
    compiles_graphs: bool = True  # there is a virtual machine where its code runs
    keeps_kernels: bool = False  # it compiles them one by one, in workers, and keeps their code
    target_kind: TargetKind | None = None

    def build(self, mod: IRModule, target: Target) -> Module:
        """Compile the lowered functions of a module."""
        module: Module = self._home().build(mod, target)
        return module

    def emit_text(self, mod: IRModule, target: Target) -> str:
        """The generated code as text."""
        text: str = self._home().emit_text(mod, target)
        return text

    def graph_passes_for(self, target: Target) -> str | None:
        """The module with lists of passes that were written for such targets."""
        for key, home in self.keyed_graph_passes.items():
            if key in target.keys:
                return home
        return self.graph_passes

    def _home(self) -> Any:
        return importlib.import_module(self.home)
