"""The graph as native code: a Relax function becomes a PrimFunc that calls the kernels.

    def main(x):                                  @T.prim_func
        lv = call_tir(conv, (x, w))        ->     def main(x: T.Buffer(...), out: T.Buffer(...)):
        gv = call_tir(dense, (lv, v))                 arena = T.allocate([4096], "uint8")
        return gv                                     conv(x, constants + 0, arena + 0)
                                                      dense(arena + 0, constants + 640, out)

Values between kernels lie in one arena, constants in one block of read-only memory; results are
made at entry. Nothing runs between the kernels. Branches, and calls of functions of the module,
are code too (`native_flow`). What cannot be said this way (packed functions, extents that follow
from data, values other than tensors) is refused with a reason; the bytecode takes it.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any, NamedTuple

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.function import BaseFunc
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.span import SequentialSpan, Span
from tvm.ir.type import PointerType, PrimType
from tvm.relax.analysis.size_limits import size_limits
from tvm.relax.expr import (
    BindingBlock,
    Call,
    Constant,
    Function,
    SeqExpr,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.final_binding import own_calls
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.vm.memory_plan import ALIGNMENT, aligned
from tvm.relax.vm.native_flow import (
    Flow,
    NotNative,
    extents_of,
    tensor_info,
    written_out,
)
from tvm.relax.vm.native_memory import Arena, Location
from tvm.relax.vm.native_sizes import Sizes
from tvm.support.notes import note, watched
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField
from tvm.tir.transform.result_tensors import ATTRIBUTE, IN_ARRAY

PROFILE_SUFFIX = ".profile"
_FEW_READINGS = 8  # of the clock; a function for them costs more to compile
LOOP_READINGS = 8192  # of the clock that are kept one by one, in functions with loops

def monotonic_clock(triple: str) -> int:
    """The number of CLOCK_MONOTONIC on the system of a target, whose name is like LLVM's."""
    return 6 if "darwin" in triple or "macos" in triple else 1


@dataclass(frozen=True)
class KernelCall:
    """A kernel as the graph calls it, with the operators of the model that it came from."""

    name: str
    sources: tuple[str, ...]


class PlannedGraph(NamedTuple):
    """What is told of a graph whose values have their locations in the arena.

    `steps[i]` is the moment of `calls[i]`, in the time in which lifetimes are given.
    """

    name: str
    func: Function
    arena: Arena
    locations: dict[Var, list[Location]]
    calls: list[KernelCall]
    steps: list[int]
    constant_bytes: int


@dataclass
class NativeGraph:
    """The functions that replace a Relax function, and its calls in order.

    `readings` of the clock are kept one by one by the profiling form.
    """

    functions: dict[GlobalVar, BaseFunc]
    calls: list[KernelCall]
    readings: int = 0


def source_names(span: Span | None) -> tuple[str, ...]:
    """The names of the sources in a span, each once, in order."""
    if span is None:
        return ()
    parts = span.spans if isinstance(span, SequentialSpan) else (span,)
    return tuple(dict.fromkeys(part.source_name.name for part in parts))


def native_graph(
    mod: IRModule, var: GlobalVar, *, profile: bool, held: Container[HostTensor] | None = None,
    triple: str = "",
) -> NativeGraph:  # fmt: skip
    """The native form of a function of the module; raises NotNative with the reason.

    Its profiling form reads a clock of the system that `triple` names.

    Constants that are not `held` by others give up their memory: they lie in that of the graph.
    """
    func = mod[var]
    assert isinstance(func, Function), "the caller chose a Relax function"
    if own_calls(func, var):
        func = _caller(func, var)
    name, sketch = var.name_hint, Arena()
    constants = _ConstantBlock(held)
    _Graph(mod, name, func, sketch, constants, None).build()
    sketch.plan()
    plain = _Graph(mod, name, func, sketch.again(), constants, None)
    functions: dict[GlobalVar, BaseFunc] = {GlobalVar(name): plain.build()}
    if watched():
        note(
            PlannedGraph(
                name, func, sketch, plain.locations, plain.calls, plain.steps, constants.nbytes
            )
        )
    kept = LOOP_READINGS if profile and plain.has_loops else 0
    if profile:
        clock = _Clock(f"{name}.reading", len(plain.calls) + 1, kept, monotonic_clock(triple))
        if clock.is_called:
            functions[clock.reader] = clock.function()
        timed = _Graph(mod, name, func, sketch.again(), constants, clock)
        functions[GlobalVar(name + PROFILE_SUFFIX)] = timed.build()
    return NativeGraph(functions, plain.calls, kept)


