"""What a program can call: functions of its module, registered functions, effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tvm.error import DTypeError, ShapeError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES

from .errors import InterpreterError
from .exchange import WARP_EXCHANGES
from .expr import Code, Frame, Layout, RunningProgram
from .fibers import Steps, Stop, exchange_in_warp, wait_for_others
from .launch import launched_at_once
from .lockstep import LockstepCompiler
from .memory import Pointer, buffer_view, element_strides, run_of_memory
from .mfma import amdgcn_rule
from .mma import MMA
from .simdgroup import SIMDGROUP
from .stack import IN_C, RUNTIME, registered
from .steps import StepCompiler
from .stmt import BreakLoop, ContinueLoop, Step, StmtCompiler
from .threads import compile_threads, thread_steps
from .values import Value, numpy_dtype


class Returned(Exception):
    """The function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Function:
    """A PrimFunc as closures."""

    def __init__(self, func: PrimFunc, name: str, program: Program) -> None:
        self.func, self.name = func, name
        self.compiler = StmtCompiler(Layout(), program)
        self.params = [self.compiler.layout.slot(p) for p in func.params]
        self.binders = {
            param: _Binder(self.compiler, buffer, f"argument {i} of {name}")
            for i, param in enumerate(func.params)
            if (buffer := func.buffer_map.get(param)) is not None
        }
        self.body = self.compiler.compile_stmt(launched_at_once(func.body))

    def call(self, args: Sequence[Any]) -> Any:
        """Run on arrays, addresses and numbers."""
        func = self.func
        if len(args) != len(func.params):
            raise TypeError(
                message(
                    f"run {self.name}",
                    found=f"{len(args)} arguments",
                    legal=f"{len(func.params)}: {', '.join(p.name for p in func.params)}",
                )
            )
        frame: Frame = [None] * self.compiler.layout.size
        for param, slot, arg in zip(func.params, self.params, args):
            if param not in self.binders:
                frame[slot] = _as_value(arg, param)
        for param, arg in zip(func.params, args):
            if param in self.binders:  # an extent may be told by a later parameter
                self.binders[param].read_symbols(frame, arg)
        for param, slot, arg in zip(func.params, self.params, args):
            if param in self.binders:
                frame[slot] = arg
                self.binders[param].bind_argument(frame, arg)
        try:
            self.body(frame)
        except Returned as result:
            return result.value
        except Stop:
            raise InterpreterError(
                message(
                    f"run {self.name} within a thread",
                    found="the function waits for the other threads",
                    legal="functions called by threads that do not; those that do, inlined",
                )
            ) from None
        return None


def _as_value(arg: Any, param: e.Var) -> Any:
    """A scalar argument in its type; addresses and arrays as memory."""
    if param.dtype.is_handle:
        if isinstance(arg, np.ndarray):
            return run_of_memory(arg)
        return arg
    kind = numpy_dtype(param.dtype)
    if not np.isscalar(arg) and getattr(arg, "shape", ()) != ():
        raise DTypeError(
            message(
                f"scalar parameter {param.name}: {param.dtype}",
                found=f"a {type(arg).__name__}",
                legal="a number",
            )
        )
    return kind.type(arg)


