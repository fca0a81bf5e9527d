"""The graph as native code: a Relax function becomes a PrimFunc that calls the kernels.

    def main(x):                                  @T.prim_func
        lv = call_tir(conv, (x, w))        ->     def main(x: T.Buffer(...), out: T.Buffer(...)):
        gv = call_tir(dense, (lv, v))                 arena = T.allocate([4096], "uint8")
        return gv                                     conv(x, constants + 0, arena + 0)
                                                      dense(arena + 0, constants + 640, out)

Values between kernels lie in one arena, constants in one block of read-only memory; results are
made at entry. Nothing runs between the kernels. What cannot be said this way (branches, packed
functions, values other than tensors) is refused with a reason; the bytecode takes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.span import SequentialSpan, Span
from tvm.ir.type import PointerType, PrimType
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.rebuild import vars_used
from tvm.relax.vm.memory_plan import ALIGNMENT, Lifetime, aligned, plan_memory
from tvm.relax.vm.native_sizes import Sizes
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.struct_field import StructField
from tvm.tir.transform.direct_api import direct_params
from tvm.tir.transform.result_tensors import ATTRIBUTE, IN_ARRAY

PROFILE_SUFFIX = ".profile"
_MONOTONIC_CLOCK = 1  # CLOCK_MONOTONIC of POSIX


class NotNative(TVMError):
    """Why a graph cannot be native code."""


@dataclass
class Place:
    """Where a tensor lies: `offset` bytes behind the start of a memory."""

    base: e.Var
    offset: PrimExpr

    def address(self) -> PrimExpr:
        """The address of the first byte."""
        if ops.is_zero(self.offset):
            return self.base
        return builtin.handle_add_byte_offset(self.base, self.offset)


@dataclass(frozen=True)
class KernelCall:
    """A kernel as the graph calls it, with the operators of the model that it came from."""

    name: str
    sources: tuple[str, ...]


@dataclass
class NativeGraph:
    """The functions that take the place of a Relax function, and its calls in order."""

    functions: dict[GlobalVar, BaseFunc]
    calls: list[KernelCall]


def source_names(span: Span | None) -> tuple[str, ...]:
    """The names of the sources in a span, each once, in order."""
    if span is None:
        return ()
    parts = span.spans if isinstance(span, SequentialSpan) else (span,)
    return tuple(dict.fromkeys(part.source_name.name for part in parts))


def native_graph(mod: IRModule, var: GlobalVar, *, profile: bool) -> NativeGraph:
    """The native form of a function of the module; raises NotNative with the reason."""
    func = mod[var]
    assert isinstance(func, Function), "the caller chose a Relax function"
    plain = _Graph(mod, var.name_hint, func)
    functions: dict[GlobalVar, BaseFunc] = {GlobalVar(var.name_hint): plain.build(timed=False)}
    if profile:
        timed = _Graph(mod, var.name_hint, func)
        name = GlobalVar(var.name_hint + PROFILE_SUFFIX)
        functions[name] = timed.build(timed=True)
    return NativeGraph(functions, plain.calls)


def _tensor_info(info: StructInfo | None, what: str) -> TensorStructInfo:
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        raise NotNative(f"{what} is {info}, no tensor with a known shape")
    return info


def _extents(info: TensorStructInfo) -> tuple[PrimExpr, ...]:
    assert isinstance(info.shape, ShapeExpr), "checked before"
    return info.shape.values


def _nbytes(info: TensorStructInfo) -> PrimExpr:
    total: PrimExpr = ops.const(info.dtype.itemsize, "int64")
    for extent in _extents(info):
        total = ops.multiply(total, extent)
    return total


class _Graph:
    """Builds one PrimFunc from one Relax function."""

    def __init__(self, mod: IRModule, name: str, func: Function) -> None:
        self._mod = mod
        self._name = name
        self._func = func
        self._bindings = [b for block in func.body.blocks for b in block.bindings]
        self._values: dict[Var, RelaxExpr] = {b.var: b.value for b in self._bindings}
        self._places: dict[Var, list[Place]] = {}
        self._params: list[e.Var] = []
        self._buffer_map: dict[e.Var, Buffer] = {}
        self._constants = _ConstantBlock()
        known = [v for p in func.params for v in tir_vars_in_struct_info(p.struct_info)]
        self._sizes = Sizes(known, name)
        self._arena = e.Var("arena", PointerType(PrimType("uint8"), "global"))
        self._stmts: list[s.Stmt] = []
        self.calls: list[KernelCall] = []

    def build(self, *, timed: bool) -> PrimFunc:
        clock = self._add_clock() if timed else None
        self._look_at_sizes()
        for param in self._func.params:
            info = _tensor_info(param.struct_info_, f"parameter {param.name_hint!r}")
            self._places[param] = [self._add_param(param.name_hint, info)]
        outputs = self._add_outputs()
        total = self._plan()
        if clock is not None:
            self._stmts.append(_read_clock(clock, 0))
        for binding in self._bindings:
            self._bind(binding, clock)
        for target, source in outputs:
            self._copy(target, source)
        body = s.SeqStmt.flatten(self._stmts)
        if not ops.is_zero(total):
            yes = ops.const(True, "bool")
            body = s.Allocate(self._arena, "uint8", [total], yes, body)
        body = self._sizes.around(self._constants.around(body))
        symbol = self._name + (PROFILE_SUFFIX if timed else "")
        attrs = {
            "global_symbol": symbol,
            "tir.noalias": True,
            "tir.is_scheduled": True,
            ATTRIBUTE: self._result_count,
        }
        if isinstance(self._resolved(self._func.body.body), Tuple):
            attrs[IN_ARRAY] = True
        return PrimFunc(self._params, body, None, self._buffer_map, attrs, self._func.span)

    # --- sizes ---

    def _look_at_sizes(self) -> None:
        for binding in self._bindings:
            obstacle, value = None, binding.value
            if isinstance(binding, MatchCast):
                obstacle = self._sizes.match(binding)
            elif isinstance(value, Call) and _is_op(value, "relax.reshape"):
                obstacle = self._sizes.reshape(value)
            if obstacle is not None:
                raise NotNative(obstacle)

    # --- parameters and results ---

    def _add_param(self, name: str, info: TensorStructInfo) -> Place:
        buffer = decl_buffer(_extents(info), info.dtype, name)
        handle = e.Var(name, "handle")
        self._params.append(handle)
        self._buffer_map[handle] = buffer
        return Place(buffer.data, ops.const(0, "int64"))

    def _add_clock(self) -> Buffer:
        kernels = sum(_is_kernel_call(b.value) for b in self._bindings)
        buffer = decl_buffer([ops.const(kernels + 1, "int64")], "int64", "clock")
        handle = e.Var("clock", "handle")
        self._params.append(handle)
        self._buffer_map[handle] = buffer
        return buffer

    def _add_outputs(self) -> list[tuple[Place, RelaxExpr]]:
        """Results as last parameters; gives those that need a copy at the end."""
        result = self._resolved(self._func.body.body)
        fields = list(result.fields) if isinstance(result, Tuple) else [result]
        if not isinstance(result, Tuple) and isinstance(result.struct_info_, TupleStructInfo):
            raise NotNative("the result is a tuple that is not written out")
        if not fields:
            raise NotNative("the result is the empty tuple")
        self._result_count = len(fields)
        copies: list[tuple[Place, RelaxExpr]] = []
        for i, field in enumerate(self._resolved(field) for field in fields):
            info = self._of_parameters(_tensor_info(field.struct_info_, "the result"))
            name = "output" if len(fields) == 1 else f"output_{i}"
            place = self._add_param(name, info)
            if isinstance(field, Var) and field not in self._places and self._makes_tensor(field):
                self._places[field] = [place]
            else:
                copies.append((place, field))
        return copies

    def _of_parameters(self, info: TensorStructInfo) -> TensorStructInfo:
        """The struct info with extents that are known before anything runs."""
        found = [self._sizes.of_parameters(extent) for extent in _extents(info)]
        extents = [extent for extent in found if extent is not None]
        if len(extents) != len(found):
            raise NotNative("the extents of a result are long expressions")
        return TensorStructInfo(extents, info.dtype)

    def _resolved(self, expr: RelaxExpr) -> RelaxExpr:
        """The first name of a value: a variable bound to a variable or a tuple stands for it."""
        while isinstance(expr, Var) and isinstance(self._values.get(expr), (Var, Tuple)):
            expr = self._values[expr]
        return expr

    def _makes_tensor(self, var: Var) -> bool:
        """Whether the variable is bound to a kernel that makes just this tensor."""
        value = self._values.get(var)
        return _is_kernel_call(value) and isinstance(var.struct_info_, TensorStructInfo)

    # --- memory ---

    def _plan(self) -> PrimExpr:
        """Give every other tensor a place in the arena; the size of the arena."""
        lifetimes: list[Lifetime] = []
        owners: list[tuple[Var, int]] = []
        last = self._last_uses()
        for step, binding in enumerate(self._bindings):
            if not _is_kernel_call(binding.value) or binding.var in self._places:
                continue
            info = binding.var.struct_info_
            fields = info.fields if isinstance(info, TupleStructInfo) else (info,)
            for i, field in enumerate(fields):
                nbytes = _nbytes(_tensor_info(field, f"variable {binding.var.name_hint!r}"))
                lifetimes.append(Lifetime(nbytes, step, last.get(binding.var, step)))
                owners.append((binding.var, i))
        plan = plan_memory(lifetimes)
        for (var, _), offset in zip(owners, plan.offsets):
            self._places.setdefault(var, []).append(Place(self._arena, offset))
        return plan.total

    def _last_uses(self) -> dict[Var, int]:
        """The last step at which each variable's memory is read, through all its other names."""
        last: dict[Var, int] = {}
        end = len(self._bindings)
        for var in vars_used(self._func.body.body):
            last[var] = end
        for step in range(end - 1, -1, -1):
            binding = self._bindings[step]
            is_name = not _is_kernel_call(binding.value)
            until = last.get(binding.var, step) if is_name else step
            for var in vars_used(binding.value):
                last[var] = max(last.get(var, -1), until)
        return last

    # --- statements ---

    def _bind(self, binding: Binding, clock: Buffer | None) -> None:
        value = binding.value
        if isinstance(binding, MatchCast):
            self._match_cast(binding)
        elif _is_kernel_call(value):
            assert isinstance(value, Call), "kernels are called"
            self._call_kernel(binding, value)
            if clock is not None:
                self._stmts.append(_read_clock(clock, len(self.calls)))
        elif binding.var not in self._places:
            self._places[binding.var] = self._alias(value)

    def _alias(self, value: RelaxExpr) -> list[Place]:
        """The places of a value that needs no code: another name, a view, a tuple."""
        if isinstance(value, Var):
            return self._places[value]
        if isinstance(value, Constant):
            return [self._constants.place(value.data)]
        if isinstance(value, Tuple):
            return [place for field in value.fields for place in self._alias(field)]
        if isinstance(value, TupleGetItem):
            info = value.tuple_value.struct_info_
            if isinstance(info, TupleStructInfo) and all(
                isinstance(field, TensorStructInfo) for field in info.fields
            ):
                return [self._alias(value.tuple_value)[value.index]]
        if _is_op(value, "relax.reshape"):
            assert isinstance(value, Call), "the pattern looked"
            return self._alias(value.args[0])
        if isinstance(value, ShapeExpr):
            return []
        what = f"a call of {value.op}" if isinstance(value, Call) else type(value).__name__
        raise NotNative(f"the function holds {what}")

    def _match_cast(self, binding: MatchCast) -> None:
        shaped = isinstance(binding.struct_info, ShapeStructInfo)
        self._places[binding.var] = [] if shaped else self._alias(binding.value)

    def _call_kernel(self, binding: Binding, call: Call) -> None:
        var = call.args[0]
        assert isinstance(var, GlobalVar), "kernels have names"
        kernel = self._mod[var]
        assert isinstance(kernel, PrimFunc), "the pattern looked"
        operands = call.args[1]
        fields = operands.fields if isinstance(operands, Tuple) else (operands,)
        places = [place for field in fields for place in self._alias(field)]
        infos = [info for field in fields for info in _flat_infos(field.struct_info_)]
        result = binding.var.struct_info_
        results = list(result.fields) if isinstance(result, TupleStructInfo) else [result]
        places += self._places[binding.var]
        infos += [_tensor_info(info, "a kernel's result") for info in results]
        numbers = list(call.args[2].values) if len(call.args) > 2 else []  # type: ignore[attr-defined]
        args = _arguments(var, kernel, places, infos, numbers)
        span = call.span or binding.span
        self._stmts.append(s.Evaluate(e.Call("void", var, args, span), span))
        self.calls.append(KernelCall(var.name_hint, source_names(span)))

    def _copy(self, target: Place, source: RelaxExpr) -> None:
        """A result that is a parameter, a constant, or another result: copied at the end."""
        info = _tensor_info(source.struct_info_, "the result")
        place = self._alias(source)[0]
        call = builtin.call_extern(
            "handle", "memcpy", target.address(), place.address(), _nbytes(info)
        )
        self._stmts.append(s.Evaluate(call))


