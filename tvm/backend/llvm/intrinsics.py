"""TIR operators to LLVM text: one rule an operator.

Vector math (exp, tanh, ...) reaches this table only where lowering has not replaced it by
polynomials; it is then one call of the C library for each lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from tvm.backend.operands import integer_operand
from tvm.error import CheckError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.runtime.imports import FFI_PREFIX
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.op import arith as ops
from tvm.tir.struct_field import StructField

from .abi import STACK_ITEMS, FieldOffset, Layout, layout_of
from .expr import INT64, mangled
from .intrinsic_names import ONE_TYPE_INTRINSICS
from .memory import as_ramp
from .types import element_bytes, element_type, memory_element, quoted, value_type, vector_of

if TYPE_CHECKING:
    from .stmt import StmtEmitter

Rule = Callable[["StmtEmitter", e.Call], str]
INTRINSICS: Final[dict[str, Rule]] = {}
FLOAT64: Final = DataType("float64")


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        for name in names:
            INTRINSICS["tir." + name] = rule
        return rule

    return add


# --- math ---


def _values(emit: StmtEmitter, op: e.Call) -> list[str]:
    return [emit.visit_expr(arg) for arg in op.args]


def _native(llvm_name: str) -> Rule:
    """An operation that CPUs have an instruction for."""

    return lambda emit, op: emit.intrinsic(llvm_name, op.dtype, _values(emit, op))


for _name, _llvm in (
    ("sqrt", "sqrt"), ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"),
    ("round", "nearbyint"), ("nearbyint", "nearbyint"), ("fabs", "fabs"),
    ("copysign", "copysign"), ("fma", "fma"),
):  # fmt: skip
    INTRINSICS["tir." + _name] = _native(_llvm)


def _library(c_name: str) -> Rule:
    """A function of the C library, called for each lane; on integers in float64."""

    def rule(emit: StmtEmitter, op: e.Call) -> str:
        if not op.dtype.is_floating:
            wide = FLOAT64.with_lanes(op.dtype.lanes)
            given = [emit.cast(a.dtype, wide, emit.visit_expr(a)) for a in op.args]
            return emit.cast(wide, op.dtype, _each_lane(emit, c_name, wide, given))
        return _each_lane(emit, c_name, op.dtype, _values(emit, op))

    return rule


def _each_lane(emit: StmtEmitter, c_name: str, dtype: DataType, values: Sequence[str]) -> str:
    if dtype.is_scalable:
        raise CheckError(f"{c_name} on scalable vectors; legal: after tir.LowerIntrin")
    element = element_type(dtype)
    name = c_name + ("f" if dtype.bits == 32 else "")
    params = ", ".join([element] * len(values))
    callee = emit.module.declare(name, element, params, "nounwind memory(none)"
                                 if emit.module.modern else "nounwind readnone")  # fmt: skip
    columns = [emit.lanes_of(dtype, v) for v in values]
    results = []
    for lane in range(dtype.lanes):
        given = ", ".join(f"{element} {column[lane]}" for column in columns)
        # as a function of its own, LLVM does not call it for all lanes where a branch spares it
        results.append(emit.out.temp(f"call {element} {callee}({given}) nobuiltin"))
    return emit.vector_of_scalars(dtype, results)


for _name in (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "pow", "atan2", "hypot", "fmod",
    "nextafter",
):  # fmt: skip
    INTRINSICS["tir." + _name] = _library(_name)


@_rule("exp10")
def _exp10(emit: StmtEmitter, op: e.Call) -> str:
    """C has no exp10 everywhere; 10**x it has."""

    ten = emit.splat(op.dtype, "0x4024000000000000")
    return _each_lane(emit, "pow", op.dtype, [ten, *_values(emit, op)])


@_rule("sigmoid")
def _sigmoid(emit: StmtEmitter, op: e.Call) -> str:
    dtype = op.dtype
    kind, one = value_type(dtype), emit.splat(dtype, "0x3FF0000000000000")
    negative = emit.out.temp(f"fneg {kind} {emit.visit_expr(op.args[0])}")
    power = _each_lane(emit, "exp", dtype, [negative])
    return emit.out.temp(f"fdiv {kind} {one}, {emit.out.temp(f'fadd {kind} {one}, {power}')}")


@_rule("rsqrt")
def _rsqrt(emit: StmtEmitter, op: e.Call) -> str:
    root = emit.intrinsic("sqrt", op.dtype, _values(emit, op))
    one = emit.splat(op.dtype, "0x3FF0000000000000")
    return emit.out.temp(f"fdiv {value_type(op.dtype)} {one}, {root}")


@_rule("ldexp")
def _ldexp(emit: StmtEmitter, op: e.Call) -> str:
    """x * 2**n; where the CPU has no such instruction, by C, which takes n as int."""
    dtype = op.dtype
    whole = _floored(op.args[1])
    if whole is not None and whole.dtype == dtype and _pieces(emit, dtype):
        return _scale_by_floor(emit, dtype, emit.visit_expr(op.args[0]), emit.visit_expr(whole))
    value, power = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    exponent = emit.cast(op.args[1].dtype, DataType("int32").with_lanes(dtype.lanes), power)
    if emit.module.has_feature("avx512f"):
        return _scale(emit, dtype, value, exponent)
    element = element_type(dtype)
    name = "ldexpf" if dtype.bits == 32 else "ldexp"
    callee = emit.module.declare(name, element, f"{element}, i32")
    xs = emit.lanes_of(dtype, value)
    ns = emit.lanes_of(DataType("int32").with_lanes(dtype.lanes), exponent)
    results = [
        emit.out.temp(f"call {element} {callee}({element} {x}, i32 {n})") for x, n in zip(xs, ns)
    ]
    return emit.vector_of_scalars(dtype, results)


def _scale(emit: StmtEmitter, dtype: DataType, value: str, exponent: str) -> str:
    ints = DataType("int32").with_lanes(dtype.lanes)
    kind, of_ints = value_type(dtype), value_type(ints)
    name = f"llvm.ldexp.{mangled(dtype)}.{mangled(ints)}"
    callee = emit.module.declare(name, kind, f"{kind}, {of_ints}")
    return emit.out.temp(f"call {kind} {callee}({kind} {value}, {of_ints} {exponent})")


def _floored(exponent: PrimExpr) -> PrimExpr | None:
    """v where the exponent is int(floor(v)), which VSCALEF takes as it is."""
    value = exponent.value if isinstance(exponent, e.Cast) else None
    if e.is_call_of(value, "tir.floor"):
        (operand,) = value.args
        assert isinstance(operand, PrimExpr), "floor takes a number"
        return operand
    return None


def _pieces(emit: StmtEmitter, dtype: DataType) -> int:
    """The lanes of the registers that a vector takes for VSCALEF; 0 if it takes no whole ones."""
    if not dtype.is_float or dtype.bits not in (32, 64) or dtype.is_scalable:
        return 0
    if not emit.module.has_feature("avx512f"):
        return 0
    whole = 512 // dtype.bits
    registers, left = divmod(dtype.lanes, whole)
    if registers and not left:
        return whole if registers & (registers - 1) == 0 else 0
    short = dtype.lanes in (whole // 4, whole // 2) and emit.module.has_feature("avx512vl")
    return dtype.lanes if short else 0


def _scale_by_floor(emit: StmtEmitter, dtype: DataType, value: str, power: str) -> str:
    """value * 2**floor(power)."""
    lanes = _pieces(emit, dtype)
    short, kind = value_type(dtype.with_lanes(lanes)), value_type(dtype)
    mask = f"i{max(lanes, 8)}"
    name = f"llvm.x86.avx512.mask.scalef.p{'s' if dtype.bits == 32 else 'd'}.{dtype.bits * lanes}"
    last = ", i32 4" if dtype.bits * lanes == 512 else ""  # rounded as usual
    callee = emit.module.declare(
        name, short, f"{short}, {short}, {short}, {mask}{', i32' if last else ''}"
    )

    def part(of: str, first: int) -> str:
        if lanes == dtype.lanes:
            return of
        picks = ", ".join(f"i32 {first + lane}" for lane in range(lanes))
        return emit.out.temp(f"shufflevector {kind} {of}, {kind} poison, <{lanes} x i32> <{picks}>")

    made = [
        emit.out.temp(
            f"call {short} {callee}({short} {part(value, first)}, {short} {part(power, first)}, "
            f"{short} poison, {mask} -1{last})"
        )
        for first in range(0, dtype.lanes, lanes)
    ]
    while len(made) > 1:
        size = dtype.lanes // len(made)
        both = ", ".join(f"i32 {lane}" for lane in range(2 * size))
        half = value_type(dtype.with_lanes(size))
        made = [
            emit.out.temp(f"shufflevector {half} {a}, {half} {b}, <{2 * size} x i32> <{both}>")
            for a, b in zip(made[::2], made[1::2])
        ]
    return made[0]


@_rule("isnan", "isinf", "isfinite")
def _classify(emit: StmtEmitter, op: e.Call) -> str:
    assert not isinstance(op.op, GlobalVar), "the table is asked by operator"
    source = op.args[0].dtype
    value = emit.visit_expr(op.args[0])
    kind = value_type(source)
    if op.op.name == "tir.isnan":
        return emit.out.temp(f"fcmp uno {kind} {value}, {value}")
    size = emit.intrinsic("fabs", source, [value])
    infinite = emit.splat(
        source, "0xH7C00" if source.bits == 16 else "0x7FF0000000000000"
    )
    compare = "oeq" if op.op.name == "tir.isinf" else "one"
    return emit.out.temp(f"fcmp {compare} {kind} {size}, {infinite}")


# --- bits ---


def _bits(instruction: str, unsigned: str | None = None) -> Rule:
    def rule(emit: StmtEmitter, op: e.Call) -> str:
        a, b = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
        name = unsigned if unsigned is not None and not op.dtype.is_int else instruction
        return emit.out.temp(f"{name} {value_type(op.dtype)} {a}, {b}")

    return rule


_INSTRUCTION_AND: Final = _bits("and")
_SHIFT_LEFT: Final = Op.get("tir.shift_left")
_INSTRUCTION_SHR: Final = _bits("ashr", "lshr")


@_rule("bitwise_and")
def _bitwise_and(emit: StmtEmitter, op: e.Call) -> str:
    for operand, mask in (op.args, op.args[::-1]):
        if isinstance(mask, e.IntImm):
            emit.narrow.masks(mask.value, operand)
    return _INSTRUCTION_AND(emit, op)


@_rule("shift_right")
def _shift_right(emit: StmtEmitter, op: e.Call) -> str:
    moved, by = op.args
    back = isinstance(moved, e.Call) and moved.op.same_as(_SHIFT_LEFT)
    if back and isinstance(by, e.IntImm):  # x << 24 >> 24 is x cut to 8 bits
        emit.narrow.wraps("sext" if op.dtype.is_int else "zext", op.dtype.bits - by.value, op)
    return _INSTRUCTION_SHR(emit, op)


INTRINSICS["tir.bitwise_or"] = _bits("or")
INTRINSICS["tir.bitwise_xor"] = _bits("xor")
INTRINSICS["tir.shift_left"] = _bits("shl")


@_rule("bitwise_not")
def _bitwise_not(emit: StmtEmitter, op: e.Call) -> str:
    ones = emit.splat(op.dtype, "true" if op.dtype.is_bool else "-1")
    return emit.out.temp(f"xor {value_type(op.dtype)} {emit.visit_expr(op.args[0])}, {ones}")


@_rule("popcount", "ctpop")
def _popcount(emit: StmtEmitter, op: e.Call) -> str:
    source = integer_operand(op)
    count = emit.intrinsic("ctpop", source, [emit.visit_expr(op.args[0])])
    return emit.cast(_unsigned(source), op.dtype, count)


@_rule("clz")
def _clz(emit: StmtEmitter, op: e.Call) -> str:
    source = integer_operand(op)
    value = emit.visit_expr(op.args[0])
    count = emit.intrinsic("ctlz", source, [value], extra=[("i1", "false")])
    return emit.cast(_unsigned(source), op.dtype, count)


def _unsigned(dtype: DataType) -> DataType:
    return DataType(f"uint{dtype.bits}").with_lanes(dtype.lanes, dtype.is_scalable)


@_rule("large_uint_imm")
def _large_uint(emit: StmtEmitter, op: e.Call) -> str:
    low, high = (a.value for a in op.args)
    value = int(low) | int(high) << 32
    return str(value - (1 << 64) if value >> 63 else value)


@_rule("reinterpret")
def _reinterpret(emit: StmtEmitter, op: e.Call) -> str:
    source, target = op.args[0].dtype, op.dtype
    value = emit.visit_expr(op.args[0])
    if source.is_bool:
        value = emit.to_memory(source, value)
        source = DataType("uint8").with_lanes(source.lanes, source.is_scalable)
    if target.is_bool:
        return emit.from_memory(target, value)
    a, b = value_type(source), value_type(target)
    if a == b:
        return value
    if source.is_handle or target.is_handle:
        return emit.cast(source, target, value)
    return emit.out.temp(f"bitcast {a} {value} to {b}")


# --- control ---


@_rule("if_then_else")
def _if_then_else(emit: StmtEmitter, op: e.Call) -> str:
    return emit.if_then_else(*op.args)


@_rule("likely", "ignore_loop_partition")
def _same(emit: StmtEmitter, op: e.Call) -> str:
    return emit.visit_expr(op.args[0])


@_rule("assume")
def _assume(emit: StmtEmitter, op: e.Call) -> str:
    fact = emit.visit_expr(op.args[0])
    emit.out.line(f"call void {emit.module.declare('llvm.assume', 'void', 'i1')}(i1 {fact})")
    return "true"


@_rule("ret")
def _ret(emit: StmtEmitter, op: e.Call) -> str:
    signature = emit.out.signature
    if not op.args:
        emit.return_value("0" if signature.fallible else None)
    else:
        value = emit.visit_expr(op.args[0])
        kind = value_type(op.args[0].dtype)
        if signature.fallible and kind != "i32":
            value = "0"
        emit.return_value(value)
    emit.unreachable_from_here()
    return "0"


@_rule("thread_return")
def _thread_return(emit: StmtEmitter, op: e.Call) -> str:
    emit.return_value("0" if emit.out.signature.fallible else None)
    emit.unreachable_from_here()
    return ""


@_rule("break_loop")
def _break(emit: StmtEmitter, op: e.Call) -> str:
    emit.jump(to_next=False)
    return ""


@_rule("continue_loop")
def _continue(emit: StmtEmitter, op: e.Call) -> str:
    emit.jump(to_next=True)
    return ""


@_rule("tvm_throw_last_error")
def _throw(emit: StmtEmitter, op: e.Call) -> str:
    emit.out.line(f"br label %{emit.fail_label()}")
    emit.unreachable_from_here()
    return "null"


@_rule("tvm_static_handle")
def _static_handle(emit: StmtEmitter, op: e.Call) -> str:
    """The address of a pointer that lives as long as the module, null at first."""
    return emit.module.slot(".static")


@_rule("undef")
def _undef(emit: StmtEmitter, op: e.Call) -> str:
    return "undef"


@_rule("type_annotation")
def _type_annotation(emit: StmtEmitter, op: e.Call) -> str:
    return "undef"


@_rule("start_profile_intrinsic", "end_profile_intrinsic", "tvm_storage_sync")
def _nothing(emit: StmtEmitter, op: e.Call) -> str:
    return "0"


# --- addresses and structs ---


@_rule("isnullptr")
def _isnullptr(emit: StmtEmitter, op: e.Call) -> str:
    return emit.out.temp(f"icmp eq ptr {emit.visit_expr(op.args[0])}, null")


@_rule("address_of")
def _address_of(emit: StmtEmitter, op: e.Call) -> str:
    load = op.args[0]
    assert isinstance(load, e.BufferLoad), "the constructor of address_of makes sure"
    index = load.indices[0] if load.indices else e.IntImm("int32", 0)
    ramp = None if index.dtype.is_scalar else as_ramp(index)
    return emit.address(load.buffer, emit.as_int64(index if ramp is None else ramp[0]))


@_rule("handle_add_byte_offset")
def _add_bytes(emit: StmtEmitter, op: e.Call) -> str:
    base, offset = emit.visit_expr(op.args[0]), emit.as_int64(op.args[1])
    return emit.out.temp(f"getelementptr i8, ptr {base}, i64 {offset}")


@_rule("tvm_access_ptr")
def _access_ptr(emit: StmtEmitter, op: e.Call) -> str:
    kind, data, offset = op.args[:3]
    base, start = emit.visit_expr(data), emit.as_int64(offset)
    return emit.out.temp(f"getelementptr {memory_element(kind.dtype)}, ptr {base}, i64 {start}")


def _layout(emit: StmtEmitter) -> Layout:
    return layout_of(emit.module.data_layout)


def _struct_field(emit: StmtEmitter, op: e.Call) -> tuple[FieldOffset, str]:
    """The field that a struct access names, and its address."""
    number, fields = op.args[2], _layout(emit).fields
    field = None
    if isinstance(number, e.IntImm) and number.value in fields:
        field = fields[StructField(number.value)]
    if field is None:
        raise CheckError(
            message(
                f"access of struct field {number}",
                found="no such field",
                legal=", ".join(f"{k.name}={k.value}" for k in fields),
            )
        )
    base = emit.visit_expr(op.args[0])
    index = op.args[1]
    if isinstance(index, e.IntImm):
        offset = str(index.value * field.struct_bytes + field.offset)
    else:
        scaled = emit.out.temp(f"mul nsw i64 {emit.as_int64(index)}, {field.struct_bytes}")
        offset = emit.out.temp(f"add nsw i64 {scaled}, {field.offset}")
    address = base if offset == "0" else emit.out.temp(
        f"getelementptr inbounds i8, ptr {base}, i64 {offset}"
    )  # fmt: skip
    return field, address


@_rule("tvm_struct_get")
def _struct_get(emit: StmtEmitter, op: e.Call) -> str:
    if isinstance(op.args[2], e.IntImm) and op.args[2].value == StructField.TENSOR_ADDR:
        base, index = emit.visit_expr(op.args[0]), emit.as_int64(op.args[1])
        if index == "0":
            return base
        size = _layout(emit).tensor_bytes
        return emit.out.temp(f"getelementptr inbounds [{size} x i8], ptr {base}, i64 {index}")
    field, address = _struct_field(emit, op)
    stored = field.dtype or _union_type(op.dtype)
    align = min(element_bytes(stored), _layout(emit).max_align)
    raw = emit.out.temp(f"load {memory_element(stored)}, ptr {address}, align {align}")
    return emit.cast(stored, op.dtype, raw)


def _union_type(dtype: DataType) -> DataType:
    """The form in which the 8-byte union holds a value of `dtype`."""
    if dtype.is_handle:
        return dtype
    return FLOAT64 if dtype.is_floating else INT64


@_rule("tvm_struct_set")
def _struct_set(emit: StmtEmitter, op: e.Call) -> str:
    field, address = _struct_field(emit, op)
    value = op.args[3]
    stored = field.dtype or _union_type(value.dtype)
    held = emit.cast(value.dtype, stored, emit.visit_expr(value))
    max_align = _layout(emit).max_align
    if field.dtype is None and stored.is_handle and max_align < 8:
        # behind a short pointer are zeros
        emit.out.line(f"store i64 0, ptr {address}, align {max_align}")
    align = min(element_bytes(stored), max_align)
    emit.out.line(f"store {memory_element(stored)} {held}, ptr {address}, align {align}")
    return "0"


@_rule("tvm_stack_alloca")
def _stack_alloca(emit: StmtEmitter, op: e.Call) -> str:
    item, count = op.args
    size = _layout(emit).item_bytes(item.value)
    if size is None:
        raise CheckError(
            message(
                f"tvm_stack_alloca of {item.value!r}",
                found="no such item",
                legal=", ".join(STACK_ITEMS),
            )
        )
    if isinstance(count, e.IntImm):
        return emit.out.alloca("i8", max(size * count.value, 1), 16, "stack")
    total = emit.out.temp(f"mul nsw i64 {emit.as_int64(count)}, {size}")
    return emit.out.temp(f"alloca i8, i64 {total}, align 16")


# --- calls ---


@_rule("parallel_launch")
def _parallel_launch(emit: StmtEmitter, op: e.Call) -> str:
    name, closure, count = op.args
    task = quoted(emit.module.signatures[name.value].name)
    callee = emit.module.declare("TVMBackendParallelLaunch", "i32", "ptr, ptr, i32")
    given = f"ptr {task}, ptr {emit.visit_expr(closure)}, i32 {emit.visit_expr(count)}"
    emit.check(emit.out.temp(f"call i32 {callee}({given})"))
    return "0"


@_rule("call_extern", "call_pure_extern")
def _call_extern(emit: StmtEmitter, op: e.Call) -> str:
    name = op.args[0].value
    args = op.args[1:]
    if name in emit.module.signatures:
        return emit.call_function(name, args)
    given = []
    for arg in args:
        dtype = DataType("uint8") if arg.dtype.is_bool else arg.dtype
        given.append(f"{value_type(dtype)} {emit.cast(arg.dtype, dtype, emit.visit_expr(arg))}")
    result = "i8" if op.dtype.is_bool else value_type(op.dtype)
    params = ", ".join(g.rpartition(" ")[0] for g in given)
    callee = emit.module.declare(name, result, params)
    call = f"call {result} ({params}) {callee}({', '.join(given)})"
    if op.dtype.is_void:
        emit.out.line(call)
        return ""
    raw = emit.out.temp(call)
    return emit.from_memory(op.dtype, raw)


@_rule("call_llvm_intrin", "call_llvm_pure_intrin")
def _call_llvm(emit: StmtEmitter, op: e.Call) -> str:
    name, args = op.args[0], op.args[1:]
    if not isinstance(name, e.StringImm):
        raise CheckError(
            message(
                "call of an LLVM intrinsic by number",
                found=f"{name}",
                legal='its name, as in T.call_llvm_pure_intrin("float32", "llvm.sqrt", x)',
            )
        )
    full, args = _typed_intrinsic(name.value, args)
    if full in ONE_TYPE_INTRINSICS:
        full += "." + mangled(args[0].dtype if args else op.dtype)
    held = [(value_type(a.dtype), emit.visit_expr(a)) for a in args]
    if full.startswith("llvm.prefetch") and not full.endswith(".p0"):
        full += ".p0"
    result = value_type(op.dtype)
    if full.rpartition(".")[0] not in ONE_TYPE_INTRINSICS:
        emit.module.foreign.add(full)
    callee = emit.module.declare(full, result, ", ".join(kind for kind, _ in held))
    if full == "llvm.x86.ldtilecfg" and "linux" in emit.module.machine_triple:
        _ask_for_tiles(emit)
    call = f"call {result} {callee}({', '.join(f'{kind} {value}' for kind, value in held)})"
    if op.dtype.is_void:
        emit.out.line(call)
        return ""
    return emit.out.temp(call)


def _ask_for_tiles(emit: StmtEmitter) -> None:
    """Linux gives a process tile registers when it asks: arch_prctl(ARCH_REQ_XCOMP_PERM, 18).

    The kernel's Documentation/arch/x86/xstate.rst. It is asked once, and an answer is remembered.
    """
    code = "\\0A\\09".join([
        "cmpq $$0, ($0)", "jne 1f", "movl $$158, %eax", "movl $$0x1023, %edi", "movl $$18, %esi",
        "syscall", "movq $$1, ($0)", "1:",
    ])  # fmt: skip
    changed = ("rax", "rcx", "rdx", "rsi", "rdi", "r11", "memory", "dirflag", "fpsr", "flags")
    held = ",".join(["r", *(f"~{{{name}}}" for name in changed)])
    slot = emit.module.slot(".tiles")
    emit.out.line(f'call void asm sideeffect "{code}", "{held}"(ptr {slot})')


def _typed_intrinsic(
    name: str, args: tuple[PrimExpr, ...]
) -> tuple[str, tuple[PrimExpr, ...]]:
    """The name without the type of one lane, as operands may be wider, and the operands.

    Scripts of older versions give the number of the operands that decide the type before them.
    """
    plain, _, _ = name.rpartition(".")
    plain = plain if plain in ONE_TYPE_INTRINSICS else name
    first = args[0] if len(args) > 1 else None
    if (
        plain in ONE_TYPE_INTRINSICS
        and isinstance(first, e.IntImm)
        and first.dtype == "uint32"
        and first.value < len(args)
        and args[1].dtype != "uint32"
    ):
        args = args[1:]
    return plain, args


@_rule("tvm_call_packed_lowered")
def _call_packed(emit: StmtEmitter, op: e.Call) -> str:
    """Look the function up once, then call it through the registry's object."""
    name, out = op.args[0].value, emit.out
    slot = emit.module.slot(f".func.{name}")
    known = out.temp(f"load atomic ptr, ptr {slot} monotonic, align 8")
    missing = out.temp(f"icmp eq ptr {known}, null")
    look, ready, before = out.label("lookup"), out.label("ready"), out.block
    out.line(f"br i1 {missing}, label %{look}, label %{ready}")
    out.begin(look)
    found = _look_up(emit, name, slot)
    last = out.block
    out.line(f"br label %{ready}")
    out.begin(ready)
    func = out.temp(f"phi ptr [ {known}, %{before} ], [ {found}, %{last} ]")
    callee = emit.module.declare("TVMFFIFunctionCall", "i32", "ptr, ptr, i32, ptr")
    return _call_on_stack(emit, op, callee, func)