def _caller(func: Function, var: GlobalVar) -> Function:
    """A function that only calls the one that repeats itself."""
    params = [Var(param.name_hint, param.struct_info) for param in func.params]
    call = Call(var, params)
    call.struct_info_ = func.ret_struct_info
    made = Var("made", func.ret_struct_info)
    body = SeqExpr([BindingBlock([VarBinding(made, call, func.span)])], made)
    return Function(params, body, func.ret_struct_info, func.is_pure, func.attrs, func.span)


class _Graph(Flow):
    """Builds one PrimFunc from one Relax function.

    What is emitted twice is the same: first to learn how long each value in the arena is needed,
    then, when memory is planned, for good.
    """

    def __init__(
        self, mod: IRModule, name: str, func: Function, arena: Arena, constants: _ConstantBlock,
        clock: _Clock | None,
    ) -> None:  # fmt: skip
        known = [v for p in func.params for v in tir_vars_in_struct_info(p.struct_info)]
        super().__init__(mod, name, Sizes(known, name), arena)
        self._func = func
        self._bindings = [b for block in func.body.blocks for b in block.bindings]
        self.values.update((b.var, b.value) for b in self._bindings)
        self._params: list[e.Var] = []
        self._buffer_map: dict[e.Var, Buffer] = {}
        self._constants = constants
        self._constants_at = e.Var("constants", PointerType(PrimType("uint8"), "global"))
        self._clock = clock
        self.calls: list[KernelCall] = []
        self.steps: list[int] = []

    def build(self) -> PrimFunc:
        if self._clock is not None:
            self._params.append(self._clock.handle)
            self._buffer_map[self._clock.handle] = self._clock.buffer
        for limit in size_limits(self._func):
            self.sizes.limit(limit)
        self.look_at_sizes(self._bindings)
        for param in self._func.params:
            info = tensor_info(param.struct_info_, f"parameter {param.name_hint!r}")
            self.locations[param] = [self._add_param(param.name_hint, info)]
        outputs = self._add_outputs()
        if self._clock is not None:
            self.stmts.append(self._clock.read(0))
        for binding in self._bindings:
            self.bind(binding)
        self.next_step()
        for target, source in outputs:
            self._copy_result(target, source)
        body = self.arena.around(self.closed(self.stmts))
        body = self.sizes.around(self._constants.around(body, self._constants_at))
        symbol = self.name + (PROFILE_SUFFIX if self._clock is not None else "")
        attrs = {
            "global_symbol": symbol,
            "tir.noalias": True,
            "tir.is_scheduled": True,
            ATTRIBUTE: self._result_count,
        }
        if self._returns_tuple:
            attrs[IN_ARRAY] = True
        return PrimFunc(self._params, body, None, self._buffer_map, attrs, self._func.span)

    # --- parameters and results ---

    def _add_param(self, name: str, info: TensorStructInfo) -> Location:
        buffer = decl_buffer(extents_of(info), info.dtype, name)
        handle = e.Var(name, "handle")
        self._params.append(handle)
        self._buffer_map[handle] = buffer
        return Location(buffer.data, ops.const(0, "int64"))

    def _add_outputs(self) -> list[tuple[Location, RelaxExpr]]:
        """Results as last parameters; gives those that need a copy at the end."""
        result = self.resolved(self._func.body.body)
        self._returns_tuple = isinstance(result.struct_info_, TupleStructInfo)
        fields = written_out(result) if self._returns_tuple else [result]
        if not fields:
            raise NotNative("the result is the empty tuple")
        self._result_count = len(fields)
        copies: list[tuple[Location, RelaxExpr]] = []
        for i, field in enumerate(self.resolved(field) for field in fields):
            info = self._of_parameters(tensor_info(field.struct_info_, "the result"))
            name = "output" if len(fields) == 1 else f"output_{i}"
            location = self._add_param(name, info)
            if isinstance(field, Var) and field not in self.locations and self._makes_tensor(field):
                self.locations[field] = [location]
            else:
                copies.append((location, field))
        return copies

    def _of_parameters(self, info: TensorStructInfo) -> TensorStructInfo:
        """The struct info with extents that are known before anything runs."""
        found = [self.sizes.of_parameters(extent) for extent in extents_of(info)]
        extents = [extent for extent in found if extent is not None]
        if len(extents) != len(found):
            raise NotNative("the extents of a result are long expressions")
        if not all(self.sizes.is_known(extent) for extent in extents):
            raise NotNative("the extents of a result come from data")
        return TensorStructInfo(extents, info.dtype)

    def _makes_tensor(self, var: Var) -> bool:
        """Whether the variable is bound to a kernel that makes just this tensor."""
        made = is_call_of(self.values.get(var), "relax.call_tir")
        return made and isinstance(var.struct_info_, TensorStructInfo)

    # --- what the statements refer to ---

    def constant(self, value: Constant) -> Location:
        offset = self._constants.offset(value.data)
        return Location(self._constants_at, ops.const(offset, "int64"))

    def note(self, name: str, span: Span | None) -> None:
        """A kernel, or a step of the outermost level around some, is done: it is timed."""
        self.calls.append(KernelCall(name, source_names(span)))
        self.steps.append(self.step)
        if self._clock is not None:
            self.stmts.append(self._clock.read(len(self.calls)))

    def _copy_result(self, target: Location, source: RelaxExpr) -> None:
        """A result that is a parameter, a constant, or another result: copied at the end."""
        self.copy(target, self.alias(source)[0], tensor_info(source.struct_info_, "the result"))