def _broadcast(array: np.ndarray[Any, Any], dims: int) -> np.ndarray[Any, Any]:
    """The array with its single elements at every index, as far as numpy counts elements."""
    alone = [axis for axis in range(dims) if array.shape[axis] == 1]
    shape, strides = list(array.shape), list(array.strides)
    for axis in alone:
        shape[axis], strides[axis] = 1 << (40 // len(alone)), 0
    return np.lib.stride_tricks.as_strided(array, shape, strides)


class _Binder:
    """Gives a buffer its memory, and the symbols in its shape their values."""

    def __init__(self, compiler: StmtCompiler, buffer: Buffer, where: str) -> None:
        self.buffer, self.where = buffer, where
        layout = compiler.layout
        self.slot, self.data = layout.slot(buffer), layout.slot(buffer.data)
        self.shape = [self._slot(compiler, x) for x in buffer.shape]
        self.strides = [self._slot(compiler, x) for x in buffer.checked_strides()]
        self.offset = self._slot(compiler, buffer.elem_offset)

    @staticmethod
    def _slot(compiler: StmtCompiler, expr: PrimExpr) -> tuple[int | None, Code, Any]:
        slot = compiler.layout.slot(expr) if isinstance(expr, e.Var) else None
        return slot, compiler.compile(expr), numpy_dtype(expr.dtype)

    def symbols(
        self, frame: Frame, shape: Sequence[int], strides: Sequence[int], offset: int
    ) -> None:
        """Bind the variables among extents, strides and offset; check what is known."""
        known = [*zip(self.shape, shape), *zip(self.strides, strides), (self.offset, offset)]
        for (slot, _, kind), value in known:
            if slot is not None and frame[slot] is None:
                frame[slot] = kind.type(value)
        for dim, ((_, code, _), value) in enumerate(zip(self.shape, shape)):
            wanted = int(code(frame))
            if wanted != value:
                raise ShapeError(
                    message(
                        f"{self.where}: buffer {self.buffer.name}",
                        found=f"extent {value} in dimension {dim} of shape {tuple(shape)}",
                        legal=f"extent {wanted}",
                    )
                )

    def read_symbols(self, frame: Frame, arg: Any) -> None:
        """Bind the variables that are extents of an array of the right rank."""
        if isinstance(arg, np.ndarray) and arg.ndim >= len(self.shape):
            for (slot, _, kind), extent in zip(self.shape, arg.shape):
                if slot is not None and frame[slot] is None:
                    frame[slot] = kind.type(extent)

    def bind_argument(self, frame: Frame, arg: Any) -> None:
        """Bind to an array given by the caller, or to an address."""
        if isinstance(arg, Pointer):
            self._bind_pointer(frame, arg)
            return
        buffer = self.buffer
        if not isinstance(arg, np.ndarray):
            raise TypeError(
                message(
                    f"{self.where}: buffer {buffer.name}",
                    found=f"a {type(arg).__name__}",
                    legal=f"an array of {buffer.dtype}",
                )
            )
        if arg.dtype != numpy_dtype(buffer.dtype):
            raise DTypeError(
                message(
                    f"{self.where}: buffer {buffer.name}",
                    found=f"an array of {arg.dtype}",
                    legal=f"an array of {buffer.dtype.element_of()}",
                )
            )
        dims = arg.ndim - (1 if buffer.dtype.is_vector else 0)
        if dims != len(buffer.shape):
            raise ShapeError(
                message(
                    f"{self.where}: buffer {buffer.name}",
                    found=f"{arg.ndim} dimensions, shape {arg.shape}",
                    legal=f"{len(buffer.shape)} dimensions",
                )
            )
        strides = element_strides(arg)[:dims]
        if buffer.buffer_type == "auto_broadcast":
            strides = [0 if n == 1 else step for n, step in zip(arg.shape, strides)]
        self.symbols(frame, arg.shape[:dims], strides, 0)
        if not buffer.strides and not arg.flags.c_contiguous:
            raise ShapeError(
                message(
                    f"{self.where}: buffer {buffer.name}",
                    found=f"an array that is expected to be compact array, with strides "
                    f"{tuple(element_strides(arg))}",
                    legal="a C-contiguous array, or a buffer that declares strides",
                )
            )
        frame[self.data] = run_of_memory(arg)
        frame[self.slot] = _broadcast(arg, dims) if 0 in strides else arg

    def _bind_pointer(self, frame: Frame, pointer: Pointer) -> None:
        shape = [int(code(frame)) for _, code, _ in self.shape]
        strides = [int(code(frame)) for _, code, _ in self.strides]
        self.symbols(frame, shape, strides, 0)
        offset = int(self.offset[1](frame))
        frame[self.data] = pointer
        frame[self.slot] = buffer_view(
            self.buffer.name, self.buffer.dtype, pointer, shape, strides, offset
        )


class Program(RunningProgram):
    """A module that runs; functions become closures when they are first called."""

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.functions: dict[GlobalVar, Function] = {}
        self.symbols = _symbols(mod)
        self.warp_size = _warp_size(mod)

    def function(self, var: GlobalVar) -> Function:
        """The closures of a function of the module."""
        var = self.mod.get_global_var(var.name_hint)
        if var not in self.functions:
            func = self.mod[var]
            if not isinstance(func, PrimFunc):
                raise InterpreterError(
                    message(
                        f"run {var.name_hint}",
                        found=f"a {type(func).__name__}",
                        legal="a tir.PrimFunc",
                    )
                )
            self.functions[var] = Function(func, var.name_hint, self)
        return self.functions[var]

    def binder(
        self, compiler: StmtCompiler, buffer: Buffer
    ) -> Callable[[Frame, Sequence[int], Sequence[int], int], None]:
        """Binds the symbols of a buffer matched within a block, afresh each time."""
        binder = _Binder(compiler, buffer, "match_buffer")
        slots = [part[0] for part in (*binder.shape, *binder.strides, binder.offset)]

        def bind(frame: Frame, shape: Sequence[int], strides: Sequence[int], offset: int) -> None:
            for slot in slots:
                if slot is not None and slot in mine:
                    frame[slot] = None
            binder.symbols(frame, shape, strides, offset)

        # symbols that this buffer defines; those with a value from outside stay
        mine = {p for p in slots if p is not None}
        return bind

    def constant(self, op: s.AllocateConst) -> Any:
        """The data of a constant allocation."""
        if op.data is not None:
            return op.data.numpy()
        constants: Any = self.mod.get_attr("constants")
        if constants is None or op.irmod_storage_idx is None:
            raise InterpreterError(f"the module holds no data for constant {op.buffer_var.name}")
        return constants[op.irmod_storage_idx].numpy()

    def threads(self, compiler: StmtCompiler, op: Any) -> Step:
        """A loop over threads."""
        return compile_threads(compiler, op)

    def thread_steps(self, compiler: StepCompiler, op: Any) -> Steps:
        """The same within threads that may wait for each other."""
        return thread_steps(compiler, op)

    def in_lockstep(
        self, compiler: StmtCompiler, thread_vars: Sequence[e.Var], stmt: s.Stmt
    ) -> Steps:
        """A statement that threads run in step, though it has no barriers yet."""
        return LockstepCompiler(compiler, thread_vars).steps(stmt)

    # --- calls ---

    def call_function(self, compiler: Any, op: e.Call) -> Code:
        """A call of another function of the module."""
        assert isinstance(op.op, GlobalVar), "the caller looked"
        var, codes = op.op, [compiler.compile(a) for a in op.args]

        def run(frame: Frame) -> Value:
            return self.function(var).call([code(frame) for code in codes])

        return run

    def special(self, compiler: Any, op: e.Call) -> Code:
        """An operator with effects, or one about addresses."""
        assert not isinstance(op.op, GlobalVar), "the caller looked"
        rule = _SPECIAL.get(op.op.name)
        if rule is None:
            raise InterpreterError(
                message(
                    f"run a call of {op.op.name}",
                    found="it has no meaning in the interpreter",
                    where=None if op.span is None else str(op.span),
                    legal="operators on numbers, memory, threads; packed calls; the module's own "
                    "functions",
                )
            )
        return rule(compiler, op)

    def extern_symbol(self, compiler: Any, op: e.Call, name: str) -> Code:
        """A C symbol: a function of the module by that name, or none that is known."""
        matrix = amdgcn_rule(name)
        if matrix is not None:
            return matrix(compiler, op)
        codes = [compiler.compile(a) for a in op.args[1:]]
        if name in self.mod:
            var = self.mod.get_global_var(name)
            return lambda frame: self.function(var).call([code(frame) for code in codes])
        if name in RUNTIME:
            return lambda frame: _done(RUNTIME[name]([code(frame) for code in codes]))
        raise InterpreterError(
            message(
                f"run a call of the C function {name!r}",
                found="no such function in the module, and none of the math library",
                legal="functions of the module, of math.h, LLVM math intrinsics",
            )
        )


def _done(_nothing: None) -> Value:
    """The status of a C function that has not failed."""
    return np.int32(0)


def _symbols(mod: IRModule) -> dict[str, GlobalVar]:
    """The functions that calls by name mean, before the registered ones."""
    return {
        str(func.attrs.get("global_symbol", var.name_hint)): var
        for var, func in mod.functions.items()
        if isinstance(func, PrimFunc)
    }


def _warp_size(mod: IRModule) -> int:
    """How many threads run in step, by the target of the module's functions."""
    for func in mod.functions.values():
        target = func.attrs.get("target")
        if isinstance(target, Target):
            return int(target.attrs.get("thread_warp_size", 32))
    return 32


def _return(compiler: Any, op: e.Call) -> Code:
    code = compiler.compile(op.args[0]) if op.args else None

    def run(frame: Frame) -> Value:
        raise Returned(None if code is None else code(frame))

    return run


def _jump(error: type[Exception]) -> Callable[[Any, e.Call], Code]:
    def make(compiler: Any, op: e.Call) -> Code:
        def run(frame: Frame) -> Value:
            raise error

        return run

    return make


def _address_of(compiler: Any, op: e.Call) -> Code:
    load = op.args[0]
    if not isinstance(load, e.BufferLoad):
        return compiler.compile(load)  # type: ignore[no-any-return]
    return compiler.address(load)  # type: ignore[no-any-return]


def _access_ptr(compiler: Any, op: e.Call) -> Code:
    kind = numpy_dtype(op.args[0].dtype)
    data, offset = compiler.compile(op.args[1]), compiler.compile(op.args[2])

    def run(frame: Frame) -> Pointer:
        pointer: Pointer = data(frame)
        return pointer.typed(kind).moved(int(offset(frame)))

    return run


def _add_bytes(compiler: Any, op: e.Call) -> Code:
    data, count = compiler.compile(op.args[0]), compiler.compile(op.args[1])

    def run(frame: Frame) -> Any:
        value, step = data(frame), int(count(frame))
        if isinstance(value, str):  # a table of texts that end with a zero
            return value[step:].partition("\0")[0]
        if isinstance(value, np.ndarray) and step in (0, TENSOR_OBJECT_HEADER_BYTES):
            return value  # it stands for a tensor object and for the DLTensor behind its header
        return value.moved_bytes(step)

    return run


def _shape_on_stack(compiler: Any, op: e.Call) -> Code:
    codes = [compiler.compile(a) for a in op.args]
    return lambda frame: [int(code(frame)) for code in codes]


def _array_on_stack(compiler: Any, op: e.Call) -> Code:
    data, shape, strides, _, _like, offset = (compiler.compile(a) for a in op.args)
    dtype: DataType = op.args[4].dtype

    def run(frame: Frame) -> Any:
        steps = strides(frame)
        return buffer_view(
            "argument", dtype, data(frame), shape(frame),
            steps if isinstance(steps, list) else [], int(offset(frame)),
        )  # fmt: skip

    return run


def _packed(compiler: Any, op: e.Call) -> Code:
    name = op.args[0]
    codes = [compiler.compile(a) for a in op.args[1:]]
    assert isinstance(name, e.StringImm), "packed calls name their function"
    symbol, dtype = name.value, op.dtype
    traced = op.op is Op.get("tir.tvm_call_trace_packed")
    own: GlobalVar | None = compiler.program.symbols.get(symbol)

    def run(frame: Frame) -> Value:
        args = [_for_python(code(frame)) for code in codes]
        if own is not None:
            result = compiler.program.function(own).call(args)
        else:
            result = registered(symbol)(*args)
        if result is None and traced:
            result = args[-1]
        if result is None or dtype.is_void:
            return np.int32(0)
        return result if dtype.is_handle else numpy_dtype(dtype).type(result)

    return run


def _for_python(value: Value) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _atomic_add(compiler: Any, op: e.Call) -> Code:
    address, value = compiler.compile(op.args[0]), compiler.compile(op.args[1])

    def run(frame: Frame) -> Value:
        pointer: Pointer = address(frame)
        old = pointer.data[pointer.offset]
        pointer.data[pointer.offset] = old + value(frame)
        return old

    return run


def _barrier(compiler: Any, op: e.Call) -> Code:
    of_warp = op.args and getattr(op.args[0], "value", "") == "warp"
    warp_size = compiler.program.warp_size

    def run(frame: Frame) -> Value:
        if of_warp:
            exchange_in_warp(None, warp_size)
        else:
            wait_for_others()
        return np.int32(0)

    return run


def _several(compiler: Any, op: e.Call) -> Code:
    codes = [compiler.compile(a) for a in op.args]
    return lambda frame: tuple(code(frame) for code in codes)


_SPECIAL: dict[str, Callable[[Any, e.Call], Code]] = {
    "tir.ret": _return,
    "tir.thread_return": _return,
    "tir.break_loop": _jump(BreakLoop),
    "tir.continue_loop": _jump(ContinueLoop),
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.handle_add_byte_offset": _add_bytes,
    "tir.tvm_stack_make_shape": _shape_on_stack,
    "tir.tvm_stack_make_array": _array_on_stack,
    "tir.tvm_call_packed": _packed,
    "tir.tvm_call_cpacked": _packed,
    "tir.tvm_call_trace_packed": _packed,
    "tir.tvm_tuple": _several,
    "tir.atomic_add": _atomic_add,
    "tir.tvm_storage_sync": _barrier,
    "tir.type_annotation": lambda compiler, op: lambda frame: None,
    "tir.tvm_thread_invariant": lambda compiler, op: compiler.compile(op.args[0]),
    **WARP_EXCHANGES,
    **SIMDGROUP,
    **MMA,
    **IN_C,
}
