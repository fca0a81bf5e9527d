"""IPCAllReduceRewrite: sums go through memory that GPUs share, where the runtime can."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import tvm
from tvm.ir import IRModule, assert_structural_equal
from tvm.relax.transform import IPCAllReduceRewrite
from tvm.relax.transform.ipc_allreduce_rewrite import CUSTOM
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@pytest.fixture
def runtime() -> Iterator[None]:
    """A runtime that has the function."""
    tvm.register_global_func(CUSTOM, lambda *_: None, override=True)
    yield
    tvm.ffi.registry.remove_global_func(CUSTOM)


def _program(scope: str, custom: bool, kind: int = 0) -> IRModule:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main():
            alloc = R.builtin.alloc_tensor(
                R.shape([4, 8]), R.dtype("float16"), R.prim_value(0), R.str(scope)
            )
            a = alloc
            b = R.reshape(a, (32,))
            out = R.builtin.alloc_tensor(
                R.shape([32]), R.dtype("float16"), R.prim_value(0), R.str("global")
            )
            _ = R.call_packed("runtime.disco.allreduce", b, R.shape([kind]), R.prim_value(True),
                              out, sinfo_args=R.Object)  # fmt: skip
            return out

    @I.ir_module
    class Made:
        @R.function(pure=False)
        def main():
            alloc = R.builtin.alloc_tensor(
                R.shape([4, 8]), R.dtype("float16"), R.prim_value(0), R.str(scope)
            )
            a = alloc
            b = R.reshape(a, (32,))
            out = R.builtin.alloc_tensor(
                R.shape([32]), R.dtype("float16"), R.prim_value(0), R.str("global")
            )
            _ = R.call_packed(
                "runtime.disco.cuda_ipc.custom_allreduce", b, R.prim_value(1), out,
                sinfo_args=R.Object,
            )  # fmt: skip
            return out

    return Made if custom else Mod


def test_sums_of_what_is_allocated_here(runtime: None) -> None:
    after = IPCAllReduceRewrite(1)(_program("global", custom=False))
    assert_structural_equal(after, _program("ipc_memory", custom=True))


def test_other_reductions_stay(runtime: None) -> None:
    mod = _program("global", custom=False, kind=2)
    assert IPCAllReduceRewrite(1)(mod)["main"] is mod["main"]


def test_operands_from_outside_stay(runtime: None) -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((32,), "float16")):
            _ = R.call_packed("runtime.disco.allreduce", x, R.shape([0]), R.prim_value(True), x,
                              sinfo_args=R.Object)  # fmt: skip
            return x

    assert IPCAllReduceRewrite(1)(Mod)["main"] is Mod["main"]


def test_nothing_changes_without_the_function() -> None:
    mod = _program("global", custom=False)
    assert IPCAllReduceRewrite(1)(mod) is mod
