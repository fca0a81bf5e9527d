"""Estimates by running, and rules out of tables of patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.error import InternalError, message
from tvm.ffi.registry import register_global_func
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relay.function import Function
from tvm.relay.op.contrib.register import get_pattern_table
from tvm.relay.transform.function_pass import expr_pass
from tvm.relay.ty import TensorType
from tvm.runtime import device as device_of
from tvm.runtime import tensor as array_of
from tvm.runtime.vm import VirtualMachine

from .cost_estimator import CostEstimator as CostEstimator
from .cost_estimator import CustomCostEstimator as CustomCostEstimator
from .cost_estimator import MockCostEstimator as MockCostEstimator
from .dataflow_graph import DataflowGraph
from .partition_rules import LabelledDFPatternPartitionRule, PatternBYOCPartitionRule
from .sub_graph import Limits, SubGraph, rewrite

MEASURE_NUMBER: Final = 20
MEASURE_REPEAT: Final = 5
WARMUP_MIN_REPEAT_MS: Final = 250


def arg_for(arg_type: Any, device: Any) -> Any:
    """An array of a tensor type: normal numbers, zeros of integers, True."""
    assert isinstance(arg_type, TensorType), f"no array of {arg_type}"
    shape = tuple(int(extent) for extent in arg_type.concrete_shape)
    if arg_type.dtype == "bool":
        data = np.ones(shape, "bool")
    elif str(arg_type.dtype).startswith(("int", "uint")):
        data = np.zeros(shape, arg_type.dtype)
    else:
        data = np.asarray(np.random.default_rng(0).normal(size=shape)).astype(arg_type.dtype)
    return array_of(data, device)


def vm_estimate_seconds(device: Any, the_vm: Any, func_name: str, args: Any) -> float:
    """The mean time of a function of a virtual machine, after a warm-up."""
    the_vm.benchmark(device, repeat=1, number=1, min_repeat_ms=WARMUP_MIN_REPEAT_MS,
                     func_name=func_name, **args)  # fmt: skip
    measured = the_vm.benchmark(
        device, repeat=MEASURE_REPEAT, number=MEASURE_NUMBER, min_repeat_ms=0,
        func_name=func_name, **args,
    )  # fmt: skip
    return float(measured.mean)


@register_global_func("tvm.relay.collage.estimate_seconds")
def estimate_seconds(mod: IRModule, target: Any) -> float:
    """The seconds of main on a target, measured here; not finite where it cannot be compiled."""
    from tvm.relay import vm as relay_vm

    device = device_of(target.get_target_device_type())
    try:
        exe = relay_vm.compile(mod, target=target)
    except (RuntimeError, ValueError) as reason:
        print(f"Unable to compile: {reason}")
        return float("inf")
    the_vm = VirtualMachine(exe, device)
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    args = {p.name_hint: arg_for(p.checked_type, device) for p in main.params}
    return vm_estimate_seconds(device, the_vm, "main", args)


def make_labelled_dfpattern_partition_rule_wrapper(compiler: str, pattern_tuple: Any) -> Any:
    """The rule of an entry in a table of patterns: (label, pattern) or (label, pattern, check)."""
    if len(pattern_tuple) == 2:
        return LabelledDFPatternPartitionRule(compiler, pattern_tuple[0], pattern_tuple[1])
    label, pattern, check = pattern_tuple
    return LabelledDFPatternPartitionRule(compiler, label, pattern, check)


@register_global_func("tvm.relay.collage.make_byoc_partition_rule")
def make_byoc_partition_rule(compiler: str) -> PatternBYOCPartitionRule:
    """The rule of a compiler's table of patterns."""
    table = get_pattern_table(compiler)
    assert table is not None, f"No pattern table entry was found for BYOC compiler {compiler}"
    rules = [make_labelled_dfpattern_partition_rule_wrapper(compiler, entry) for entry in table]
    return PatternBYOCPartitionRule(compiler, rules)


@expr_pass("PartitionForTesting", opt_level=0)
def PartitionForTesting(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, max_exits: int, allow_taps: bool,
    compiler: str, indexes: Sequence[int], labels: Sequence[str],
) -> RelaxExpr:  # fmt: skip
    """A part of a function by its nodes' numbers as one for a compiler, those with a label inside.

    Where the part cannot be a function, all stays.
    """
    if len(indexes) != len(labels):
        raise InternalError(
            message("PartitionForTesting: not one label for each node",
                    found=f"{len(indexes)} nodes, {len(labels)} labels")
        )  # fmt: skip
    graph = DataflowGraph(func)
    if any(int(at) >= len(graph.nodes) for at in indexes):
        raise InternalError(
            message("PartitionForTesting: no such node", found=str(list(indexes)),
                    legal=f"less than {len(graph.nodes)}")
        )  # fmt: skip
    groups: dict[str, int] = {}
    for at, label in zip(indexes, labels):
        groups[str(label)] = groups.get(str(label), 0) | 1 << int(at)
    nodes = sum(1 << int(at) for at in indexes)
    if not Limits(int(max_exits), bool(allow_taps)).hold(graph, nodes):
        return func
    nested = tuple((label, part) for label, part in groups.items() if label)
    return rewrite(graph, [(SubGraph(nodes, 0, nested), {"Compiler": str(compiler)})])


register_global_func("relay.collage.PartitionForTesting", PartitionForTesting)
