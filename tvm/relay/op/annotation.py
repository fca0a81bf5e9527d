"""Marks on values: for fusion, memory, devices and outside compilers."""

from __future__ import annotations

from typing import Any

from tvm.relay.expr import Call

from .declare import ELEMWISE, OPAQUE, Expr, relay_op
from .relations import identity


@relay_op("annotation.stop_fusion", relation=lambda ctx: ctx.types[0], pattern=OPAQUE,
          lower=lambda bb, x: x)  # fmt: skip
def stop_fusion(data: Expr) -> Call:
    """The value as it is; what makes it and what takes it are not fused."""
    return stop_fusion.call(data)


@relay_op("annotation.checkpoint", relation=lambda ctx: ctx.types[0], pattern=OPAQUE,
          lower=lambda bb, x: x)  # fmt: skip
def checkpoint(data: Expr) -> Call:
    """The value as it is; gradients find it again rather than keep it."""
    return checkpoint.call(data)


@relay_op("annotation.compiler_begin", "CompilerAttrs", operands=("data",),
          relation=lambda ctx: ctx.types[0], lower=lambda bb, x, *, compiler: x)  # fmt: skip
def compiler_begin(data: Expr, compiler: str) -> Call:
    """The value as it is; from here on it belongs to an outside compiler."""
    return compiler_begin.call(data, compiler=compiler)


@relay_op("annotation.compiler_end", "CompilerAttrs", operands=("data",),
          relation=lambda ctx: ctx.types[0], lower=lambda bb, x, *, compiler: x)  # fmt: skip
def compiler_end(data: Expr, compiler: str) -> Call:
    """The value as it is; up to here it belongs to an outside compiler."""
    return compiler_end.call(data, compiler=compiler)


@relay_op("annotation.cast_hint", "CastHintAttrs", operands=("data",), relation=identity,
          pattern=ELEMWISE, lower=lambda bb, x, *, dtype: x)  # fmt: skip
def cast_hint(data: Any, dtype: str) -> Call:
    """The value as it is, with a data type that it may be kept in."""
    return cast_hint.call(data, dtype=dtype)


__all__ = ["cast_hint", "checkpoint", "compiler_begin", "compiler_end", "stop_fusion"]
