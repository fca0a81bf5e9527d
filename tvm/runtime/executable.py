"""The result of a compilation."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from tvm.ffi.registry import get_global_func

from .module import Module


class Executable:
    """Compiled functions, ready to run here (`ex["f"](...)`) or to be exported."""

    def __init__(self, mod: Module) -> None:
        self.mod = mod
        self._jitted_mod: Module | None = None

    def jit(
        self,
        *,
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        force_recompile: bool = False,
        **kwargs: Any,
    ) -> Module:
        """The module whose functions can be called; code is linked when one is asked for.

        With `force_recompile` it is another one of the same code, which is linked anew.
        """
        if self._jitted_mod is None:
            self._jitted_mod = self.mod
        elif force_recompile:
            self._jitted_mod = self.mod.unlinked()
        return self._jitted_mod

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        *,
        fcompile: Callable[..., Any] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Write everything as one file that `tvm.runtime.load_module` reads."""
        return self.mod.export_library(
            file_name, fcompile=fcompile, addons=addons, workspace_dir=workspace_dir, **kwargs
        )

    @staticmethod
    def load_exec(bytecode: Any, lib: Any) -> Any:
        """A program of Relay of the bytes and the library that its `save` gave."""
        return get_global_func("relay.vm.load_exec")(bytecode, lib)

    def __getitem__(self, name: str) -> Any:
        return self.jit()[name]

    def __call__(self, *args: Any) -> Any:
        return self.jit().entry_func(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "mod":
            raise AttributeError(name)
        return getattr(self.mod, name)
