"""What `relay.build` gives, by the executor that it was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.ir.module import IRModule

from .graph_runtime import ExecutorFactoryModule, GraphExecutorFactoryModule

__all__ = ["AOTExecutorFactoryModule", "ExecutorFactoryModule", "GraphExecutorFactoryModule"]


class AOTExecutorFactoryModule(ExecutorFactoryModule):
    """A program of one function: `tvm.runtime.executor.AotModule(lib["default"](device))`."""

    def __init__(
        self,
        ir_mod: IRModule,
        lowered_ir_mods: Mapping[Any, IRModule],
        target: Any,
        executor: Any,
        runtime: Any,
        libmod: Any,
        libmod_name: str,
        params: Mapping[str, Any],
        function_metadata: Mapping[str, Any],
        executor_codegen_metadata: Any,
        devices: Sequence[str],
    ) -> None:
        super().__init__(ir_mod, target, executor, libmod, libmod_name, params, function_metadata)
        self.lowered_ir_mods = dict(lowered_ir_mods)
        self.runtime = runtime
        self.executor_codegen_metadata = executor_codegen_metadata
        self.devices = list(devices)

    def get_devices(self) -> list[str]:
        """The devices that the module names."""
        return list(self.devices)

    def get_executor_config(self) -> Any:
        """What the executor is told: nothing, the code is whole."""
        return None
