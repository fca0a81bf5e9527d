"""Arithmetic of integers and of the bits of floats."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.topi.loops import let, load, local, parallel, repeat_while, sequence, store

from .registry import convert
from .values import (
    Expr,
    dtype_of,
    matched,
    matched_floats,
    product,
    refuse,
    scalar,
    sizes,
    together,
)


def divisors(a: te.Tensor, b: te.Tensor) -> te.Tensor:
    """The greatest common divisors of two vectors of integers, by Euclid; that of 0 and 0 is 0."""
    kind = a.dtype

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        def element(i: PrimExpr) -> tir.Stmt:
            def reduce(left: tir.Buffer, right: tir.Buffer) -> tir.Stmt:
                turn = let(
                    tir.truncmod(load(left, 0), load(right, 0)),
                    lambda rest: sequence(store(left, load(right, 0), 0), store(right, rest, 0)),
                    "rest",
                )
                return sequence(
                    store(left, load(ins[0], i), 0), store(right, load(ins[1], i), 0),
                    repeat_while(tir.NE(load(right, 0), tir.const(0, kind)), turn),
                    store(outs[0], tir.abs(load(left, 0)), i),
                )  # fmt: skip

            return local(kind, lambda left: local(
                kind, lambda right: reduce(left, right), 1, "right"), 1, "left")  # fmt: skip

        return parallel(a.shape[0], element)

    made: te.Tensor = te.extern(
        [a.shape], [a, b], run, dtype=[kind], out_buffers=[tir.decl_buffer(a.shape, kind, "gcd")],
        name="divisors", tag="divisors",
    )  # fmt: skip
    return made


@convert("gcd")
def gcd(bb: BlockBuilder, input: Expr, other: Expr) -> Any:
    """The greatest common divisor, never negative."""
    a, b = together(bb, *matched(bb, input, other))
    shape = sizes(a)
    flat = [bb.emit(op.reshape(x, [product(shape)])) for x in (a, b)]
    made = bb.emit_te(divisors, *flat, primfunc_name_hint="divisors")
    return op.reshape(made, shape)


@convert("lcm")
def lcm(bb: BlockBuilder, input: Expr, other: Expr) -> Any:
    """The least common multiple, never negative; that of 0 and anything is 0."""
    a, b = matched(bb, input, other)
    divisor = bb.emit(gcd(bb, a, b))
    kind = dtype_of(divisor)
    safe = bb.emit(op.maximum(divisor, scalar(1, kind)))  # that of 0 and 0 is 0
    return op.abs(op.multiply(bb.emit(op.floor_divide(a, safe)), b))


# the integers of the bits of floats, and how many bits the fraction and the exponent have
_BITS = {"float64": ("int64", 52, 11), "float32": ("int32", 23, 8), "float16": ("int16", 10, 5)}


@convert("nextafter")
def nextafter(bb: BlockBuilder, input: Expr, other: Expr) -> Any:
    """The float beside the first, towards the second."""
    a, b = together(bb, *matched_floats(bb, input, other))
    kind, _, _ = _bits(dtype_of(a), "nextafter")

    def compute(x: te.Tensor, y: te.Tensor) -> Any:
        zero, one = tir.const(0, x.dtype), tir.const(1, kind)

        def element(*at: Any) -> PrimExpr:
            here, goal = x(*at), y(*at)
            number = tir.reinterpret(kind, here)
            # floats of one sign are ordered as the integers of their bits
            grows = tir.EQ(here > zero, goal > here)
            moved = tir.reinterpret(x.dtype, tir.Select(grows, number + one, number - one))
            least = tir.reinterpret(x.dtype, one)
            first = tir.Select(goal > zero, least, zero - least)
            found = tir.Select(tir.EQ(here, zero), first, moved)
            found = tir.Select(tir.EQ(here, goal), goal, found)
            undefined = tir.any(tir.NE(here, here), tir.NE(goal, goal))
            return tir.Select(undefined, here + goal, found)

        return te.compute(x.shape, element, name="nextafter")

    return bb.emit_te(compute, a, b, primfunc_name_hint="nextafter")


@convert("frexp")
def frexp(bb: BlockBuilder, input: Expr) -> Any:
    """A fraction in [0.5, 1) and the power of two with which it is the number, int32."""
    kind, places, width = _bits(dtype_of(input), "frexp")
    bias = (1 << (width - 1)) - 1

    def compute(x: te.Tensor) -> Any:
        dtype = x.dtype
        more = tir.const(2.0 ** (places + 1), dtype)  # makes subnormal numbers normal
        least = tir.const(2.0 ** (1 - bias), dtype)

        def parts(value: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
            is_small = tir.abs(value) < least
            bits = tir.reinterpret(kind, tir.Select(is_small, value * more, value))
            mask = tir.const((1 << width) - 1, kind)
            exponent = (bits >> tir.const(places, kind)) & mask
            plain = tir.all(tir.NE(exponent, mask), tir.NE(value, tir.const(0, dtype)))
            power = exponent.astype("int32") - (bias - 1)
            power = power - tir.Select(is_small, tir.const(places + 1, "int32"), 0)
            kept = bits & tir.const(~(((1 << width) - 1) << places), kind)
            half = kept | tir.const((bias - 1) << places, kind)
            fraction = tir.Select(plain, tir.reinterpret(dtype, half), value)
            return fraction, tir.Select(plain, power, tir.const(0, "int32"))

        return te.compute(x.shape, lambda *at: parts(x(*at)), name="frexp")

    return bb.emit_te(compute, input, primfunc_name_hint="frexp")


def _bits(dtype: str, asked: str) -> tuple[str, int, int]:
    if dtype not in _BITS:
        raise refuse(f"{asked} of {dtype}", dtype, ", ".join(_BITS))
    return _BITS[dtype]
