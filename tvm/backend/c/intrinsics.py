"""TIR operators to C text: one rule an operator. Math is called from the C library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from tvm.backend.c_family.code import ADD, ATOM, BITS, COMPARE, MUL, UNARY, Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import COMMON, rule_in
from tvm.backend.c_family.names import c_name
from tvm.backend.host_functions import Signature
from tvm.backend.operands import integer_operand
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.op import arith as ops
from tvm.tir.struct_field import StructField

from .expr import FLOAT64, INT64
from .types import carried_bits, element_bytes, memory_type, short_name, value_type

if TYPE_CHECKING:
    from .stmt import StmtEmitter

INTRINSICS: Final[dict[str, Rule]] = dict(COMMON)
INT32: Final = DataType("int32")


# --- math ---


def _floating(
    emit: StmtEmitter, op: e.Call, compute: Callable[[DataType, list[Code]], Code]
) -> Code:
    """Compute on the operands."""
    dtype = op.dtype.element_of()
    return emit.short(dtype, compute(dtype, [emit.visit_expr(arg) for arg in op.args]))


def _library(c_function: str) -> Rule:
    """A function of the C library."""

    def rule(emit: StmtEmitter, op: e.Call) -> Code:
        return _floating(emit, op, lambda dtype, v: emit.library_call(c_function, dtype, v))

    return rule


for _name in (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "pow", "atan2", "hypot", "fmod",
    "sqrt", "floor", "ceil", "trunc", "nearbyint", "fabs", "copysign", "fma",
    "nextafter",
):  # fmt: skip
    INTRINSICS["tir." + _name] = _library(_name)
INTRINSICS["tir.round"] = _library("nearbyint")  # ties to even, as numpy


@rule_in(INTRINSICS, "exp10")
def _exp10(emit: StmtEmitter, op: e.Call) -> Code:
    """C has no exp10 everywhere; 10**x it has."""

    def compute(dtype: DataType, values: list[Code]) -> Code:
        return emit.library_call("pow", dtype, [Code("10"), values[0]])

    return _floating(emit, op, compute)


@rule_in(INTRINSICS, "sigmoid")
def _sigmoid(emit: StmtEmitter, op: e.Call) -> Code:
    def compute(dtype: DataType, values: list[Code]) -> Code:
        func = emit.module.need(f"sigmoid_{short_name(dtype)}")
        return Code(f"{func}({values[0]})")

    return _floating(emit, op, compute)


@rule_in(INTRINSICS, "rsqrt")
def _rsqrt(emit: StmtEmitter, op: e.Call) -> Code:
    def compute(dtype: DataType, values: list[Code]) -> Code:
        root = emit.library_call("sqrt", dtype, values)
        return Code(f"1 / {root}", MUL)

    return _floating(emit, op, compute)


@rule_in(INTRINSICS, "ldexp")
def _ldexp(emit: StmtEmitter, op: e.Call) -> Code:
    """x * 2**n; the C function takes n as int."""
    dtype = op.dtype.element_of()
    value, power = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    return emit.library_call("ldexp", dtype, [value, emit.cast(op.args[1].dtype, INT32, power)])


@rule_in(INTRINSICS, "isnan", "isinf", "isfinite")
def _classify(emit: StmtEmitter, op: e.Call) -> Code:
    assert not isinstance(op.op, GlobalVar), "the table is asked by operator"
    value = emit.visit_expr(op.args[0])
    emit.module.header("math.h")
    asked = op.op.name.removeprefix("tir.")
    return Code(f"{asked}({value}) != 0", COMPARE)


# --- bits ---


def _bits(sign: str) -> Rule:
    def rule(emit: StmtEmitter, op: e.Call) -> Code:
        a, b = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
        return _of_bits(emit, op, sign, a, b)

    return rule


def _of_bits(emit: StmtEmitter, op: e.Call, sign: str, a: Code, b: Code) -> Code:
    dtype = op.dtype.element_of()
    found = Code(f"{a.at(UNARY)} {sign} {b.at(UNARY)}", BITS)
    if dtype.is_bool and sign == "^":
        found = Code(f"{a.at(UNARY)} != {b.at(UNARY)}", COMPARE)
    return emit.short(dtype, emit.fit(dtype, found) if sign == "<<" else found)


INTRINSICS["tir.bitwise_and"] = _bits("&")
INTRINSICS["tir.bitwise_or"] = _bits("|")
INTRINSICS["tir.bitwise_xor"] = _bits("^")
INTRINSICS["tir.shift_right"] = _bits(">>")


@rule_in(INTRINSICS, "shift_left")
def _shift_left(emit: StmtEmitter, op: e.Call) -> Code:
    """Bits leave on the left; C knows that for unsigned numbers only."""
    dtype = op.dtype.element_of()
    a, b = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    if not dtype.is_int:
        return _of_bits(emit, op, "<<", a, b)
    func = emit.module.need(f"shl_i{carried_bits(dtype)}")
    made = Code(f"{func}({a}, {b})")
    return emit.fit(dtype, made) if dtype.bits != carried_bits(dtype) else made


@rule_in(INTRINSICS, "popcount", "ctpop")
def _popcount(emit: StmtEmitter, op: e.Call) -> Code:
    integer_operand(op)
    bits = _as_unsigned64(emit, op.args[0])
    count = Code(f"__builtin_popcountll({bits})")
    return emit.cast(INT32, op.dtype, count)


@rule_in(INTRINSICS, "clz")
def _clz(emit: StmtEmitter, op: e.Call) -> Code:
    integer_operand(op)
    bits = _as_unsigned64(emit, op.args[0])
    func = emit.module.need("clz64")
    count = Code(f"{func}({bits}, {op.args[0].dtype.bits})")
    return emit.cast(INT32, op.dtype, count)


def _as_unsigned64(emit: StmtEmitter, expr: PrimExpr) -> Code:
    """The bits of a number, with zeros in front."""
    value, dtype = emit.visit_expr(expr), expr.dtype.element_of()
    if dtype.bits != carried_bits(dtype):
        value = Code(f"{value.at(UNARY)} & {(1 << dtype.bits) - 1}", BITS)
    text = f"(uint64_t)(uint{carried_bits(dtype)}_t){value.at(UNARY)}"
    return Code(text, UNARY)


@rule_in(INTRINSICS, "reinterpret")
def _reinterpret(emit: StmtEmitter, op: e.Call) -> Code:
    source, target = op.args[0].dtype, op.dtype
    a, b = source.element_of(), target.element_of()
    if element_bytes(a) != element_bytes(b):
        return _recut(emit, op)
    value = emit.visit_expr(op.args[0])
    kinds = memory_type(a), memory_type(b)
    if a.is_handle or b.is_handle or kinds[0] == kinds[1]:
        return emit.cast(a, b, value) if a.is_handle or b.is_handle or b.is_bool else value
    if a.is_integer and b.is_integer:
        return Code(f"({kinds[1]}){value.at(UNARY)}", UNARY)
    func = emit.module.need(f"bits_of_{short_name(a)}_as_{short_name(b)}")
    return Code(f"{func}({value})")


def _recut(emit: StmtEmitter, op: e.Call) -> Code:
    """The same bytes as lanes of another size."""
    out, target = emit.out, op.dtype.element_of()
    before, emit.lane = emit.lane, None
    if op.args[0].dtype.is_vector:
        source = emit.in_array(op.args[0], "bytes")
    else:
        kind = memory_type(op.args[0].dtype)
        source = out.array(kind, "bytes", 1)
        out.line(f"{source}[0] = {emit.visit_expr(op.args[0])};")
    emit.lane = before
    emit.module.header("string.h")
    made = out.array(memory_type(target), "lanes", op.dtype.lanes)
    out.line(f"memcpy({made}, {source}, sizeof {made});")
    for name in (source, made):
        out.read(name)
    lane = Code(f"{made}[{emit.lane or 0}]")
    return Code(f"{lane} != 0", COMPARE) if target.is_bool else lane


# --- control ---


@rule_in(INTRINSICS, "assume")
def _assume(emit: StmtEmitter, op: e.Call) -> Code:
    fact = emit.visit_expr(op.args[0])
    emit.out.line(f"if (!{fact.at(ATOM)}) __builtin_unreachable();")
    return Code("true")


@rule_in(INTRINSICS, "ret")
def _ret(emit: StmtEmitter, op: e.Call) -> Code:
    fallible = emit.out.signature.fallible
    if not op.args:
        emit.leave(Code("0") if fallible else None)
        return Code("")
    value = emit.visit_expr(op.args[0])
    emit.leave(Code("0") if fallible and op.args[0].dtype != "int32" else value)
    return Code("")


@rule_in(INTRINSICS, "thread_return")
def _thread_return(emit: StmtEmitter, op: e.Call) -> Code:
    emit.leave(Code("0") if emit.out.signature.fallible else None)
    return Code("")


@rule_in(INTRINSICS, "tvm_throw_last_error")
def _throw(emit: StmtEmitter, op: e.Call) -> Code:
    emit.out.line(emit.failure())
    return Code("")


@rule_in(INTRINSICS, "undef")
def _undef(emit: StmtEmitter, op: e.Call) -> Code:
    return Code("NULL" if op.dtype.is_handle else "0")


@rule_in(INTRINSICS, "tvm_storage_sync")
def _nothing(emit: StmtEmitter, op: e.Call) -> Code:
    return Code("0")


# --- addresses and structs ---


@rule_in(INTRINSICS, "isnullptr")
def _isnullptr(emit: StmtEmitter, op: e.Call) -> Code:
    func = emit.module.need("is_null")
    return Code(f"{func}({emit.visit_expr(op.args[0])})")


@rule_in(INTRINSICS, "address_of")
def _address_of(emit: StmtEmitter, op: e.Call) -> Code:
    load = op.args[0]
    assert isinstance(load, e.BufferLoad), "the constructor of address_of makes sure"
    return emit.address(load)


@rule_in(INTRINSICS, "handle_add_byte_offset")
def _add_bytes(emit: StmtEmitter, op: e.Call) -> Code:
    base, offset = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    # What lies before an object on the stack a compiler would warn of, if it saw through this.
    kind = "intptr_t" if offset.level == UNARY else "char*"
    return Code(f"(void*)(({kind}){base.at(ATOM)} + {offset.at(MUL)})", UNARY)


@rule_in(INTRINSICS, "tvm_access_ptr")
def _access_ptr(emit: StmtEmitter, op: e.Call) -> Code:
    kind, data, offset = op.args[:3]
    base, start = emit.visit_expr(data), emit.visit_expr(offset)
    pointer = f"({memory_type(kind.dtype.element_of())}*){base.at(ATOM)}"
    return Code(f"{pointer} + {start.at(MUL)}", ADD)


@rule_in(INTRINSICS, "tvm_static_handle")
def _static_handle(emit: StmtEmitter, op: e.Call) -> Code:
    """The address of a pointer that lives as long as the library, NULL at first."""
    name = emit.module.names.fresh("static_handle")
    emit.module.constant(f"static void* {name} = NULL;")
    return Code(f"(void*)&{name}", UNARY)


# A field of DLTensor or TVMFFIAny: the structure, the member, and its type (None: as asked).
_FIELDS: Final[dict[StructField, tuple[str, str, DataType | None]]] = {
    StructField.TENSOR_DATA: ("DLTensor", "data", DataType("handle")),
    StructField.TENSOR_SHAPE: ("DLTensor", "shape", DataType("handle")),
    StructField.TENSOR_STRIDES: ("DLTensor", "strides", DataType("handle")),
    StructField.TENSOR_NDIM: ("DLTensor", "ndim", INT32),
    StructField.TENSOR_TYPE_CODE: ("DLTensor", "dtype.code", DataType("uint8")),
    StructField.TENSOR_TYPE_BITS: ("DLTensor", "dtype.bits", DataType("uint8")),
    StructField.TENSOR_TYPE_LANES: ("DLTensor", "dtype.lanes", DataType("uint16")),
    StructField.TENSOR_BYTE_OFFSET: ("DLTensor", "byte_offset", DataType("uint64")),
    StructField.TENSOR_DEVICE_ID: ("DLTensor", "device.id", INT32),
    StructField.TENSOR_DEVICE_TYPE: ("DLTensor", "device.type", INT32),
    StructField.VALUE_CONTENT: ("TVMValue", "", None),
    StructField.ANY_TYPE_INDEX: ("TVMFFIAny", "type_index", INT32),
    StructField.ANY_ZERO_PADDING: ("TVMFFIAny", "zero_padding", INT32),
    StructField.ANY_UNION_VALUE: ("TVMFFIAny", "", None),
    StructField.PARALLEL_TASKS: ("TVMParallelEnv", "num_task", INT32),
}


def _member(emit: StmtEmitter, op: e.Call, dtype: DataType) -> tuple[Code, DataType]:
    """The field that a struct access names, and the type in which C has it."""
    number, index = op.args[2], emit.visit_expr(op.args[1])
    base = emit.visit_expr(op.args[0])
    if isinstance(number, e.IntImm) and number.value == StructField.INT64_ELEMENT:
        return Code(f"((int64_t*){base.at(ATOM)})[{index}]"), INT64
    try:
        struct, member, stored = _FIELDS[StructField(number.value)]
    except (ValueError, KeyError, AttributeError):
        legal = [*_FIELDS, StructField.INT64_ELEMENT]
        raise CheckError(
            message(
                f"access of struct field {number}",
                found="no such field",
                legal=", ".join(f"{k.name}={k.value}" for k in legal),
            )
        ) from None
    emit.module.need(struct)
    held = stored or _union_type(dtype)
    member = member or _union_member(held)
    pointer = f"(({struct}*){base.at(ATOM)})"
    text = f"{pointer}->{member}" if index == "0" else f"{pointer}[{index}].{member}"
    return Code(text), held


def _union_type(dtype: DataType) -> DataType:
    """The form in which the 8-byte union holds a value of `dtype`."""
    if dtype.is_handle:
        return dtype
    return FLOAT64 if dtype.is_floating else INT64


def _union_member(dtype: DataType) -> str:
    return "v_ptr" if dtype.is_handle else "v_float64" if dtype.is_float else "v_int64"


@rule_in(INTRINSICS, "tvm_struct_get")
def _struct_get(emit: StmtEmitter, op: e.Call) -> Code:
    if isinstance(op.args[2], e.IntImm) and op.args[2].value == StructField.TENSOR_ADDR:
        base, index = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
        emit.module.need("DLTensor")
        return Code(f"(void*)((DLTensor*){base.at(ATOM)} + {index.at(MUL)})", UNARY)
    field, held = _member(emit, op, op.dtype)
    if held.is_handle:
        return field
    return emit.ordered(op.dtype, emit.cast(held, op.dtype, field))


@rule_in(INTRINSICS, "tvm_struct_set")
def _struct_set(emit: StmtEmitter, op: e.Call) -> Code:
    value = op.args[3]
    given = emit.visit_expr(value)
    field, held = _member(emit, op, value.dtype)
    emit.out.line(f"{field} = {emit.cast(value.dtype, held, given)};")
    return Code("")


# The first argument of tir.tvm_stack_alloca: the type of an item.
_STACK_ITEMS: Final = {
    "shape": "int64_t",
    "array": "DLTensor",
    "arg_value": "TVMValue",
    "arg_tcode": "int32_t",
    "arg_ffi_any": "TVMFFIAny",
    "tvm_ffi_any": "TVMFFIAny",
}


@rule_in(INTRINSICS, "tvm_stack_alloca")
def _stack_alloca(emit: StmtEmitter, op: e.Call) -> Code:
    item, count = op.args
    kind = _STACK_ITEMS.get(item.value)
    if kind is None:
        raise CheckError(
            message(
                f"tvm_stack_alloca of {item.value!r}",
                found="no such item",
                legal=", ".join(sorted(_STACK_ITEMS)),
            )
        )
    if not kind.endswith("_t"):
        emit.module.need(kind)
    many = max(count.value, 1) if isinstance(count, e.IntImm) else emit.visit_expr(count)
    name = emit.out.stack(kind, "stack", many)
    return Code(name)


# --- calls ---


@rule_in(INTRINSICS, "parallel_launch")
def _parallel_launch(emit: StmtEmitter, op: e.Call) -> Code:
    name, closure, count = op.args
    task = emit.module.signatures[name.value].name
    emit.module.called.add(task)
    given = f"{task}, {emit.visit_expr(closure)}, {emit.visit_expr(count)}"
    emit.check(f"{emit.module.need('parallel_launch')}({given})")
    return Code("0")


@rule_in(INTRINSICS, "call_extern", "call_pure_extern")
def _call_extern(emit: StmtEmitter, op: e.Call) -> Code:
    name, args = op.args[0].value, op.args[1:]
    if name in emit.module.signatures:
        return emit.call_local(name, args)
    given = [emit.visit_expr(arg) for arg in args]
    kinds = [value_type(arg.dtype.element_of()) for arg in args]
    result = value_type(op.dtype.element_of())
    callee = emit.module.declare(name, result, tuple(kinds))
    call = Code(f"{callee}({', '.join(given)})")
    if op.dtype.is_void:
        emit.out.line(call + ";")
        return Code("")
    return call


@rule_in(INTRINSICS, "tvm_call_packed_lowered")
def _call_packed(emit: StmtEmitter, op: e.Call) -> Code:
    """Look the function up once, then call it through the registry's object."""
    emit.module.need("call_packed")
    slot, name = emit.module.slot(op.args[0].value, c_name(op.args[0].value)), op.args[0]
    args, count, result = _on_stack(emit, op)
    emit.check(f"call_packed(&{slot}, {emit.visit_expr(name)}, {args}, {count}, {result})")
    return Code("")