class _Clock:
    """What the profiling form tells of its calls, in one array of int64.

        [now] [nanoseconds of each call] [how often it was made]
        [readings so far] [number of the call, now] ...             # where some are to be `kept`
    """

    def __init__(self, name: str, readings: int, kept: int, number: int) -> None:
        size = 2 * readings - 1 + (2 * kept + 1 if kept else 0)
        self.buffer = decl_buffer([ops.const(size, "int64")], "int64", "clock")
        self.handle = e.Var("clock", "handle")
        self.reader = GlobalVar(name)
        self._readings = readings
        self._kept = kept
        self._number = number

    def read(self, index: int) -> s.Stmt:
        """Call `index` has ended, or the function begins: index 0."""
        at = ops.const(index, "int64")
        if not self.is_called:
            return self._reading(at)
        return s.Evaluate(e.Call("void", self.reader, [self.buffer.data, at]))

    @property
    def is_called(self) -> bool:
        """Whether there are enough readings for a function of their own."""
        return self._readings > _FEW_READINGS

    def function(self) -> PrimFunc:
        """What is called for each reading."""
        index = e.Var("index", "int64")
        attrs = {"tir.noalias": True, "tir.is_scheduled": True}
        buffers = {self.handle: self.buffer}
        return PrimFunc([self.handle, index], self._reading(index), None, buffers, attrs)

    def _reading(self, index: PrimExpr) -> s.Stmt:
        room, now = e.Var("room", "handle"), e.Var("now", "int64")
        call = builtin.call_extern("int32", "clock_gettime", self._number, room)
        element = int(StructField.INT64_ELEMENT)
        seconds = builtin.tvm_struct_get(room, 0, element, "int64")
        nanoseconds = builtin.tvm_struct_get(room, 1, element, "int64")
        total = ops.add(ops.multiply(seconds, ops.const(10**9, "int64")), nanoseconds)
        since = ops.subtract(now, self._load(0))
        ended = [
            self._store(ops.add(self._load(index), since), index),
            self._grow(ops.add(index, self._readings - 1)),
        ]
        stores = [s.IfThenElse(ops.greater(index, 0), s.SeqStmt(ended)), self._store(now, 0)]
        if self._kept:
            stores.append(self._keep(index, now))
        told = s.LetStmt(now, total, s.SeqStmt(stores))
        stack = builtin.tvm_stack_alloca("shape", 2)
        return s.LetStmt(room, stack, s.SeqStmt([s.Evaluate(call), told]))

    def _keep(self, index: PrimExpr, now: e.Var) -> s.Stmt:
        count = 2 * self._readings - 1
        number = e.Var("reading", "int64")
        at = ops.add(ops.multiply(number, ops.const(2, "int64")), ops.const(count + 1, "int64"))
        stores = [
            s.BufferStore(self.buffer, index, [at]),
            s.BufferStore(self.buffer, now, [ops.add(at, ops.const(1, "int64"))]),
            self._grow(count),
        ]
        there = s.IfThenElse(
            ops.logical_and(number >= 0, number < self._kept), s.SeqStmt.flatten(stores)
        )
        return s.LetStmt(number, self._load(count), there)

    def _load(self, at: e.ExprLike) -> e.BufferLoad:
        return e.BufferLoad(self.buffer, [ops.cast(e.as_expr(at), "int64")])

    def _store(self, value: PrimExpr, at: e.ExprLike) -> s.Stmt:
        return s.BufferStore(self.buffer, value, [ops.cast(e.as_expr(at), "int64")])

    def _grow(self, at: e.ExprLike) -> s.Stmt:
        return self._store(ops.add(self._load(at), ops.const(1, "int64")), at)


