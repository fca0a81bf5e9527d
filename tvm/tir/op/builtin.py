"""Operators that are not plain math: control, calls, addresses, the packed calling convention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.error import DTypeError
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.span import Span
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.target import codegen, llvm_intrinsics
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.expr import (
    BOOL,
    HANDLE,
    INT32,
    CallEffectKind,
    CommReducer,
    IntImm,
    Reduce,
    Var,
    as_expr,
)

from . import arith
from .declare import OPAQUE, PURE, READS, intrinsic

Operand = Any

_if_then_else = intrinsic("if_then_else", PURE, 3)
_likely = intrinsic("likely", CallEffectKind.ExprAnnotation, 1, vectorizable=True)
_ignore_loop_partition = intrinsic("ignore_loop_partition", PURE, 1)
_reinterpret = intrinsic("reinterpret", PURE, 1, vectorizable=True, dtype_at="first")
_bitwise = [
    intrinsic(name, PURE, 2, vectorizable=True)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right")
]
_bitwise_not = intrinsic("bitwise_not", PURE, 1, vectorizable=True)
_ret = intrinsic("ret", CallEffectKind.ControlJump, 1)
_thread_return = intrinsic("thread_return", CallEffectKind.ControlJump, 0)
_continue_loop = intrinsic("continue_loop", CallEffectKind.ControlJump, 0)
_break_loop = intrinsic("break_loop", CallEffectKind.ControlJump, 0)
_assume = intrinsic("assume", CallEffectKind.EmbedInfo, 1)
_undef = intrinsic("undef", READS, 0)
_isnullptr = intrinsic("isnullptr", PURE, 1)
_address_of = intrinsic("address_of", PURE, 1)
_handle_add_byte_offset = intrinsic("handle_add_byte_offset", PURE, 2)
_tvm_access_ptr = intrinsic("tvm_access_ptr", CallEffectKind.SpecialCallArg, 5)
_type_annotation = intrinsic("type_annotation", PURE, 0, dtype_at="first")
_tvm_static_handle = intrinsic("tvm_static_handle", OPAQUE, 0)
_tvm_context_id = intrinsic("tvm_context_id", READS, 0)
_lookup_param = intrinsic("lookup_param", OPAQUE, 1)
_tvm_tuple = intrinsic("tvm_tuple", CallEffectKind.EmbedInfo)
_tvm_struct_get = intrinsic("tvm_struct_get", READS, 3, dtype_at="last")
_tvm_struct_set = intrinsic("tvm_struct_set", OPAQUE, 4)
_tvm_throw_last_error = intrinsic("tvm_throw_last_error", OPAQUE, 0)
_tvm_check_return = intrinsic("tvm_check_return", OPAQUE, 3)
_tvm_stack_alloca = intrinsic("tvm_stack_alloca", OPAQUE, 2)
_parallel_launch = intrinsic("parallel_launch", OPAQUE, 3)
_tvm_stack_make_shape = intrinsic("tvm_stack_make_shape", OPAQUE)
_tvm_stack_make_array = intrinsic("tvm_stack_make_array", OPAQUE, 6)
_call_packed = intrinsic("tvm_call_packed", OPAQUE, script_name="call_packed")
_call_cpacked = intrinsic("tvm_call_cpacked", OPAQUE, script_name="call_cpacked")
_call_trace_packed = intrinsic("tvm_call_trace_packed", OPAQUE)
_call_packed_lowered = intrinsic(
    "tvm_call_packed_lowered", OPAQUE, script_name="call_packed_lowered"
)
_call_cpacked_lowered = intrinsic(
    "tvm_call_cpacked_lowered", OPAQUE, script_name="call_cpacked_lowered"
)
_call_trace_packed_lowered = intrinsic("tvm_call_trace_packed_lowered", OPAQUE)
_call_extern = intrinsic("call_extern", OPAQUE, dtype_at="first")
_call_pure_extern = intrinsic("call_pure_extern", PURE, dtype_at="first")
_call_llvm_intrin = intrinsic("call_llvm_intrin", OPAQUE, dtype_at="first")
_call_llvm_pure_intrin = intrinsic("call_llvm_pure_intrin", PURE, dtype_at="first")
_call_spirv = intrinsic("call_spirv_pure_glsl450", PURE)
_prefetch = intrinsic("prefetch", OPAQUE, 4)
_alloc_workspace = intrinsic("TVMBackendAllocWorkspace", OPAQUE, 5)
_free_workspace = intrinsic("TVMBackendFreeWorkspace", OPAQUE, 3)
_anylist_getitem = intrinsic("anylist_getitem", READS, 2)
_anylist_resetitem = intrinsic("anylist_resetitem", OPAQUE, 2)
_anylist_set_packed = intrinsic("anylist_setitem_call_packed", OPAQUE)
_anylist_set_cpacked = intrinsic("anylist_setitem_call_cpacked", OPAQUE)
_anylist_move = intrinsic("TVMBackendAnyListMoveFromPackedReturn", OPAQUE, 3)
_anylist_arg = intrinsic("TVMBackendAnyListSetPackedArg", OPAQUE, 4)
_vscale = intrinsic("vscale", PURE, 0)
_get_active_lane_mask = intrinsic("get_active_lane_mask", PURE, 2, dtype_at="first")
_start_profile = intrinsic("start_profile_intrinsic", PURE, 1)
_end_profile = intrinsic("end_profile_intrinsic", PURE, 1)
_vectorlow = intrinsic("vectorlow", PURE, 1, dtype_at="first")
_vectoror = intrinsic("vectoror", PURE, 1, dtype_at="first")
_vectorhigh = intrinsic("vectorhigh", PURE, 1, dtype_at="first")
_vectorcombine = intrinsic("vectorcombine", PURE, 2, dtype_at="first")
_dp4a = intrinsic("dp4a", PURE, 3)
_atomic_add = intrinsic("atomic_add", OPAQUE, 2)
_nd_mem_alloc = intrinsic("nd_mem_alloc_with_scope", OPAQUE)
_texture_load = intrinsic("texture2d_load", OPAQUE)
_texture_store = intrinsic("texture2d_store", OPAQUE)
_dma = [
    intrinsic("dma_copy", OPAQUE),
    intrinsic("dma_wait", OPAQUE),
    intrinsic("dma_start_group", OPAQUE),
    intrinsic("dma_end_group", OPAQUE),
]


def if_then_else(cond: Operand, t: Operand, f: Operand, span: Span | None = None) -> PrimExpr:
    """`t` where `cond` holds, else `f`; only the chosen one is evaluated."""
    condition = as_expr(cond)
    if not (condition.dtype.is_bool and condition.dtype.is_scalar):
        raise DTypeError(
            "if_then_else only accept the condition to be boolean type, found "
            f"{condition.dtype}; legal: one bool, or tir.Select for each lane"
        )
    a, b = arith.match_types(t, f, span)
    if isinstance(condition, IntImm):
        return a if condition.value else b
    return e.Call(a.dtype, _if_then_else, (condition, a, b), span)


def likely(cond: Operand, span: Span | None = None) -> PrimExpr:
    """The condition, marked as usually true; loop partitioning looks for the mark."""
    value = as_expr(cond)
    return value if isinstance(value, IntImm) else e.Call(value.dtype, _likely, (value,), span)


def ignore_loop_partition(predicate: Operand) -> PrimExpr:
    """The condition, marked as none of the loop partitioner's business."""
    return e.Call(BOOL, _ignore_loop_partition, (predicate,))