@rule_in(INTRINSICS, "tvm_call_cpacked_lowered")
def _call_cpacked(emit: StmtEmitter, op: e.Call) -> Code:
    """Call a function with the packed convention by its symbol."""
    name, known = op.args[0].value, emit.module.signatures
    local: Signature | None = known.get(name) or known.get(FFI_PREFIX + name)
    symbol = local.name if local else name
    if local is None:
        emit.module.declare(symbol, "int32_t", ("void*", "void*", "int32_t", "void*"))
    emit.module.header("string.h")
    emit.module.called.add(symbol)
    args, count, result = _on_stack(emit, op)
    emit.out.line(f"memset({result}, 0, sizeof(TVMFFIAny));")
    emit.check(f"{symbol}(NULL, {args}, {count}, {result})")
    return Code("")


def _on_stack(emit: StmtEmitter, op: e.Call) -> tuple[str, int, str]:
    """Where the arguments lie, how many they are, and where the result goes."""
    emit.module.need("TVMFFIAny")
    begin, end = op.args[2].value, op.args[3].value
    base = f"(TVMFFIAny*){emit.visit_expr(op.args[1]).at(ATOM)}"
    return f"{base} + {begin}", end - begin, f"{base} + {end}"


def _runtime(name: str, kinds: Sequence[str]) -> Rule:
    """A C function of the runtime with fixed parameter types."""

    def rule(emit: StmtEmitter, op: e.Call) -> Code:
        given = []
        for kind, arg in zip(kinds, op.args):
            value = emit.visit_expr(arg)
            given.append(emit.cast(arg.dtype, DataType(kind), value))
        return Code(f"{emit.module.need(name)}({', '.join(given)})")

    return rule


