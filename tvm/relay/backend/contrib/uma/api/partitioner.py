"""The parts of a program that an accelerator takes, as functions for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.transform import Pass, Sequential
from tvm.relay import transform as t
from tvm.relay.build_module import bind_params_by_name
from tvm.relay.dataflow_pattern import DFPattern
from tvm.relay.function import Function
from tvm.relay.op.contrib import register_pattern_table

from .utils import PassPhase


class UMAPartitioner:
    """The patterns of an accelerator, and the passes around their search."""

    def __init__(self, target_name: str, merge_compiler_regions: bool = True) -> None:
        self.target_name = target_name
        self.merge_compiler_regions = merge_compiler_regions
        self._relay_passes: list[tuple[PassPhase, Pass]] = []
        self._patterns: list[tuple[Any, ...]] = []

    def add_pattern(
        self, name: str, pattern: DFPattern, predicate: Callable[..., Any] | None = None
    ) -> None:
        """What fits the pattern (and the predicate) becomes a composite `TARGET.NAME`."""
        checked = () if predicate is None else (predicate,)
        self._patterns.append((f"{self.target_name}.{name}", pattern, *checked))

    def add_relay_pass(self, phase: PassPhase, relay_pass: Pass) -> None:
        """A pass on Relay, in its phase."""
        self._relay_passes.append((phase, relay_pass))

    def _pattern_table(self) -> list[tuple[Any, ...]]:
        return self._patterns

    def register(self) -> None:
        """Make the patterns the table of the target's name."""
        register_pattern_table(self.target_name, self._pattern_table)

    def partition(self, mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
        """The module with functions for the accelerator; parameters become constants first."""
        if params:
            main = mod["main"]
            assert isinstance(main, Function), "main is a function of Relay"
            mod = mod.clone()
            mod["main"] = bind_params_by_name(main, params)
        merge = [t.MergeCompilerRegions()] if self.merge_compiler_regions else []
        return Sequential([
            t.InferType(),
            *self._of(PassPhase.PRE_PARTITIONING),
            t.MergeComposite(self._pattern_table()),
            t.AnnotateTarget(self.target_name),
            *merge,
            t.PartitionGraph(),
            *self._of(PassPhase.POST_PARTITIONING_0),
            t.InferType(),
            *self._of(PassPhase.POST_PARTITIONING_1),
        ])(mod)  # fmt: skip

    def _of(self, phase: PassPhase) -> list[Pass]:
        return [found for when, found in self._relay_passes if when is phase]