def reinterpret(dtype: Any, value: Operand, span: Span | None = None) -> PrimExpr:
    """The bits of `value` read as another type of the same size."""
    expr, target = as_expr(value), DataType(dtype)
    if expr.dtype is target:
        return expr
    same = expr.dtype.bits * expr.dtype.lanes == target.bits * target.lanes
    if not (expr.dtype.is_scalable or target.is_scalable or same):
        raise DTypeError(
            f"reinterpret: {expr.dtype} and {target} differ in size; legal: types of equal size"
        )
    return e.Call(target, _reinterpret, (expr,), span)


def ret(val: Operand = None, span: Span | None = None) -> PrimExpr:
    """Return from the function, with a value or without."""
    if val is None:
        return e.Call("void", _ret, (), span)
    value = as_expr(val)
    return e.Call(value.dtype, _ret, (value,), span)


def thread_return(span: Span | None = None) -> PrimExpr:
    """End the current GPU thread."""
    return e.Call("void", _thread_return, (), span)


def continue_loop(span: Span | None = None) -> PrimExpr:
    """Go on with the next iteration of the innermost loop."""
    return e.Call("void", _continue_loop, (), span)


def break_loop(span: Span | None = None) -> PrimExpr:
    """Leave the innermost loop."""
    return e.Call("void", _break_loop, (), span)