INTRINSICS["tir.TVMBackendAllocWorkspace"] = _runtime(
    "TVMBackendAllocWorkspace", ("int32", "int32", "int64", "int32", "int32")
)
INTRINSICS["tir.TVMBackendFreeWorkspace"] = _runtime(
    "TVMBackendFreeWorkspace", ("int32", "int32", "handle")
)


@rule_in(INTRINSICS, "prefetch")
def _prefetch(emit: StmtEmitter, op: e.Call) -> Code:
    given = ", ".join(emit.visit_expr(a) for a in op.args[:3])
    emit.out.line(f"__builtin_prefetch({given});")
    return Code("")


@rule_in(INTRINSICS, "atomic_add")
def _atomic_add(emit: StmtEmitter, op: e.Call) -> Code:
    address, value = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    dtype = op.args[1].dtype.element_of()
    func = emit.module.need(f"atomic_add_{short_name(dtype)}")
    return Code(f"{func}(({value_type(dtype)}*){address.at(UNARY)}, {value})")


# --- vectors ---


@rule_in(INTRINSICS, "get_active_lane_mask")
def _lane_mask(emit: StmtEmitter, op: e.Call) -> Code:
    kind = op.args[0].dtype
    unsigned = DataType(f"uint{kind.bits}")
    # before a negative limit lies no lane
    args = op.args[0], ops.max_of(op.args[1], 0) if kind.is_int else op.args[1]
    first, limit = (
        emit.cast(unsigned, INT64, emit.cast(kind, unsigned, emit.lane_of(arg, "0")))
        for arg in args
    )
    return Code(f"{first.at(ADD)} + {emit.lane} < {limit.at(ADD)}", COMPARE)


