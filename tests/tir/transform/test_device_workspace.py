from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LowerTVMBuiltin

pytestmark = pytest.mark.pure


class TestDevice(PassTest):
    run = LowerTVMBuiltin()
    same_results = False  # only a runtime has the memory
    round_trip = False  # the text of tvm_throw_last_error has no dtype

    @T.prim_func
    def Before(n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        T.attr("dummy", "device_type", 2)
        T.attr("dummy", "device_id", n)
        ptr = T.allocate([16], "float32")
        buf = T.decl_buffer(16, "float32", data=ptr)
        buf[0] = 0.0

    @T.prim_func
    def Expected(n: T.int32):
        T.func_attr({"target": T.target("llvm")})
        ptr: T.handle("float32") = T.TVMBackendAllocWorkspace(2, n, T.uint64(64), 2, 32)
        T.attr(ptr, "storage_alignment", 64)
        if T.isnullptr(ptr):
            T.Call("int32", "tir.tvm_throw_last_error", [])
        buf = T.decl_buffer((16,), data=ptr)  # its body holds what follows, to the end
        buf[0] = 0.0
        if T.TVMBackendFreeWorkspace(2, n, ptr) != 0:
            T.Call("int32", "tir.tvm_throw_last_error", [])


@T.prim_func
def large(n: T.int32):
    T.func_attr({"target": T.target("llvm")})
    T.attr("dummy", "device_type", 1)
    T.attr("dummy", "device_id", 0)
    ptr = T.allocate([n], "float32")
    buf = T.decl_buffer((n,), "float32", data=ptr)
    buf[0] = 0.0


@T.prim_func
def registers():
    T.func_attr({"target": T.target("llvm")})
    T.attr("dummy", "device_type", 1)
    T.attr("dummy", "device_id", 0)
    ptr = T.allocate([512], "float32", "local")
    buf = T.decl_buffer((512,), "float32", data=ptr, scope="local")
    buf[0] = 0.0


@T.prim_func
def small():
    T.func_attr({"target": T.target("llvm")})
    T.attr("dummy", "device_type", 1)
    T.attr("dummy", "device_id", 0)
    ptr = T.allocate([16], "float32")
    buf = T.decl_buffer((16,), "float32", data=ptr)
    buf[0] = 0.0


@T.prim_func
def only_type():
    T.attr("dummy", "device_type", 2)
    ptr = T.allocate([1024], "float32")
    buf = T.decl_buffer((1024,), "float32", data=ptr)
    buf[0] = 0.0


@T.prim_func
def only_id():
    T.attr("dummy", "device_id", 0)
    ptr = T.allocate([1024], "float32")
    buf = T.decl_buffer((1024,), "float32", data=ptr)
    buf[0] = 0.0


def test_host() -> None:
    text = LowerTVMBuiltin()(IRModule({"main": large})).script()
    assert 'T.TVMBackendAllocWorkspace(1, 0, T.uint64(4) * T.Cast("uint64", n), 2, 32)' in text
    assert "Workspace" not in LowerTVMBuiltin()(IRModule({"main": small})).script()


@pytest.mark.parametrize(("func", "key"), [(only_type, "device_id"), (only_id, "device_type")])
def test_what_is_missing(func: object, key: str) -> None:
    with pytest.raises(TVMError, match=f"no attribute '{key}'"):
        LowerTVMBuiltin()(IRModule({"main": func}))


def test_sums_that_become_registers_stay() -> None:
    made = LowerTVMBuiltin()(IRModule({"main": registers}))
    assert "AllocWorkspace" not in made["main"].script()