def _look_up(emit: StmtEmitter, name: str, slot: str) -> str:
    """Find the function among the library's imports, else in the global registry."""
    out = emit.out
    room = out.alloca("ptr", 1, 8, "found")
    callee = emit.module.declare("tvm_rt_find_function", "i32", "ptr, ptr, ptr")
    context = out.temp(f"load ptr, ptr {emit.module.context()}, align 8")
    text = emit.module.string(name)
    emit.check(out.temp(f"call i32 {callee}(ptr {context}, ptr {text}, ptr {room})"))
    found = out.temp(f"load ptr, ptr {room}, align 8")
    out.line(f"store atomic ptr {found}, ptr {slot} monotonic, align 8")
    return found


@_rule("tvm_call_cpacked_lowered")
def _call_cpacked(emit: StmtEmitter, op: e.Call) -> str:
    """Call a function with the packed convention by its symbol."""
    name, known = op.args[0].value, emit.module.signatures
    local = known.get(name) or known.get(FFI_PREFIX + name)
    if local is None:
        emit.module.declare(name, "i32", "ptr, ptr, i32, ptr")
    return _call_on_stack(emit, op, f'@"{local.name if local else name}"', "null")


def _call_on_stack(emit: StmtEmitter, op: e.Call, callee: str, func: str) -> str:
    """Call with slots of the stack; that of the result, behind them, is None before."""
    begin, end = op.args[2].value, op.args[3].value
    base, out = emit.visit_expr(op.args[1]), emit.out
    args = out.temp(f"getelementptr i8, ptr {base}, i64 {16 * begin}")
    result = out.temp(f"getelementptr i8, ptr {base}, i64 {16 * end}")
    out.line(f"store i64 0, ptr {result}, align 8")
    value = out.temp(f"getelementptr i8, ptr {result}, i64 8")
    out.line(f"store i64 0, ptr {value}, align 8")
    given = f"ptr {func}, ptr {args}, i32 {end - begin}, ptr {result}"
    emit.check(out.temp(f"call i32 {callee}({given})"))
    return ""


