"""TIR operators of kernels to LLVM text: mathematics without a library, and what threads do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tvm.backend.llvm.intrinsics import INTRINSICS
from tvm.backend.llvm.types import memory_type, value_type
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.float_math import EXPANSIONS, Steps
from tvm.tir.op import arith as ops

if TYPE_CHECKING:
    from .emitter import KernelEmitter

Rule = Callable[["KernelEmitter", e.Call], str]
RULES: Final[dict[str, Rule]] = {}
FLOAT32: Final = DataType("float32")
FLOAT64: Final = DataType("float64")
# of the CPU's rules, those that kernels take as they are
_AS_ON_CPUS: Final = (
    "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "fabs", "copysign", "fma",
    "isnan", "isinf", "isfinite", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
    "shift_left", "shift_right", "popcount", "ctpop", "clz", "large_uint_imm", "reinterpret",
    "if_then_else", "likely", "ignore_loop_partition", "assume", "ret", "thread_return",
    "break_loop", "continue_loop", "undef", "type_annotation", "start_profile_intrinsic",
    "end_profile_intrinsic", "isnullptr", "address_of", "handle_add_byte_offset", "tvm_access_ptr",
    "call_llvm_intrin", "call_llvm_pure_intrin", "vectorlow", "vectorhigh", "vectorcombine",
    "get_active_lane_mask",
)  # fmt: skip
_SHARED: Final = {f"tir.{name}": INTRINSICS[f"tir.{name}"] for name in _AS_ON_CPUS}


def rule_for(name: str) -> Callable[..., str] | None:
    """The rule of an operator that all machines share."""
    return RULES.get(name) or _SHARED.get(name)


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        for name in names:
            RULES[f"tir.{name}"] = rule
        return rule

    return add


def _written_out(name: str) -> Rule:
    """A function as polynomials; of integers in float64, of narrow floats in float32."""

    def rule(emit: KernelEmitter, op: e.Call) -> str:
        wide = _wide(op.dtype, keep_halves=name == "tir.nextafter")
        found = EXPANSIONS[name](Steps(wide), *[ops.cast(arg, wide) for arg in op.args])
        return emit.visit_data(ops.cast(found, op.dtype))

    return rule


def _wide(dtype: DataType, *, keep_halves: bool = False) -> DataType:
    if not dtype.is_floating:
        return FLOAT64.with_lanes(dtype.lanes)
    if dtype.bits < 32 and not keep_halves:
        return FLOAT32.with_lanes(dtype.lanes)
    return dtype


for _name in EXPANSIONS:
    RULES[_name] = _written_out(_name)


@_rule("ldexp")
def _ldexp(emit: KernelEmitter, op: e.Call) -> str:
    """x * 2**n in two steps, each within what a power of two can be."""
    wide = _wide(op.dtype)
    count = ops.cast(op.args[1], DataType("int32").with_lanes(op.dtype.lanes))
    half = ops.shift_right(count, ops.cast(ops.const(1, "int32"), count.dtype))
    value: PrimExpr = ops.cast(op.args[0], wide)
    for part in (half, ops.subtract(count, half)):
        power = EXPANSIONS["tir.exp2"](Steps(wide), ops.cast(part, wide))
        value = ops.multiply(value, power)
    return emit.visit_data(ops.cast(value, op.dtype))


@_rule("fmod")
def _fmod(emit: KernelEmitter, op: e.Call) -> str:
    a, b = (emit.visit_data(arg) for arg in op.args)
    return emit.out.temp(f"frem {value_type(op.dtype)} {a}, {b}")


@_rule("prefetch")
def _nothing(emit: KernelEmitter, op: e.Call) -> str:
    return "0"


@_rule("call_extern", "call_pure_extern")
def _call(emit: KernelEmitter, op: e.Call) -> str:
    name = op.args[0]
    return emit.call_function(name.value if isinstance(name, e.StringImm) else "", op.args[1:])


@_rule("tvm_storage_sync")
def _barrier(emit: KernelEmitter, op: e.Call) -> str:
    scope = op.args[0]
    emit.barrier(scope.value if isinstance(scope, e.StringImm) else "")
    return "0"


@_rule("atomic_add")
def _atomic_add(emit: KernelEmitter, op: e.Call) -> str:
    address, value = emit.visit_data(op.args[0]), emit.visit_data(op.args[1])
    how = "fadd" if op.args[1].dtype.is_floating else "add"
    return emit.out.temp(f"atomicrmw {how} ptr {address}, {value_type(op.args[1].dtype)} {value} "
                         "monotonic")  # fmt: skip


@_rule("tvm_warp_activemask", "cuda.__activemask")
def _active_mask(emit: KernelEmitter, op: e.Call) -> str:
    return emit.active_mask()


def _shuffle(how: str) -> Rule:
    def rule(emit: KernelEmitter, op: e.Call) -> str:
        mask, value, at, width = op.args[:4]
        dtype = value.dtype
        held = emit.to_memory(dtype, emit.visit_data(value))
        bits = max(dtype.bits, 8) * dtype.lanes
        kind = memory_type(dtype)
        as_int = held if kind == f"i{bits}" else emit.out.temp(f"bitcast {kind} {held} to i{bits}")
        whole = -(-bits // 32) * 32
        if whole != bits:
            as_int = emit.out.temp(f"zext i{bits} {as_int} to i{whole}")
        lane, size = (_word(emit, x) for x in (at, width))
        words = []
        for n in range(whole // 32):
            part = as_int
            if n:
                part = emit.out.temp(f"lshr i{whole} {as_int}, {32 * n}")
            if whole > 32:
                part = emit.out.temp(f"trunc i{whole} {part} to i32")
            words.append(emit.shuffle(how, mask, part, lane, size))
        found = words[0] if whole == 32 else emit.out.temp(f"zext i32 {words[0]} to i{whole}")
        for n, word in enumerate(words[1:], 1):
            high = emit.out.temp(f"zext i32 {word} to i{whole}")
            moved = emit.out.temp(f"shl i{whole} {high}, {32 * n}")
            found = emit.out.temp(f"or i{whole} {found}, {moved}")
        if whole != bits:
            found = emit.out.temp(f"trunc i{whole} {found} to i{bits}")
        if kind != f"i{bits}":
            found = emit.out.temp(f"bitcast i{bits} {found} to {kind}")
        return emit.from_memory(dtype, found)

    return rule


def _word(emit: KernelEmitter, expr: PrimExpr) -> str:
    return emit.cast(expr.dtype, DataType("int32"), emit.visit_data(expr))


for _suffix in ("", "_up", "_down"):
    RULES[f"tir.tvm_warp_shuffle{_suffix}"] = _shuffle(_suffix)
    RULES[f"tir.cuda.__shfl{_suffix}_sync"] = _shuffle(_suffix)


@_rule("dp4a")
def _dot_of_bytes(emit: KernelEmitter, op: e.Call) -> str:
    """Four products of bytes and their sum."""
    words = DataType("int32").with_lanes(op.args[0].dtype.lanes)
    a, b = (ops.cast(arg, words) for arg in op.args[:2])
    lanes = emit.lanes_of(words, emit.visit_data(ops.multiply(a, b)))
    total = emit.visit_data(op.args[2]) if len(op.args) > 2 else "0"
    for lane in lanes:
        total = emit.out.temp(f"add i32 {total}, {lane}")
    return total
