"""Which kernels do nothing on the host but launch."""

from __future__ import annotations

import tvm
from tvm.relax.vm.launching import launching_only
from tvm.script import ir as I
from tvm.script import tir as T


def test_what_calls_others() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def plain(x: T.Buffer((8,), "float32")) -> None:
            for i in T.thread_binding(8, "threadIdx.x"):
                x[i] = T.exp(x[i])

        @T.prim_func
        def packed(x: T.Buffer((8,), "float32")) -> None:
            T.evaluate(T.call_packed("anything", 1))

        @T.prim_func
        def extern(x: T.Buffer((8,), "float32")) -> None:
            T.evaluate(T.call_extern("int32", "anything", 1))

        @T.prim_func
        def calls_plain(x: T.handle) -> None:
            Module.plain(x)

        @T.prim_func
        def calls_packed(x: T.handle) -> None:
            Module.packed(x)

        @T.prim_func
        def calls_that(x: T.handle) -> None:
            Module.calls_packed(x)

    assert isinstance(Module, tvm.IRModule)
    assert launching_only(Module.functions) == {"plain", "calls_plain"}
