"""WGSL with integers of 64 bits, which the language lacks: pairs of words, the low one first.

A sum, a product or a comparison of them is a call of a function that stands in the file where it is
needed. Two's complement makes most of them the same for signed and unsigned numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from tvm.backend.c_family.code import Code
from tvm.backend.device.expr import FLOAT32, INT32
from tvm.backend.device.kernels import DeviceText
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.op.forms import power_of_two

from .codegen import UINT32, WebGPUEmitter, emit_with

PAIR: Final = "vec2<u32>"
_MASK: Final = (1 << 32) - 1
_TWO: Final = "(a : vec2<u32>, b : vec2<u32>) -> vec2<u32>"
_LESS: Final = "(a : vec2<u32>, b : vec2<u32>) -> bool"
_ONE: Final = "(a : vec2<u32>) -> vec2<u32>"
_SHIFT: Final = "(a : vec2<u32>, n : u32) -> vec2<u32>"
# name -> the functions that it calls, and its text behind `fn name`
_FUNCTIONS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "pair_add": ((), f"""{_TWO} {{
  let low : u32 = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}}"""),
    "pair_sub": ((), f"""{_TWO} {{
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}}"""),
    "pair_mul": ((), f"""{_TWO} {{
  let a0 : u32 = a.x & 65535u;
  let a1 : u32 = a.x >> 16u;
  let b0 : u32 = b.x & 65535u;
  let b1 : u32 = b.x >> 16u;
  let mid : u32 = ((a0 * b0) >> 16u) + ((a0 * b1) & 65535u) + ((a1 * b0) & 65535u);
  let high : u32 = a1 * b1 + ((a0 * b1) >> 16u) + ((a1 * b0) >> 16u) + (mid >> 16u);
  return vec2<u32>(a.x * b.x, high + a.x * b.y + a.y * b.x);
}}"""),
    "pair_below": ((), f"""{_LESS} {{
  return (a.y < b.y) || ((a.y == b.y) && (a.x < b.x));
}}"""),
    "pair_less": ((), f"""{_LESS} {{
  let x : i32 = bitcast<i32>(a.y);
  let y : i32 = bitcast<i32>(b.y);
  return (x < y) || ((x == y) && (a.x < b.x));
}}"""),
    "pair_size": (("pair_sub",), f"""{_ONE} {{
  return select(a, pair_sub(vec2<u32>(0u, 0u), a), bitcast<i32>(a.y) < 0i);
}}"""),
    "pair_with_sign": (("pair_sub",), """(a : vec2<u32>, negative : bool) -> vec2<u32> {
  return select(a, pair_sub(vec2<u32>(0u, 0u), a), negative);
}"""),
    # the quotient in the first pair, the remainder in the second; nothing of a division by zero
    "pair_divided": (("pair_sub", "pair_below"), """(a : vec2<u32>, b : vec2<u32>) -> vec4<u32> {
  var q : vec2<u32> = vec2<u32>(0u, 0u);
  var r : vec2<u32> = vec2<u32>(0u, 0u);
  if (all(b == vec2<u32>(0u, 0u))) {
    return vec4<u32>(0u, 0u, 0u, 0u);
  }
  for (var i : i32 = 0i; i < 64i; i = i + 1i) {
    let bit : u32 = select((a.x >> u32(63i - i)) & 1u, (a.y >> u32(31i - i)) & 1u, i < 32i);
    r = vec2<u32>((r.x << 1u) | bit, (r.y << 1u) | (r.x >> 31u));
    q = vec2<u32>(q.x << 1u, (q.y << 1u) | (q.x >> 31u));
    if (!pair_below(r, b)) {
      r = pair_sub(r, b);
      q = vec2<u32>(q.x | 1u, q.y);
    }
  }
  return vec4<u32>(q.x, q.y, r.x, r.y);
}"""),
    "pair_udiv": (("pair_divided",), f"""{_TWO} {{
  let made : vec4<u32> = pair_divided(a, b);
  return vec2<u32>(made.x, made.y);
}}"""),
    "pair_umod": (("pair_divided",), f"""{_TWO} {{
  let made : vec4<u32> = pair_divided(a, b);
  return vec2<u32>(made.z, made.w);
}}"""),
    "pair_div": (("pair_udiv", "pair_size", "pair_with_sign"), f"""{_TWO} {{
  let differ : bool = ((a.y ^ b.y) >> 31u) != 0u;
  return pair_with_sign(pair_udiv(pair_size(a), pair_size(b)), differ);
}}"""),
    "pair_mod": (("pair_umod", "pair_size", "pair_with_sign"), f"""{_TWO} {{
  return pair_with_sign(pair_umod(pair_size(a), pair_size(b)), (a.y >> 31u) != 0u);
}}"""),
    "pair_floordiv": (("pair_div", "pair_mod", "pair_sub"), f"""{_TWO} {{
  let remainder : vec2<u32> = pair_mod(a, b);
  let off : bool = any(remainder != vec2<u32>(0u, 0u)) && (((remainder.y ^ b.y) >> 31u) != 0u);
  return pair_sub(pair_div(a, b), vec2<u32>(select(0u, 1u, off), 0u));
}}"""),
    "pair_floormod": (("pair_mod", "pair_add"), f"""{_TWO} {{
  let remainder : vec2<u32> = pair_mod(a, b);
  let off : bool = any(remainder != vec2<u32>(0u, 0u)) && (((remainder.y ^ b.y) >> 31u) != 0u);
  return select(remainder, pair_add(remainder, b), off);
}}"""),
    "pair_left": ((), f"""{_SHIFT} {{
  if (n == 0u) {{
    return a;
  }}
  if (n >= 32u) {{
    return vec2<u32>(0u, a.x << (n - 32u));
  }}
  return vec2<u32>(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}}"""),
    "pair_right": ((), f"""{_SHIFT} {{
  if (n == 0u) {{
    return a;
  }}
  if (n >= 32u) {{
    return vec2<u32>(a.y >> (n - 32u), 0u);
  }}
  return vec2<u32>((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}}"""),
    "pair_right_signed": (("pair_right",), f"""{_SHIFT} {{
  let sign : i32 = (bitcast<i32>(a.y) >> 31u);
  let flipped : vec2<u32> = pair_right(a ^ vec2<u32>(u32(sign), u32(sign)), n);
  return flipped ^ vec2<u32>(u32(sign), u32(sign));
}}"""),
    "pair_of_float": (("pair_with_sign",), """(x : f32) -> vec2<u32> {
  let whole : f32 = trunc(abs(x));
  let high : u32 = u32(whole / 4294967296.0f);
  let low : u32 = u32(whole - f32(high) * 4294967296.0f);
  return pair_with_sign(vec2<u32>(low, high), x < 0.0f);
}"""),
    "float_of_unsigned_pair": ((), """(a : vec2<u32>) -> f32 {
  return f32(a.y) * 4294967296.0f + f32(a.x);
}"""),
    "float_of_pair": (("pair_size", "float_of_unsigned_pair"), """(a : vec2<u32>) -> f32 {
  let size : f32 = float_of_unsigned_pair(pair_size(a));
  return select(size, -size, bitcast<i32>(a.y) < 0i);
}"""),
}  # fmt: skip
_OPERATIONS: Final[Mapping[type[e.BinaryOpExpr], str]] = {
    e.Add: "add", e.Sub: "sub", e.Mul: "mul", e.Div: "div", e.Mod: "mod",
    e.FloorDiv: "floordiv", e.FloorMod: "floormod",
}  # fmt: skip
_UNSIGNED: Final = {"div": "udiv", "mod": "umod", "floordiv": "udiv", "floormod": "umod"}


def _is_pair(dtype: DataType) -> bool:
    return dtype.is_integer and dtype.bits == 64


class PairEmitter(WebGPUEmitter):
    """One function of WGSL, with pairs."""

    TYPES: ClassVar[Mapping[str, str]] = {**WebGPUEmitter.TYPES, "int64": PAIR, "uint64": PAIR}

    def call(self, name: str, *args: str) -> str:
        """A call of a function of pairs, which is in the file from here on."""
        for needed in _FUNCTIONS[name][0]:
            self.call(needed)
        self.out.file.need(name, f"fn {name}{_FUNCTIONS[name][1]}")
        return f"{name}({', '.join(args)})"

    def int_literal(self, dtype: DataType, value: int) -> str:
        if not _is_pair(dtype):
            return super().int_literal(dtype, value)
        return f"{PAIR}({value & _MASK}u, {value >> 32 & _MASK}u)"

    # --- arithmetic ---

    def binary(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> str:
        if not _is_pair(dtype):
            return super().binary(op, dtype, a, b)
        if isinstance(op, (e.Min, e.Max)):
            first = self._less(dtype, a, b)
            return f"select({b}, {a}, {first})" if isinstance(op, e.Min) else (
                f"select({a}, {b}, {first})")  # fmt: skip
        if isinstance(op, (e.FloorDiv, e.FloorMod)) and power_of_two(op.b) is not None:
            return self._floor(op, dtype, a, b)  # a shift: division goes bit by bit
        name = _OPERATIONS[type(op)]
        if dtype.is_uint:
            name = _UNSIGNED.get(name, name)
        return self.call(f"pair_{name}", a, b)

    def _less(self, dtype: DataType, a: str, b: str) -> str:
        return self.call("pair_less" if dtype.is_int else "pair_below", a, b)

    def compare(self, dtype: DataType, sign: str, a: Code, b: Code) -> str:
        if not _is_pair(dtype):
            return super().compare(dtype, sign, a, b)
        if sign in ("==", "!="):
            return f"{'all' if sign == '==' else 'any'}({a} {sign} {b})"
        left, right = (a, b) if sign in ("<", ">=") else (b, a)
        less = self._less(dtype, left, right)
        return less if sign in ("<", ">") else f"(!{less})"

    def shift(self, dtype: DataType, a: str, sign: str, b: str) -> str:
        if not _is_pair(dtype):
            return super().shift(dtype, a, sign, b)
        name = "left" if sign == "<<" else "right_signed" if dtype.is_int else "right"
        return self.call(f"pair_{name}", a, f"{b}.x")

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        if _is_pair(dtype) and name == "fabs":
            return self.call("pair_size", args[0])
        return super().math(name, dtype, args)

    def popcount(self, dtype: DataType, text: str) -> str:
        if not _is_pair(dtype):
            return super().popcount(dtype, text)
        return f"i32(countOneBits({text}.x) + countOneBits({text}.y))"

    def leading_zeros(self, dtype: DataType, text: str) -> str:
        if not _is_pair(dtype):
            return super().leading_zeros(dtype, text)
        high, low = f"countLeadingZeros({text}.y)", f"countLeadingZeros({text}.x)"
        return f"i32(select({high}, 32u + {low}, {text}.y == 0u))"

    def same_bits(self, value: PrimExpr, target: DataType) -> str:
        if _is_pair(target) and _is_pair(value.dtype):
            return self.value(value)
        return super().same_bits(value, target)

    def convert(self, source: DataType, target: DataType, text: str) -> str:
        if _is_pair(source):
            return self._from_pair(source, target, text)
        if not _is_pair(target):
            return super().convert(source, target, text)
        if source.is_bool:
            return f"{PAIR}(select(0u, 1u, {text}), 0u)"
        if source.is_floating:
            return self.call("pair_of_float", super().convert(source, FLOAT32, text))
        if source.is_uint:
            return f"{PAIR}({text}, 0u)"
        held = self.temp(INT32, text)
        return f"{PAIR}(bitcast<u32>({held}), bitcast<u32>({held} >> 31u))"

    def _from_pair(self, source: DataType, target: DataType, text: str) -> str:
        if _is_pair(target):
            return text
        if target.is_bool:
            return f"any({text} != {PAIR}(0u, 0u))"
        if target.is_floating:
            name = "float_of_pair" if source.is_int else "float_of_unsigned_pair"
            return super().convert(FLOAT32, target, self.call(name, text))
        return super().convert(UINT32, target, f"{text}.x")

    # --- loops, threads, memory ---

    def by_power(self, dtype: DataType, a: Code, power: int, remainder: bool) -> str:
        if not _is_pair(dtype):
            return super().by_power(dtype, a, power, remainder)
        if remainder:
            return f"({a} & {self.int_literal(dtype, (1 << power) - 1)})"
        return self.call("pair_right_signed" if dtype.is_int else "pair_right", a, f"{power}u")

    def loop_head(self, dtype: DataType, name: str, start: str, stop: str) -> str:
        if not _is_pair(dtype):
            return super().loop_head(dtype, name, start, stop)
        step = self.call("pair_add", name, f"{PAIR}(1u, 0u)")
        more = self._less(dtype, name, stop)
        return f"for (var {name} : {PAIR} = {start}; {more}; {name} = {step}) {{"

    def convert_thread(self, tag: str, dtype: DataType) -> str:
        return f"{PAIR}({tag}, 0u)" if _is_pair(dtype) else super().convert_thread(tag, dtype)

    def index_of(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: int | None) -> PrimExpr:
        """Indices are 32-bit numbers: no binding has more elements."""
        index = super().index_of(buffer, indices, lane)
        return e.Cast("int32", index) if _is_pair(index.dtype) and index.dtype.is_scalar else index


def emit_file(mod: IRModule, target: Target) -> DeviceText:
    """The WGSL file of the device functions of a module."""
    return emit_with(PairEmitter, mod, target)


def emit_text(mod: IRModule, target: Target | str) -> str:
    """The WGSL text of lowered device functions."""
    return emit_file(mod, Target(target)).text