@rule_in(INTRINSICS, "vectorlow")
def _low(emit: StmtEmitter, op: e.Call) -> Code:
    return emit.lane_of(op.args[0], emit.lane or "0")


@rule_in(INTRINSICS, "vectoror")
def _or_lanes(emit: StmtEmitter, op: e.Call) -> Code:
    found = emit.out.fresh("any")
    emit.out.line(f"{value_type(op.dtype)} {found} = 0;")
    with emit.lanes(op.args[0].dtype) as lane:
        emit.out.line(f"{found} |= {emit.lane_of(op.args[0], lane)};")
    return Code(found)


@rule_in(INTRINSICS, "vectorhigh")
def _high(emit: StmtEmitter, op: e.Call) -> Code:
    start = op.args[0].dtype.lanes // 2
    return emit.lane_of(op.args[0], f"({emit.lane or 0} + {start})")


@rule_in(INTRINSICS, "vectorcombine")
def _combine(emit: StmtEmitter, op: e.Call) -> Code:
    half, lane = op.args[0].dtype.lanes, emit.lane or "0"
    a, b = emit.lane_of(op.args[0], lane), emit.lane_of(op.args[1], f"({lane} - {half})")
    text = f"({lane} < {half} ? {a.at(BITS)} : {b.at(BITS)})"
    return Code(text)
