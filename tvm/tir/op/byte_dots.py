"""Products of four bytes summed in 32 bits, and what they are on a target.

    dot_bytes(sums, left, right)  ->  sums + the sum over i in 0..3 of left.u8[i] * right.s8[i]

Operands are words of int32 whose lowest byte is the first; `left` has bytes without sign, `right`
has them with one. The arithmetic is that of 32 bits, which wraps around.

    VPDPBUSD, USDOT    do it
    SDOT               has signs on both sides: left - 128, and 128 for each of `right`
    VPMADDWD           two products of 16 bits: even bytes and odd ones, widened
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir import expr as e

from . import arith
from .builtin import call_llvm_pure_intrin, reinterpret
from .declare import PURE, intrinsic

_dot_bytes = intrinsic("dot_bytes", PURE, 3, vectorizable=True)

_X86: Final = "llvm.x86."
_NEON: Final = "llvm.aarch64.neon."
Dot = Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr]


def dot_bytes(sums: Any, left: Any, right: Any) -> PrimExpr:
    """sums + left.u8 . right.s8, of four bytes in a word of int32 each."""
    return e.Call("int32", _dot_bytes, (sums, left, right))


def _lower(call: e.Call) -> PrimExpr:
    sums, left, right = (
        arith.broadcast_to(arg, call.dtype) if arg.dtype.is_scalar and call.dtype.is_vector else arg
        for arg in call.args
    )
    target = Target.current(allow_none=True)
    found = _instruction(target, call.dtype)
    if found is None:
        return _in_arithmetic(sums, left, right)
    width, dot = found
    parts = [
        dot(*(_lanes_of(value, first, width) for value in (sums, left, right)))
        for first in range(0, call.dtype.lanes, width)
    ]
    return parts[0] if len(parts) == 1 else e.Shuffle(parts, list(range(call.dtype.lanes)))


def _lanes_of(value: PrimExpr, first: int, width: int) -> PrimExpr:
    if value.dtype.lanes == width:
        return value
    if isinstance(value, e.Broadcast):
        return e.Broadcast(value.value, width)
    return e.Shuffle([value], list(range(first, first + width)))


def _in_arithmetic(sums: PrimExpr, left: PrimExpr, right: PrimExpr) -> PrimExpr:
    for i in range(4):
        low = arith.bitwise_and(arith.shift_right(left, 8 * i), 255)
        signed = arith.shift_right(arith.shift_left(right, 24 - 8 * i), 24)
        sums = arith.add(sums, arith.multiply(low, signed))
    return sums


def _instruction(target: Target | None, dtype: DataType) -> tuple[int, Dot] | None:
    """The widest vectors whose number of lanes divides that of a type, and how to multiply them."""
    known = target is not None and target.kind.traits.machine_code and "gpu" not in target.keys
    if not known or dtype.is_scalable:
        return None
    assert target is not None, "it is known"
    found = {"x86_64": _of_x86, "aarch64": _of_aarch64}.get(target.cpu.arch)
    dots = found(target.cpu) if found else {}
    return next((w_dot for w_dot in dots.items() if dtype.lanes % w_dot[0] == 0), None)


def _of_x86(cpu: CpuModel) -> dict[int, Dot]:
    has, dots = cpu.features, dict[int, Dot]()
    if cpu.vector_bits == 512 and "avx512bw" in has:
        dots[16] = _fused("512") if "avx512vnni" in has else _in_pairs("avx512.pmaddw.d.512", 16)
    if cpu.vector_bits >= 256 and "avx2" in has:
        fused = "avxvnni" in has or {"avx512vnni", "avx512vl"} <= has
        dots[8] = _fused("256") if fused else _in_pairs("avx2.pmadd.wd", 8)
    dots[4] = _in_pairs("sse2.pmadd.wd", 4)
    return dots


def _fused(bits: str) -> Dot:
    name = f"{_X86}avx512.vpdpbusd.{bits}"
    return lambda sums, left, right: call_llvm_pure_intrin(sums.dtype, name, sums, left, right)


def _in_pairs(name: str, width: int) -> Dot:
    halves = f"int16x{2 * width}"

    def product(sums: PrimExpr, left: PrimExpr, right: PrimExpr) -> PrimExpr:
        signed = reinterpret(halves, right)
        even = arith.shift_right(arith.shift_left(signed, 8), 8)
        odd = arith.shift_right(signed, 8)
        pairs = (
            (arith.bitwise_and(left, 0x00FF00FF), even),
            (arith.bitwise_and(arith.shift_right(left, 8), 0x00FF00FF), odd),
        )
        for one, other in pairs:
            given = reinterpret(halves, one), other
            sums = arith.add(sums, call_llvm_pure_intrin(sums.dtype, _X86 + name, *given))
        return sums

    return product


def _of_aarch64(cpu: CpuModel) -> dict[int, Dot]:
    def called(name: str, sums: PrimExpr, left: PrimExpr, right: PrimExpr) -> PrimExpr:
        given = reinterpret("int8x16", left), reinterpret("int8x16", right)
        return call_llvm_pure_intrin("int32x4", f"{_NEON}{name}.v4i32.v16i8", sums, *given)

    def turned(sums: PrimExpr, left: PrimExpr, right: PrimExpr) -> PrimExpr:
        sign = e.Broadcast(arith.const(-0x7F7F7F80, "int32"), 4)  # four bytes of -128
        less = called("sdot", e.Broadcast(arith.const(0, "int32"), 4), sign, right)
        return arith.subtract(called("sdot", sums, arith.bitwise_xor(left, sign), right), less)

    if "i8mm" in cpu.features:
        return {4: lambda *given: called("usdot", *given)}
    return {4: turned} if "dotprod" in cpu.features else {}


_dot_bytes.set_attr("default.FLowerIntrinsic", _lower)