def _is_op(value: RelaxExpr | None, name: str) -> bool:
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == name


def _is_kernel_call(value: RelaxExpr | None) -> bool:
    return _is_op(value, "relax.call_tir")


def _flat_infos(info: StructInfo | None) -> list[TensorStructInfo]:
    if isinstance(info, TupleStructInfo):
        return [one for field in info.fields for one in _flat_infos(field)]
    return [_tensor_info(info, "a kernel's operand")]


def _arguments(
    var: GlobalVar,
    kernel: PrimFunc,
    places: list[Place],
    infos: list[TensorStructInfo],
    numbers: list[PrimExpr],
) -> list[PrimExpr]:
    """What the kernel's direct form takes: addresses, numbers, then the sizes left over."""
    tensors, scalars = list(zip(places, infos)), list(numbers)
    args: list[PrimExpr] = []
    sizes: dict[e.Var, PrimExpr] = {}
    for param in kernel.params:
        buffer = kernel.buffer_map.get(param)
        if buffer is None:
            number = scalars.pop(0)
            args.append(ops.cast(number, param.dtype))
            continue
        place, info = tensors.pop(0)
        args.append(place.address())
        for extent, given in zip(buffer.shape, _extents(info)):
            if isinstance(extent, e.Var):
                sizes.setdefault(extent, ops.cast(given, extent.dtype))
    for size in direct_params(kernel)[len(kernel.params) :]:
        if size not in sizes:
            raise NotNative(f"size {size.name!r} of kernel {var.name_hint!r} follows from no shape")
        args.append(sizes[size])
    return args