def _runtime(name: str, result: str, params: Sequence[str]) -> Rule:
    """A C function of the runtime with fixed parameter types."""

    def rule(emit: StmtEmitter, op: e.Call) -> str:
        callee = emit.module.declare(name, result, ", ".join(params))
        given = []
        for kind, arg in zip(params, op.args):
            value = emit.visit_expr(arg)
            if kind.startswith("i"):
                wanted = DataType(f"int{kind[1:]}")
                value = emit.cast(arg.dtype, wanted, value)
            given.append(f"{kind} {value}")
        return emit.out.temp(f"call {result} {callee}({', '.join(given)})")

    return rule


INTRINSICS["tir.TVMBackendAllocWorkspace"] = _runtime(
    "TVMBackendAllocWorkspace", "noalias ptr", ("i32", "i32", "i64", "i32", "i32")
)
INTRINSICS["tir.TVMBackendFreeWorkspace"] = _runtime(
    "TVMBackendFreeWorkspace", "i32", ("i32", "i32", "ptr")
)


@_rule("prefetch")
def _prefetch(emit: StmtEmitter, op: e.Call) -> str:
    address = emit.visit_expr(op.args[0])
    numbers = ", ".join(f"i32 {emit.visit_expr(a)}" for a in op.args[1:4])
    callee = emit.module.declare("llvm.prefetch.p0", "void", "ptr, i32, i32, i32")
    emit.out.line(f"call void {callee}(ptr {address}, {numbers})")
    return "0"


