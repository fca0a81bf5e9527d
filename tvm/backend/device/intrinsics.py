"""TIR operators that languages in the manner of C say alike: one rule an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tvm.backend.c_family import intrinsics as c_family
from tvm.backend.c_family.code import Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.intrinsics import rule_in
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir.float_math import EXPANSIONS, Steps
from tvm.tir.float_math.neighbour import narrow_neighbour

from .expr import FLOAT32, INT32

if TYPE_CHECKING:
    from .kernels import DeviceEmitter

COMMON: Final[dict[str, Rule]] = dict(c_family.COMMON)
_LARGEST: Final = {32: 3.4028234663852886e38, 64: 1.7976931348623157e308}
MATH: Final = (
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "pow", "atan2", "hypot",
    "fmod", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round", "nearbyint", "fabs", "copysign",
    "fma",
)  # fmt: skip


def args_of(emit: DeviceEmitter, op: e.Call) -> list[str]:
    """The operands as text: a lane of each where one is asked for."""
    return [emit.lane_of(arg, emit.lane) for arg in op.args]


def _math(name: str) -> Rule:
    return lambda emit, op: emit.math(name, op.dtype.element_of(), args_of(emit, op))


COMMON.update({f"tir.{_name}": _math(_name) for _name in MATH})


@rule_in(COMMON, "sigmoid")
def _sigmoid(emit: DeviceEmitter, op: e.Call) -> str:
    dtype = op.dtype.element_of()
    one = emit.float_literal(dtype, 1.0)
    power = emit.math("exp", dtype, [f"(-{args_of(emit, op)[0]})"])
    return f"({one} / ({one} + {power}))"


@rule_in(COMMON, "ldexp")
def _ldexp(emit: DeviceEmitter, op: e.Call) -> str:
    value, power = args_of(emit, op)
    dtype = op.dtype.element_of()
    exponent = emit.convert(op.args[1].dtype.element_of(), dtype, power)
    return f"({value} * {emit.math('exp2', dtype, [exponent])})"


@rule_in(COMMON, "nextafter")
def _nextafter(emit: DeviceEmitter, op: e.Call) -> str:
    if op.dtype.bits == 16:
        return emit.lane_of(narrow_neighbour(op.args[0], op.args[1]), emit.lane)
    return emit.math("nextafter", op.dtype.element_of(), args_of(emit, op))


@rule_in(COMMON, "isnan")
def _isnan(emit: DeviceEmitter, op: e.Call) -> str:
    value = args_of(emit, op)[0]
    return f"({value} != {value})"


@rule_in(COMMON, "isinf", "isfinite")
def _isinf(emit: DeviceEmitter, op: e.Call) -> str:
    """Compared in float: only infinity is above the largest number, and nothing else is below."""
    source = op.args[0].dtype.element_of()
    wide = source if source.bits == 64 else FLOAT32
    size = emit.math("fabs", wide, [emit.convert(source, wide, args_of(emit, op)[0])])
    most = emit.float_literal(wide, _LARGEST[wide.bits])
    sign = ">" if e.is_call_of(op, "tir.isinf") else "<="
    return f"({size} {sign} {most})"


def _bits(sign: str) -> Rule:
    def rule(emit: DeviceEmitter, op: e.Call) -> str:
        a, b = args_of(emit, op)
        dtype = op.dtype.element_of()
        if dtype.is_bool:
            return f"({a} {({'&': '&&', '|': '||', '^': '!='})[sign]} {b})"
        return emit.fit(dtype, Code(f"({a} {sign} {b})"))

    return rule


COMMON["tir.bitwise_and"] = _bits("&")
COMMON["tir.bitwise_or"] = _bits("|")
COMMON["tir.bitwise_xor"] = _bits("^")


@rule_in(COMMON, "shift_left", "shift_right")
def _shift(emit: DeviceEmitter, op: e.Call) -> str:
    a, b = args_of(emit, op)
    left = e.is_call_of(op, "tir.shift_left")
    return emit.shift(op.dtype.element_of(), a, "<<" if left else ">>", b)


@rule_in(COMMON, "popcount", "ctpop")
def _popcount(emit: DeviceEmitter, op: e.Call) -> str:
    source = op.args[0].dtype.element_of()
    return emit.convert(INT32, op.dtype.element_of(),
                        emit.popcount(source, args_of(emit, op)[0]))  # fmt: skip


@rule_in(COMMON, "clz")
def _clz(emit: DeviceEmitter, op: e.Call) -> str:
    source = op.args[0].dtype.element_of()
    return emit.convert(INT32, op.dtype.element_of(),
                        emit.leading_zeros(source, args_of(emit, op)[0]))  # fmt: skip


@rule_in(COMMON, "reinterpret")
def _reinterpret(emit: DeviceEmitter, op: e.Call) -> str:
    source, target = op.args[0].dtype, op.dtype
    if source is target:
        return emit.value(op.args[0])
    if source.bits * source.lanes != target.bits * target.lanes:
        emit.refuse(
            f"reinterpretation of {source} as {target}",
            f"{source.bits * source.lanes} bits and {target.bits * target.lanes}",
            "types of the same size",
        )
    if emit.lane is not None and source.lanes == target.lanes:
        return emit.same_bits(_element(op.args[0], emit.lane), target.element_of())
    return emit.same_bits(op.args[0], target)


# --- control ---


@rule_in(COMMON, "tvm_thread_invariant")
def _same(emit: DeviceEmitter, op: e.Call) -> str:
    return args_of(emit, op)[0]


@rule_in(COMMON, "assume", "prefetch")
def _nothing(emit: DeviceEmitter, op: e.Call) -> str:
    return "0"


@rule_in(COMMON, "undef")
def _undef(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.lane_of(e.make_const(0, op.dtype.element_of()), None)


@rule_in(COMMON, "ret")
def _ret(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.leave(op.args[0] if op.args else None)


@rule_in(COMMON, "thread_return")
def _thread_return(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.jump("return")


@rule_in(COMMON, "tvm_storage_sync")
def _storage_sync(emit: DeviceEmitter, op: e.Call) -> str:
    scope = op.args[0]
    asked = scope.value if isinstance(scope, e.StringImm) else str(scope)
    emit.out.line(emit.barrier(asked))
    return ""


# --- addresses and calls ---


@rule_in(COMMON, "isnullptr")
def _isnullptr(emit: DeviceEmitter, op: e.Call) -> str:
    return f"({emit.visit_expr(op.args[0])} == 0)"


@rule_in(COMMON, "address_of")
def _address_of(emit: DeviceEmitter, op: e.Call) -> str:
    load = op.args[0]
    assert isinstance(load, e.BufferLoad), "the constructor of address_of makes sure"
    return emit.address(load)


@rule_in(COMMON, "tvm_access_ptr")
def _access_ptr(emit: DeviceEmitter, op: e.Call) -> str:
    kind, data, offset = op.args[:3]
    return emit.access_pointer(kind.dtype.element_of(), data, offset)


@rule_in(COMMON, "call_extern", "call_pure_extern")
def _call_extern(emit: DeviceEmitter, op: e.Call) -> str:
    name = op.args[0]
    assert isinstance(name, e.StringImm), "the constructor makes sure"
    return emit.call_named(name.value, op, op.args[1:])


@rule_in(COMMON, "atomic_add")
def _atomic_add(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.atomic_add(op.args[0], op.args[1])


@rule_in(COMMON, "dp4a")
def _dp4a(emit: DeviceEmitter, op: e.Call) -> str:
    """The sum of four products of bytes, and of a number."""
    return emit.dot_of_bytes(op.args[0], op.args[1], op.args[2] if len(op.args) > 2 else None)


@rule_in(COMMON, "get_active_lane_mask")
def _lane_mask(emit: DeviceEmitter, op: e.Call) -> str:
    first, limit = (emit.lane_of(a, None) for a in op.args[:2])
    return f"(({first} + {emit.lane or 0}) < {limit})"


@rule_in(COMMON, "vectorlow")
def _low(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.lane_of(op.args[0], emit.lane or 0)


@rule_in(COMMON, "vectorhigh")
def _high(emit: DeviceEmitter, op: e.Call) -> str:
    return emit.lane_of(op.args[0], (emit.lane or 0) + op.args[0].dtype.lanes // 2)


@rule_in(COMMON, "vectorcombine")
def _combine(emit: DeviceEmitter, op: e.Call) -> str:
    half, lane = op.args[0].dtype.lanes, emit.lane or 0
    return emit.lane_of(op.args[0], lane) if lane < half else emit.lane_of(op.args[1], lane - half)




def written_out(*names: str) -> dict[str, Rule]:
    """Rules for functions that a language lacks: polynomials and steps of what it has.

    Compilers of such languages may take sums for what they are in mathematics.
    """
    return {f"tir.{name}": _expansion(f"tir.{name}") for name in names}


def _expansion(name: str) -> Rule:
    def rule(emit: DeviceEmitter, op: e.Call) -> str:
        element = op.dtype.element_of()
        wide = element if element.bits >= 32 else FLOAT32
        args = [e.Cast(wide, _element(arg, emit.lane)) if element is not wide
                else _element(arg, emit.lane) for arg in op.args]  # fmt: skip
        found = EXPANSIONS[name](Steps(wide, sums_move=True), *args)
        return emit.lane_of(found if element is wide else e.Cast(element, found), None)

    return rule


def _element(arg: PrimExpr, lane: int | None) -> PrimExpr:
    """One lane of an operand, as an expression."""
    if not arg.dtype.is_vector:
        return arg
    return e.Shuffle([arg], [e.IntImm("int32", lane or 0)])
