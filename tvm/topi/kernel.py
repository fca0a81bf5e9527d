"""A TIR kernel in the making: parameters in order, and rows on cores or on threads.

    kernel = Kernel("scaled", target)
    n = kernel.size("n")
    x, y = (kernel.buffer(name, (n, 4), "float32") for name in "xy")
    func = kernel.func(kernel.rows((n, 4), lambda i, j: store(y, x[i, j] * 2.0, i, j)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import tir
from tvm.target import Target
from tvm.topi.loops import blocks, let, parallel, threads

BLOCK: Final = 64  # threads that work on one row together

class Kernel:
    """The parameters of a function, as buffers and numbers; indices are int64."""

    def __init__(self, name: str, target: Target | None = None) -> None:
        self._name = name
        target = target or Target.current(allow_none=True)
        self._on_threads = target is not None and "gpu" in target.keys
        self.thread: tir.Var | None = None
        self._params: list[tir.Var] = []
        self._buffers: dict[tir.Var, tir.Buffer] = {}

    @property
    def lanes(self) -> int:
        """How many numbers are worked on at once: a thread has one, a core a vector."""
        return 1 if self._on_threads else 16

    def size(self, name: str) -> tir.Var:
        """An extent that a buffer's shape tells."""
        return tir.SizeVar(name, "int64")

    def buffer(self, name: str, shape: Sequence[Any], dtype: str) -> tir.Buffer:
        """A parameter that is a tensor; it may be a part of a larger one."""
        extents = [tir.const(x, "int64") if isinstance(x, int) else x for x in shape]
        start = tir.Var(f"{name}_elem_offset", "int64")
        made = tir.decl_buffer(extents, dtype, name, elem_offset=start, offset_factor=1)
        handle = tir.Var(f"var_{name}", "handle")
        self._params.append(handle)
        self._buffers[handle] = made
        return made

    def indices(self, name: str, *shape: Any) -> tir.Buffer:
        """A tensor of int32; `number` reads it."""
        return self.buffer(name, shape, "int32")

    def scalar(self, name: str, dtype: str) -> tir.Var:
        """A parameter that is a number."""
        var = tir.Var(name, dtype)
        self._params.append(var)
        return var

    def rows(
        self, extents: Sequence[Any], body: Callable[..., tir.Stmt], together: bool = False
    ) -> tir.Stmt:
        """`body` at all indices, none of which waits for another.

        With `together` a GPU has a block of threads for each, of which `thread` is one.
        """
        total = tir.const(1, "int64")
        for extent in extents:
            total = total * extent

        def unfused(number: Any) -> tir.Stmt:
            rest, coords = number, []
            for extent in reversed(extents[1:]):
                coords.append(tir.floormod(rest, extent))
                rest = tir.floordiv(rest, extent)
            return _named([rest, *reversed(coords)], body)

        total = tir.const(0, "int64") + total

        def of_block(number: Any, thread: Any) -> tir.Stmt:
            self.thread = thread
            return unfused(number)

        if together and self._on_threads:
            return blocks(total, BLOCK, of_block, "row")
        return (threads if self._on_threads else parallel)(total, unfused, "row")

    def func(self, body: tir.Stmt) -> tir.PrimFunc:
        """The finished function."""
        attrs = {"global_symbol": self._name, "tir.is_scheduled": True}
        func = tir.PrimFunc(self._params, body, None, self._buffers)
        return func.with_attr(attrs)


def _named(values: Sequence[Any], body: Callable[..., tir.Stmt]) -> tir.Stmt:
    def nest(known: tuple[Any, ...]) -> tir.Stmt:
        if len(known) == len(values):
            return body(*known)
        return let(values[len(known)], lambda v: nest((*known, v)), f"i{len(known)}")

    return nest(())


def number(buffer: tir.Buffer, *indices: Any) -> Any:
    """An element of a tensor of indices, as int64."""
    return tir.BufferLoad(buffer, list(indices)).astype("int64")
