"""Names of TVM before v0.22: the FFI, tensors' module, packages that have a successor."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tvm

pytestmark = pytest.mark.pure


def test_functions_by_the_older_names() -> None:
    @tvm._ffi.register_func("tests.older.twice", override=True)
    def twice(x: int) -> int:
        return 2 * x

    assert tvm._ffi.get_global_func("tests.older.twice")(4) == 8
    assert "tests.older.twice" in tvm._ffi.registry.list_global_func_names()
    assert tvm._ffi.base.TVMError is tvm.TVMError
    assert tvm._ffi.runtime_ctypes.Device is tvm.runtime.Device
    assert callable(tvm._ffi.register_object)


def test_names_of_the_ffi_that_earlier_releases_had() -> None:
    ffi = tvm.ffi
    assert not [name for name in dir(ffi) if not name.startswith("_") and not hasattr(ffi, name)]
    assert ffi.NDArray is tvm.runtime.Tensor
    assert ffi.cpu(0) == tvm.cpu(0)
    assert ffi.container.Array is ffi.Array
    assert ffi.ObjectGeneric is ffi.ObjectConvertible
    assert ffi.String("a") == "a"
    assert ffi.ndarray.device("cuda", 1).device_type == tvm.runtime.Device.kDLCUDA
    assert tvm.runtime.Device.DEVICE_TYPE_TO_NAME[1] == "cpu"
    assert tvm.runtime.Device.DEVICE_NAME_TO_TYPE["llvm"] == 1


def test_tensors_by_their_older_module() -> None:
    from tvm.runtime.ndarray import NDArray, array

    assert array is tvm.nd.array
    assert isinstance(array(np.zeros(2, "float32")), NDArray)


@pytest.mark.parametrize("name", ["autotvm", "auto_scheduler", "micro"])
def test_what_is_gone_says_what_takes_its_place(name: str) -> None:
    package = importlib.import_module("tvm")
    vars(package).pop(name, None)
    with pytest.warns(DeprecationWarning, match=f"tvm.{name} is no more: .*tvm"):
        module = getattr(package, name)
    with pytest.raises(AttributeError, match=f"tvm.{name} is no more: .*tvm.*'task'"):
        _ = module.task
    assert not hasattr(module, "__path__")
    assert getattr(package, name) is module


def test_modules_that_scripts_take_names_from() -> None:
    from tvm.runtime.object import Object
    from tvm.runtime.packed_func import PackedFunc
    from tvm.target.intrin import call_pure_extern, register_intrin_lowering

    assert (Object, PackedFunc) == (tvm.runtime.Object, tvm.runtime.PackedFunc)
    assert register_intrin_lowering is tvm.ir.register_intrin_lowering
    assert call_pure_extern is tvm.tir.call_pure_extern


def test_rpc_by_its_older_name() -> None:
    with pytest.warns(DeprecationWarning, match=r"tvm\.rpc"):
        from tvm.contrib import rpc

    assert (rpc.connect, rpc.RPCSession) == (tvm.rpc.connect, tvm.rpc.RPCSession)