class _ConstantBlock:
    """All constants of a function in one piece of read-only memory, each at an aligned offset.

    The forms of a function share it: they ask for the same constants.
    """

    def __init__(self, held: Container[HostTensor] | None) -> None:
        self._held = held
        self._offsets: dict[HostTensor, int] = {}
        self._size = 0
        self._made: HostTensor | None = None

    @property
    def nbytes(self) -> int:
        """The size of the memory."""
        return self._size

    def offset(self, tensor: HostTensor) -> int:
        """How many bytes behind the start a constant lies."""
        if tensor not in self._offsets:
            self._offsets[tensor] = self._size
            self._size += aligned(max(tensor.nbytes, 1))
            self._made = None
        return self._offsets[tensor]

    def around(self, body: s.Stmt, start: e.Var) -> s.Stmt:
        """The statement where `start` is the start of the memory."""
        if not self._offsets:
            return body
        if self._made is None:
            self._made = self._filled()
        size = ops.const(self._size, "int64")
        notes = {"alignment": ALIGNMENT}
        return s.AllocateConst(start, "uint8", [size], self._made, body, notes)

    def _filled(self) -> HostTensor:
        import numpy as np  # Relax loads without numpy

        block: Any = np.empty(self._size, np.uint8)
        top = self._size
        for tensor, start in reversed(self._offsets.items()):
            raw = tensor.numpy().reshape(-1).view(np.uint8)
            end = start + raw.size
            block[start:end] = raw
            block[end:top] = 0
            top = start
            if self._held is not None and tensor not in self._held and raw.size:
                # models are large, so no weight is there twice; what was made last goes first,
                # as an allocator gives memory back from its end
                tensor.lie_in(block[start:end])
        return HostTensor(block)