@_rule("atomic_add")
def _atomic_add(emit: StmtEmitter, op: e.Call) -> str:
    address, value = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    how = "fadd" if op.args[1].dtype.is_floating else "add"
    kind = value_type(op.args[1].dtype)
    return emit.out.temp(f"atomicrmw {how} ptr {address}, {kind} {value} monotonic")


# --- vectors ---


@_rule("vscale")
def _vscale(emit: StmtEmitter, op: e.Call) -> str:
    callee = emit.module.declare("llvm.vscale.i32", "i32", "")
    return emit.cast(DataType("int32"), op.dtype, emit.out.temp(f"call i32 {callee}()"))


@_rule("get_active_lane_mask")
def _lane_mask(emit: StmtEmitter, op: e.Call) -> str:
    if not op.dtype.is_scalable:
        return _fixed_lane_mask(emit, op)
    kind, limit = value_type(op.dtype), value_type(op.args[0].dtype)
    name = f"llvm.get.active.lane.mask.{mangled(op.dtype)}.{limit}"
    callee = emit.module.declare(name, kind, f"{limit}, {limit}")
    a, b = emit.visit_expr(op.args[0]), emit.visit_expr(_from_zero(op.args[1]))
    return emit.out.temp(f"call {kind} {callee}({limit} {a}, {limit} {b})")