def assume(cond: Operand = None) -> PrimExpr:
    """Tell the compiler a fact; nothing is checked."""
    return e.Call(BOOL, _assume, (cond,))


def undef() -> PrimExpr:
    """A value that may be anything, different at each use."""
    return e.Call(INT32, _undef, ())


def isnullptr(x: Operand, span: Span | None = None) -> PrimExpr:
    """The address is null."""
    return e.Call(BOOL, _isnullptr, (x,), span)


def address_of(obj: Any, span: Span | None = None) -> PrimExpr:
    """The address of an element, or of the first element of a buffer."""
    if isinstance(obj, Buffer):
        zeros = [arith.const(0, extent.dtype) for extent in obj.shape]
        obj = e.BufferLoad(obj, zeros)
    if not isinstance(obj, e.BufferLoad):
        raise ValueError(
            f"Invalid object type: {type(obj)}; legal: a Buffer or one of its elements"
        )
    return e.Call(HANDLE, _address_of, (obj,), span)


def prefetch(address: Operand) -> PrimExpr:
    """A statement: what lies there will be read soon, and should be in the innermost cache."""
    read, keep, data = (e.IntImm("int32", value) for value in (0, 3, 1))
    return e.Call("int32", _prefetch, (address, read, keep, data))


def handle_add_byte_offset(handle: Operand, offset: Operand) -> PrimExpr:
    """An address moved by a number of bytes."""
    return e.Call(HANDLE, _handle_add_byte_offset, (handle, offset))


def tvm_access_ptr(
    ptype: Operand, data: Operand, offset: Operand, extent: Operand, rw_mask: Operand
) -> PrimExpr:
    """The address of `extent` elements of `data` from `offset` on, for opaque calls."""
    return e.Call(HANDLE, _tvm_access_ptr, (ptype, data, offset, extent, rw_mask))


def type_annotation(dtype: Any) -> PrimExpr:
    """A placeholder that carries a type."""
    return e.Call(dtype, _type_annotation, ())


def lookup_param(param_name: str, span: Span | None = None) -> PrimExpr:
    """The address of a named parameter of the model."""
    return e.Call(HANDLE, _lookup_param, (param_name,), span)


def tvm_tuple(*value: Operand) -> PrimExpr:
    """Several values in one attribute."""
    return e.Call(HANDLE, _tvm_tuple, value)


def tvm_struct_get(arr: Operand, index: Operand, field: int, dtype: Any) -> PrimExpr:
    """A field of the index-th structure behind an address (numbers in `StructField`)."""
    return e.Call(dtype, _tvm_struct_get, (arr, index, field))


def tvm_struct_set(arr: Operand, index: Operand, field: int, value: Operand) -> PrimExpr:
    """Set a field of the index-th structure behind an address."""
    return e.Call(INT32, _tvm_struct_set, (arr, index, field, value))


def tvm_throw_last_error() -> PrimExpr:
    """Return with the error that the runtime holds."""
    return e.Call(HANDLE, _tvm_throw_last_error, ())


def tvm_check_return(expected: int, return_unexpected: int, nested_call: Operand) -> PrimExpr:
    """A call; the function returns `return_unexpected` unless its result is `expected`."""
    return e.Call(INT32, _tvm_check_return, (expected, return_unexpected, nested_call))


