"""The virtual machine's compiler and executor, under the names that scripts know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.relay.function import Function

from .compiled import CompiledExecutor, as_module, compile_module


def compile(
    mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    params: Mapping[str, Any] | None = None,
) -> Any:
    """The executable of a module; run it with `tvm.runtime.vm.VirtualMachine`."""
    return compile_module(as_module(mod, params), target)


class VMCompiler:
    """Compiles in steps: lower, then take the executable."""

    def __init__(self) -> None:
        self._params: dict[str, Any] = {}
        self._executable: Any = None

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Constants for parameters of main."""
        self._params = dict(params)

    def get_params(self) -> dict[str, Any]:
        """The constants that were given."""
        return dict(self._params)

    def lower(self, mod: IRModule, target: Any = None, target_host: Any = None) -> None:
        """Compile the module."""
        self._executable = compile(mod, target, target_host, self._params)

    def codegen(self) -> None:
        """Nothing is left to do once `lower` has run."""
        self.get_exec()

    def optimize(
        self,
        mod: IRModule,
        target: Any = None,
        target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:
        """The module after the passes of Relay, with its parameters."""
        from tvm.relay.build_module import optimize

        return optimize(mod, target, {**self._params, **dict(params or {})})

    def get_exec(self) -> Any:
        """The executable."""
        if self._executable is None:
            raise RuntimeError("VMCompiler: nothing is compiled yet; call lower(mod, target) first")
        return self._executable


class VMExecutor(CompiledExecutor):
    """Runs functions on the virtual machine."""
