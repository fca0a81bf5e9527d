"""An accelerator as its maker describes it.

    class Mine(UMABackend):
        def __init__(self):
            super().__init__()
            self._register_pattern("conv2d", is_op("nn.conv2d")(wildcard(), wildcard()))
            self._register_tir_pass(PassPhase.TIR_PHASE_0, UseMyConvolution())
            self._register_codegen(fmt="c", includes=lambda: '#include "mine.h"')

        @property
        def target_name(self):
            return "mine"

    backend = Mine()
    backend.register()
    lib = relay.build(backend.partition(mod), target=["llvm", "mine"])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tvm.ffi import register_global_func
from tvm.ir.module import IRModule
from tvm.ir.transform import Pass
from tvm.relay.dataflow_pattern import DFPattern
from tvm.target import Target

from .api.codegen import UMACodegen
from .api.lower import UMALower
from .api.partitioner import UMAPartitioner
from .api.utils import PassPhase, register_target


class UMABackend(ABC):
    """What an accelerator takes, how it computes that, and what code it runs."""

    def __init__(self, merge_compiler_regions: bool = True) -> None:
        self._target_attrs: dict[str, Any] = {}
        self._relay_to_relay = UMAPartitioner(self.target_name, merge_compiler_regions)
        self._relay_to_tir = UMALower(self.target_name)
        self._tir_to_runtime = UMACodegen(self.target_name)

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The name of the accelerator's target."""

    def _register_target_attr(self, name: str, default: str | int | bool | None = "") -> None:
        self._target_attrs[name] = default

    def _register_relay_pass(self, phase: PassPhase, relay_pass: Pass) -> None:
        self._relay_to_relay.add_relay_pass(phase, relay_pass)

    def _register_pattern(
        self, name: str, pattern: DFPattern, predicate: Callable[..., Any] | None = None
    ) -> None:
        self._relay_to_relay.add_pattern(name, pattern, predicate)

    def _register_operator_strategy(
        self, op: str, strategy: Callable[..., Any], plevel: int | None = 11
    ) -> None:
        self._relay_to_tir.add_operator_strategy(op, strategy, plevel)

    def _register_tir_pass(self, phase: PassPhase, tir_pass: Pass) -> None:
        self._relay_to_tir.add_tir_pass(phase, tir_pass)

    def _register_codegen(self, fmt: str = "c", **kwargs: Any) -> None:
        self._tir_to_runtime._register_codegen(fmt, **kwargs)

    def register(self) -> None:
        """Make the target, its patterns and its code known; a target of this name stays as it is.

        Raises ValueError for an attribute of the target that is None.
        """
        missing = [name for name, default in self._target_attrs.items() if default is None]
        if missing:
            raise ValueError(f"Target attribute None is not supported: {missing[0]}")
        if self.target_name in Target.list_kinds():
            return
        register_target(self.target_name, self._target_attrs)
        self._relay_to_relay.register()
        self._relay_to_tir.register()
        self._tir_to_runtime.register()
        register_global_func(
            f"relay.ext.{self.target_name}",
            lambda func: self._tir_to_runtime.module_of(func, self._relay_to_tir),
            override=True,
        )

    def partition(self, mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
        """The module with functions for the accelerator; parameters become constants first."""
        return self._relay_to_relay.partition(mod, params)
