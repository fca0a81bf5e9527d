"""What is noted of the functions of a build: how many bytes each of them works with.

    exp -> softmax      ->      __tvm_main__: bytes between the kernels, of inputs and results, of
                                constants; then each kernel with its own

Kernels are lowered for it when somebody asks first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relay.expr import Call, Constant, Var
from tvm.relay.function import Function
from tvm.target import Target
from tvm.tir.children import statements
from tvm.tir.function import PrimFunc
from tvm.tir.stmt import Block

from .aot import MAIN, FunctionInfo, aligned, tensor_bytes
from .graph_plan_memory import GraphPlanMemory, flat_types, is_reshape_only, size_in_bytes
from .graph_runtime import KernelNames
from .to_tir import to_tir

ALIGNMENT = 16  # a workspace begins at a multiple of so many bytes


class FunctionMetadata(Mapping[str, FunctionInfo]):
    """The functions of a build by name; they are looked at when somebody asks first."""

    def __init__(self, make: Callable[[], Mapping[str, FunctionInfo]]) -> None:
        self._make = make
        self._made: Mapping[str, FunctionInfo] | None = None

    def _all(self) -> Mapping[str, FunctionInfo]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, name: str) -> FunctionInfo:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


def function_metadata(
    func: Function, mod_name: str, target: Target, ahead: bool = False
) -> dict[str, FunctionInfo]:
    """The functions of a graph of kernels; `ahead`: every value between them is an argument."""
    found = {MAIN: _main(func, target, ahead)}
    names = KernelNames(mod_name)
    for call in _kernels(func):
        callee = call.op
        assert isinstance(callee, Function), "kernels are functions"
        name = names.of(callee)
        if name in found or (ahead and is_reshape_only(call)):
            continue
        lowered = to_tir(IRModule(), {name: callee})[name]
        assert isinstance(lowered, PrimFunc), "a function of Relay becomes one PrimFunc"
        size = size_in_bytes(flat_types(callee.ret_type)[-1])
        found[name] = FunctionInfo(
            {target: _workspace(lowered)}, {target: size}, {target: 0}, {target: lowered},
            {target: callee},
        )  # fmt: skip
    return found


def _kernels(func: Function) -> list[Call]:
    plan = GraphPlanMemory(func).expr_to_storage_info
    return [e for e in plan if isinstance(e, Call) and isinstance(e.op, Function)]


def _bytes(expr: RelaxExpr) -> int:
    found: Any = expr.checked_type_
    return sum(size_in_bytes(kind) for kind in flat_types(found))


def _main(func: Function, target: Target, ahead: bool) -> FunctionInfo:
    """Inputs and results are arguments; values between share storages, constants stand apart.

    A tuple counts in each of its tensors' storages.
    """
    arguments, constants, between = 0, 0, dict[int, int]()
    for expr, info in GraphPlanMemory(func).expr_to_storage_info.items():
        size = _bytes(expr)
        whole = size * len(info.storage_ids)
        if isinstance(expr, Constant):
            constants += whole if not ahead else 0
            continue
        is_argument = isinstance(expr, Var) or expr is func.body
        if ahead or is_argument:
            arguments += whole
        if not isinstance(expr, Var) and (ahead or not is_argument):
            for number in info.storage_ids:
                between[number] = max(between.get(number, 0), size)
    total = sum(between.values())
    return FunctionInfo(
        {target: total}, {target: arguments}, {target: constants}, {}, {target: func}
    )


def _workspace(func: PrimFunc) -> int:
    """The bytes that a kernel allocates, each buffer aligned; buffers of open extents are none."""
    buffers = [b for block in statements(func.body, Block) for b in block.alloc_buffers]
    return sum(aligned(tensor_bytes(b.shape, b.dtype), ALIGNMENT) for b in buffers)