def tvm_stack_alloca(dtype_str: str, num: Operand) -> PrimExpr:
    """Room on the stack: `shape`, `array`, `arg_value`, `arg_tcode` or `tvm_ffi_any` records."""
    return e.Call(HANDLE, _tvm_stack_alloca, (dtype_str, num))


def parallel_launch(task: str, closure: Operand, count: Operand) -> PrimExpr:
    """Have the pool run the function `task(task_id, env, closure)` of the module, as at most
    `count` tasks; a task that fails makes the function at hand fail."""
    return e.Call(INT32, _parallel_launch, (task, closure, count))


def tvm_stack_make_shape(*args: Operand) -> PrimExpr:
    """A shape on the stack."""
    return e.Call(HANDLE, _tvm_stack_make_shape, args)


def tvm_stack_make_array(
    data: Operand,
    shape: Operand,
    strides: Operand,
    ndim: Operand,
    arr_dtype: Operand,
    elem_offset: Operand,
) -> PrimExpr:
    """A DLTensor on the stack."""
    return e.Call(
        HANDLE, _tvm_stack_make_array, (data, shape, strides, ndim, arr_dtype, elem_offset)
    )


def _packed_args(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Buffers given to a packed call become DLTensors on the stack."""
    return tuple(_buffer_as_array(a) if isinstance(a, Buffer) else as_expr(a) for a in args)


def _buffer_as_array(buffer: Buffer) -> PrimExpr:
    shape = tvm_stack_make_shape(*buffer.shape)
    strides: Any = tvm_stack_make_shape(*buffer.strides) if buffer.strides else 0
    element = arith.const(0, buffer.dtype)
    return tvm_stack_make_array(
        buffer.data, shape, strides, len(buffer.shape), element, buffer.elem_offset
    )


def call_packed(*args: Any, span: Span | None = None) -> PrimExpr:
    """Call a function of the global registry by its name, the first argument."""
    return e.Call(INT32, _call_packed, _packed_args(args), span)


def call_cpacked(*args: Any, span: Span | None = None) -> PrimExpr:
    """Call a packed function by its symbol, the first argument."""
    return e.Call(INT32, _call_cpacked, _packed_args(args), span)


def call_packed_lowered(*args: Any, span: Span | None = None) -> PrimExpr:
    """The lowered form: name, stack of arguments, begin, end."""
    return e.Call(INT32, _call_packed_lowered, _packed_args(args), span)


def call_cpacked_lowered(*args: Any, span: Span | None = None) -> PrimExpr:
    """The lowered form: symbol, stack of arguments, begin, end."""
    return e.Call(INT32, _call_cpacked_lowered, _packed_args(args), span)


@explained
def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> PrimExpr:
    """Hand the values to a packed function and return the last one."""
    if not isinstance(args, (list, tuple)):
        raise TypeError("tvm.tir.trace consumes the args as list type")
    values = [as_expr(arg) for arg in args]
    return e.Call(values[-1].dtype, _call_trace_packed, (trace_action, *values))


def call_intrin(dtype: Any, func_name: Any, *args: Operand, span: Span | None = None) -> PrimExpr:
    """Call an operator by name with a given result type."""
    return e.Call(dtype, func_name, args, span)


def call_extern(dtype: Any, func_name: str, *args: Operand, span: Span | None = None) -> PrimExpr:
    """Call a C function."""
    return e.Call(dtype, _call_extern, (func_name, *args), span)


def call_pure_extern(
    dtype: Any, func_name: str, *args: Operand, span: Span | None = None
) -> PrimExpr:
    """Call a C function that has no effects."""
    return e.Call(dtype, _call_pure_extern, (func_name, *args), span)


def call_llvm_intrin(dtype: Any, name: Any, *args: Operand, span: Span | None = None) -> PrimExpr:
    """Call an LLVM intrinsic by name (`llvm.ctpop`), or by its number (see tvm.target.codegen)."""
    return e.Call(dtype, _call_llvm_intrin, (_intrinsic_name(name), *args), span)


def call_llvm_pure_intrin(
    dtype: Any, name: Any, *args: Operand, span: Span | None = None
) -> PrimExpr:
    """Call an LLVM intrinsic that has no effects."""
    return e.Call(dtype, _call_llvm_pure_intrin, (_intrinsic_name(name), *args), span)


def _intrinsic_name(name: Any) -> Any:
    """The name of an intrinsic that LLVM knows, also for a number of `llvm_lookup_intrinsic_id`."""
    if isinstance(name, (str, e.StringImm)):
        text = name if isinstance(name, str) else name.value
        if llvm_intrinsics.intrinsic_names() and not llvm_intrinsics.is_known(text):
            raise ValueError(f"Unknown llvm intrinsic function {text}")
        return name
    number = name.value if isinstance(name, IntImm) else name
    known = codegen.llvm_get_intrinsic_name(number) if isinstance(number, int) else ""
    return known or name


def call_tir(global_var: GlobalVar, *args: Operand) -> PrimExpr:
    """Call another function of the module."""
    return e.Call("void", global_var, args)


def start_profile_intrinsic(id: int) -> PrimExpr:
    """Mark the start of a profiled part."""
    return e.Call(HANDLE, _start_profile, (id,))


def end_profile_intrinsic(id: int) -> PrimExpr:
    """Mark the end of a profiled part."""
    return e.Call(HANDLE, _end_profile, (id,))


def vectorlow(dtype: Any, vec: Operand) -> PrimExpr:
    """The lower half of a vector."""
    return e.Call(dtype, _vectorlow, (vec,))


def vectoror(dtype: Any, vec: Operand) -> PrimExpr:
    """All lanes of a vector of integers, combined by `|`."""
    return e.Call(dtype, _vectoror, (vec,))


def vectorhigh(dtype: Any, vec: Operand) -> PrimExpr:
    """The upper half of a vector."""
    return e.Call(dtype, _vectorhigh, (vec,))


def vectorcombine(dtype: Any, vec1: Operand, vec2: Operand) -> PrimExpr:
    """Two vectors one after the other."""
    return e.Call(dtype, _vectorcombine, (vec1, vec2))


def dp4a(vec1: Operand, vec2: Operand, acc: Operand = 0) -> PrimExpr:
    """acc plus the dot product of two vectors of four bytes."""
    a, b = as_expr(vec1), as_expr(vec2)
    signed = a.dtype.is_int or b.dtype.is_int
    out = DataType("int32" if signed else "uint32")
    return e.Call(out, _dp4a, (a, b, arith.cast(acc, out)))


def TVMBackendAllocWorkspace(
    device_type: Operand,
    device_id: Operand,
    nbytes: Operand,
    dtype_code_hint: Operand,
    dtype_bits_hint: Operand,
) -> PrimExpr:
    """Temporary memory from the runtime."""
    args = (device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint)
    return e.Call(HANDLE, _alloc_workspace, args)


def TVMBackendFreeWorkspace(device_type: Operand, device_id: Operand, ptr: Operand) -> PrimExpr:
    """Give temporary memory back."""
    return e.Call(INT32, _free_workspace, (device_type, device_id, ptr))


def anylist_getitem(list_handle: Operand, index: Operand) -> PrimExpr:
    """A value of the virtual machine's register list."""
    return e.Call(HANDLE, _anylist_getitem, (list_handle, index))


def anylist_resetitem(list_handle: Operand, index: Operand) -> PrimExpr:
    """Drop a value of the register list."""
    return e.Call("int", _anylist_resetitem, (list_handle, index))


def anylist_setitem_call_packed(
    list_handle: Operand, index: Operand, func_name: str, *args: Operand
) -> PrimExpr:
    """Store the result of a packed call in the register list."""
    return e.Call("int", _anylist_set_packed, (list_handle, index, func_name, *args))


def anylist_setitem_call_cpacked(
    list_handle: Operand, index: Operand, func_name: str, *args: Operand
) -> PrimExpr:
    """Store the result of a call by symbol in the register list."""
    return e.Call("int", _anylist_set_cpacked, (list_handle, index, func_name, *args))


def vscale() -> PrimExpr:
    """The number of 128-bit pieces of a scalable vector register; known when the program runs."""
    return e.Call(INT32, _vscale, ())


def get_active_lane_mask(dtype: Any, base: Operand, limit: Operand) -> PrimExpr:
    """The mask whose lane i is base + i < limit."""
    return e.Call(dtype, _get_active_lane_mask, (base, limit))


def get_vscale_expr(dtype: Any, min_size: int = 128) -> PrimExpr:
    """How many values of a type a scalable register of at least `min_size` bits holds."""
    return arith.multiply(min_size // DataType(dtype).bits, vscale())


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """A reduction operator from how two results combine and what an empty one is.

    The result is called as `reducer(expr, axis=..., where=..., init=...)`.
    """

    def reduce_directly(*args: Any) -> Any:
        total = args[0]
        for arg in args[1:]:
            total = fcombine(total, arg)
        return total

    def make(expr: Any, axis: Any, where: Any = None, init: Any = None) -> Any:
        axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        sources = [as_expr(x) for x in expr] if isinstance(expr, tuple) else [as_expr(expr)]
        reducer = _make_reducer(fcombine, fidentity, [x.dtype for x in sources])
        start = [] if init is None else list(init) if isinstance(init, (tuple, list)) else [init]
        starts = [arith.cast(x, src.dtype) for x, src in zip(start, sources)]
        condition = arith.const(True, "bool") if where is None else where
        values = [Reduce(reducer, sources, axes, condition, i, starts) for i in range(len(sources))]
        return tuple(values) if isinstance(expr, tuple) else values[0]

    def reducer(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
        if isinstance(axis, (e.IterVar, list, tuple)):
            assert not args
            return make(expr, axis, where, init)
        if where is None:
            return reduce_directly(expr, axis, *args)
        return reduce_directly(expr, axis, where, *([] if init is None else [init]), *args)

    reducer.__name__ = name
    reducer.__doc__ = (
        f"The {name} of `expr` over reduction axes, or of several expressions.\n\n"
        "`where` says which steps count, `init` what it starts from."
    )
    return reducer


def _make_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], dtypes: list[DataType]
) -> CommReducer:
    first, second = fcombine.__code__.co_varnames[:2]
    if len(dtypes) == 1:
        lhs, rhs = [Var(first, dtypes[0])], [Var(second, dtypes[0])]
        result = [fcombine(lhs[0], rhs[0])]
        identity = [fidentity(dtypes[0])]
    else:
        lhs = [Var(f"{first}_{i}", dtype) for i, dtype in enumerate(dtypes)]
        rhs = [Var(f"{second}_{i}", dtype) for i, dtype in enumerate(dtypes)]
        result = list(fcombine(lhs, rhs))
        identity = list(fidentity(*dtypes))
    return CommReducer(lhs, rhs, result, [as_expr(x) for x in identity])


_sum_reducer = comm_reducer(lambda x, y: x + y, lambda t: arith.const(0, t), name="sum")
_min_reducer = comm_reducer(lambda x, y: arith.min_of(x, y), lambda t: _highest(t), name="min")
_max_reducer = comm_reducer(lambda x, y: arith.max_of(x, y), lambda t: _lowest(t), name="max")


def _lowest(dtype: DataType) -> PrimExpr:
    from .math import min_value

    return min_value(dtype)


def _highest(dtype: DataType) -> PrimExpr:
    from .math import max_value

    return max_value(dtype)


def sum(expr: Any, axis: Any, where: Any = None, init: Any = None) -> Any:
    """The sum over reduction axes."""
    return _sum_reducer(expr, axis, where, init)


def min(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
    """The minimum over reduction axes, or of two values or more."""
    return _min_reducer(expr, axis, where, init, *args)


def max(expr: Any, axis: Any, where: Any = None, init: Any = None, *args: Any) -> Any:
    """The maximum over reduction axes, or of two values or more."""
    return _max_reducer(expr, axis, where, init, *args)