def _from_zero(limit: PrimExpr) -> PrimExpr:
    """LLVM takes the limit of a mask as unsigned; before a negative one lies no lane."""
    return ops.max_of(limit, 0) if limit.dtype.is_int else limit


def _fixed_lane_mask(emit: StmtEmitter, op: e.Call) -> str:
    """base + lane < limit without overflow; LLVM's own form of it fails where nothing optimises."""
    wide = op.args[0].dtype.with_lanes(op.dtype.lanes)
    kind, one = value_type(wide), value_type(op.args[0].dtype)
    args = op.args[0], _from_zero(op.args[1])
    base, limit = (emit.visit_expr(e.Broadcast(arg, op.dtype.lanes)) for arg in args)
    lanes = ", ".join(f"{one} {lane}" for lane in range(op.dtype.lanes))
    callee = emit.module.declare(f"llvm.uadd.sat.{mangled(wide)}", kind, f"{kind}, {kind}")
    lane_numbers = emit.out.temp(f"call {kind} {callee}({kind} {base}, {kind} <{lanes}>)")
    return emit.out.temp(f"icmp ult {kind} {lane_numbers}, {limit}")


def _half(high: bool) -> Rule:
    def rule(emit: StmtEmitter, op: e.Call) -> str:
        source = op.args[0].dtype
        value, start = emit.visit_expr(op.args[0]), source.lanes // 2 if high else 0
        kind = value_type(source)
        mask = ", ".join(f"i32 {start + i}" for i in range(op.dtype.lanes))
        picked = f"shufflevector {kind} {value}, {kind} poison, <{op.dtype.lanes} x i32> <{mask}>"
        if op.dtype.is_scalar:
            picked = f"extractelement {kind} {value}, i64 {start}"
        return emit.out.temp(picked)

    return rule


INTRINSICS["tir.vectorlow"] = _half(high=False)
INTRINSICS["tir.vectorhigh"] = _half(high=True)


@_rule("vectoror")
def _or_lanes(emit: StmtEmitter, op: e.Call) -> str:
    source = op.args[0].dtype
    value, kind = emit.visit_expr(op.args[0]), value_type(source)
    result = value_type(op.dtype)
    callee = emit.module.declare(f"llvm.vector.reduce.or.v{source.lanes}{result}", result, kind)
    return emit.out.temp(f"call {result} {callee}({kind} {value})")


@_rule("vectorcombine")
def _combine(emit: StmtEmitter, op: e.Call) -> str:
    lanes = op.args[0].dtype.lanes
    a, b = emit.visit_expr(op.args[0]), emit.visit_expr(op.args[1])
    kind = vector_of(element_type(op.dtype), lanes)
    mask = ", ".join(f"i32 {i}" for i in range(op.dtype.lanes))
    return emit.out.temp(
        f"shufflevector {kind} {a}, {kind} {b}, <{op.dtype.lanes} x i32> <{mask}>"
    )