def _read_clock(clock: Buffer, index: int) -> s.Stmt:
    """clock[index] = nanoseconds now."""
    now = e.Var("now", "handle")
    call = builtin.call_extern("int32", "clock_gettime", _MONOTONIC_CLOCK, now)
    element = int(StructField.INT64_ELEMENT)
    seconds = builtin.tvm_struct_get(now, 0, element, "int64")
    nanoseconds = builtin.tvm_struct_get(now, 1, element, "int64")
    total = ops.add(ops.multiply(seconds, ops.const(10**9, "int64")), nanoseconds)
    store = s.BufferStore(clock, total, [ops.const(index, "int64")])
    room = builtin.tvm_stack_alloca("shape", 2)
    return s.LetStmt(now, room, s.SeqStmt([s.Evaluate(call), store]))


class _ConstantBlock:
    """All constants of a function in one piece of read-only memory, each at an aligned offset."""

    def __init__(self) -> None:
        self._var = e.Var("constants", PointerType(PrimType("uint8"), "global"))
        self._tensors: list[HostTensor] = []
        self._offsets: dict[HostTensor, int] = {}
        self._size = 0

    def place(self, tensor: HostTensor) -> Place:
        if tensor not in self._offsets:
            self._offsets[tensor] = self._size
            self._tensors.append(tensor)
            self._size += aligned(max(tensor.nbytes, 1))
        return Place(self._var, ops.const(self._offsets[tensor], "int64"))

    def around(self, body: s.Stmt) -> s.Stmt:
        if not self._tensors:
            return body
        import numpy as np  # Relax loads without numpy

        block: Any = np.zeros(self._size, np.uint8)
        for tensor in self._tensors:
            raw = np.frombuffer(tensor.numpy().tobytes(), np.uint8)
            start = self._offsets[tensor]
            block[start : start + raw.size] = raw
        size = ops.const(self._size, "int64")
        notes = {"alignment": ALIGNMENT}
        return s.AllocateConst(self._var, "uint8", [size], HostTensor(block), body, notes)
