from __future__ import annotations

from collections.abc import Iterator

import pytest

import tvm
from tvm.error import TVMError
from tvm.ffi.registry import remove_global_func
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target.memory_info import MemoryInfo
from tvm.tir import IntImm, call_intrin
from tvm.tir.transform import LowerDeviceStorageAccessInfo

pytestmark = pytest.mark.pure


@pytest.fixture
def special() -> Iterator[None]:
    """Memories local.UB, with an address, and local.LB, without one."""
    address = call_intrin("handle", "tir.reinterpret", IntImm("uint64", 4096))
    tvm.register_global_func("tvm.info.mem.local.UB", lambda: MemoryInfo(64, 1 << 20, 64, address))
    tvm.register_global_func("tvm.info.mem.local.LB", lambda: MemoryInfo(64, 1 << 20, 64))
    yield
    remove_global_func("tvm.info.mem.local.UB")
    remove_global_func("tvm.info.mem.local.LB")


def lowered(func: object) -> str:
    return LowerDeviceStorageAccessInfo()(IRModule({"main": func}))["main"].script()


def make(scope: str, dtype: str, size: int = 16) -> object:
    @T.prim_func(check_well_formed=False)
    def main() -> None:
        data = T.allocate([size], "float32", scope)
        kind = T.type_annotation("float32")
        T.evaluate(T.call_extern("int32", "f", T.call_intrin(
            dtype, "tir.tvm_access_ptr", kind, data, 4, 4, 1)))  # fmt: skip

    return main


@pytest.mark.usefixtures("special")
def test_memory_with_an_address() -> None:
    text = lowered(make("local.UB", "handle"))
    assert "T.allocate" not in text
    assert 'data: T.handle("float32", "local.UB") = T.reinterpret("handle", T.uint64(4096))' in text
    assert "T.address_of(data_1[4])" in text


@pytest.mark.usefixtures("special")
def test_memory_without_an_address() -> None:
    text = lowered(make("local.LB", "int32"))
    assert "T.allocate" not in text
    assert 'T.call_extern("int32", "f", 2)' in text  # two floats are one unit of 64 bits
    with pytest.raises(TVMError, match="whose memory has none"):
        lowered(make("local.LB", "handle"))


@pytest.mark.usefixtures("special")
def test_the_size_is_not_looked_at() -> None:
    assert "T.allocate" not in lowered(make("local.UB", "handle", 1 << 20))


def test_other_memory_stays() -> None:
    text = lowered(make("local", "handle"))
    assert 'T.allocate([16], "float32", "local")' in text
    assert "T.address_of(data_1[4])" in text
