"""The tensor expressions of calls, and the ways that strategies name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import te
from tvm.error import TVMError, message
from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal, structural_hash
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.op.strategies import (
    OpImplementation,
    best_implementation,
    has_users_rule,
    implementations,
    users_implementations,
)
from tvm.relay.op.strategy.generic import known_strategy
from tvm.target import Target
from tvm.tir.build import build
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc

from .compiled import target_of
from .graph_plan_memory import flat_types
from .graph_runtime import kernel_name
from .to_tir import to_tir


class CCacheKey(Object):
    """What a lowered function is known by: its source and its target."""

    def __init__(self, source_func: Function, target: Target) -> None:
        self.source_func = source_func
        self.target = target

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CCacheKey):
            return False
        same = str(self.target) == str(other.target)
        return same and structural_equal(self.source_func, other.source_func)

    def __hash__(self) -> int:
        return hash((structural_hash(self.source_func), str(self.target)))


class CCacheValue(Object):
    """A lowered function: its kernels under a name, and how often it was asked for."""

    def __init__(self, key: CCacheKey, funcs: IRModule, prim_fn_var: GlobalVar) -> None:
        self.target = key.target
        self.funcs = funcs
        self.prim_fn_var = prim_fn_var
        self.use_count = 0
        self._source = key.source_func

    @property
    def cached_func(self) -> CCacheValue:
        """What was lowered: this."""
        return self

    def _tensors(self) -> list[te.Tensor]:
        kernel = self.funcs[self.prim_fn_var.name_hint]
        assert isinstance(kernel, PrimFunc), "a function of Relay becomes one PrimFunc"
        buffers = [kernel.buffer_map[param] for param in kernel.params]
        return [te.placeholder(b.shape, b.dtype, b.name) for b in buffers]

    @property
    def _operands(self) -> int:
        return sum(len(flat_types(param.checked_type)) for param in self._source.params)

    @property
    def inputs(self) -> list[te.Tensor]:
        """Tensors of the operands' extents and types."""
        return self._tensors()[: self._operands]

    @property
    def outputs(self) -> list[te.Tensor]:
        """Tensors of the results' extents and types."""
        return self._tensors()[self._operands :]


class TECompiler(Object):
    """Lowers functions of Relay, each once for a target."""

    def __init__(self) -> None:
        self._known: dict[CCacheKey, CCacheValue] = {}

    def lower(
        self, source_func: Function, target: Any = None, mod_name: str = "default"
    ) -> CCacheValue:
        """The function as a PrimFunc; the same object for an equal function and target."""
        key = CCacheKey(source_func, target_of(target))
        if key not in self._known:
            name = kernel_name(source_func, mod_name)
            funcs = to_tir(IRModule(), {name: source_func})
            self._known[key] = CCacheValue(key, funcs, GlobalVar(name))
        found = self._known[key]
        found.use_count += 1
        return found

    def jit(self, source_func: Function, target: Any = None) -> Callable[..., Any]:
        """The function as one that runs: tensors of the parameters, then those of the result."""
        found = self.lower(source_func, target)
        built: Callable[..., Any] = build(found.funcs, found.target)[found.prim_fn_var.name_hint]
        return built

    def clear(self) -> None:
        """Forget what was lowered."""
        self._known.clear()

    def items(self) -> list[tuple[CCacheKey, CCacheValue]]:
        """What was lowered."""
        return list(self._known.items())


_COMPILER: Final = TECompiler()


def get() -> TECompiler:
    """The compiler that all share."""
    return _COMPILER


def lower_to_primfunc(relay_func: Function, target: Any) -> PrimFunc:
    """A function of Relay as one PrimFunc."""
    found = to_tir(IRModule(), {"main": relay_func})["main"]
    assert isinstance(found, PrimFunc), "a function of Relay becomes one PrimFunc"
    return found


class LoweredOutput(Object):
    """The tensors of a call, and the way they were made."""

    def __init__(self, outputs: Sequence[Any], implement: OpImplementation) -> None:
        self.outputs = list(outputs)
        self.implementation = implement


def get_shape(shape: Sequence[Any]) -> list[Any]:
    """Extents, as numbers where they are known."""
    return [int(dim.value) if isinstance(dim, IntImm) else dim for dim in shape]


def get_valid_implementations(
    op: Op, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Target
) -> list[OpImplementation]:
    """All ways in which an operator may be computed for a call."""
    if has_users_rule(op):
        return users_implementations(op, attrs, inputs, out_type, target)
    rule = known_strategy(op)
    if rule is None:
        raise TVMError(
            message(
                f"{op.name} doesn't have an FTVMStrategy registered",
                legal="operators with register_strategy or register_compute",
            )
        )
    return implementations(rule, attrs, inputs, out_type, target)


def select_implementation(
    op: Op, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Target,
    use_autotvm: bool = True,
) -> tuple[OpImplementation, list[Any]]:  # fmt: skip
    """The way of the highest level, and its tensors; `use_autotvm` has nothing to choose by."""
    best = best_implementation(get_valid_implementations(op, attrs, inputs, out_type, target))
    return best, best.compute(attrs, inputs, out_type)


def lower_call(
    call: Call, inputs: Sequence[Any], target: Target, otype: Any = None
) -> LoweredOutput:
    """The tensors of a call with types, for tensors of its operands."""
    assert isinstance(call.op, Op), "calls of operators are lowered"
    out_type = call.checked_type if otype is None else otype
    best, outputs = select_implementation(call.op, call.attrs, inputs, out_type, target)
    return LoweredOutput(outputs, best)
