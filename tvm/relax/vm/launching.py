"""Kernels of which only launches can be seen from outside.

    def gemv(A, B, C):                      def with_library(A, B, C):
        n = T.match_buffer(A, (n,)) ...         T.call_packed("library.gemv", A, B, C)
        for bx in T.thread_binding(n): ...

The host's part of `gemv` follows from shapes and numbers alone, so a virtual machine may repeat its
launches without it. Of what `with_library` does nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.op import Op
from tvm.tir import expr as e
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk

# What may do anything, or keeps something from one call to the next.
_OUTSIDE: Final = frozenset(
    "tir." + name
    for name in (
        "anylist_setitem_call_cpacked", "anylist_setitem_call_packed", "call_extern",
        "tvm_call_cpacked", "tvm_call_cpacked_lowered", "tvm_call_packed",
        "tvm_call_packed_lowered", "tvm_call_trace_packed", "tvm_call_trace_packed_lowered",
        "tvm_static_handle",
    )
)  # fmt: skip


def launching_only(functions: Mapping[GlobalVar, BaseFunc]) -> frozenset[str]:
    """The names of the kernels that, with all that they call, do nothing but launch."""
    called: dict[str, set[str]] = {}
    open_ended: set[str] = set()
    for var, func in functions.items():
        name = var.name_hint
        if not isinstance(func, PrimFunc):
            open_ended.add(name)
            continue
        called[name] = set()
        for node in walk(func.body):
            if isinstance(node, e.Call):
                if isinstance(node.op, GlobalVar):
                    called[name].add(node.op.name_hint)
                elif not isinstance(node.op, Op) or node.op.name in _OUTSIDE:
                    open_ended.add(name)
    known = set(called) - open_ended
    while True:
        kept = {name for name in known if called[name] <= known}
        if kept == known:
            return frozenset(known)
        known = kept
