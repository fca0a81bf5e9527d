"""Modules of kernels as text: what they tell, how they travel, and what a launch says here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device.harness import built, launches_here, on_device, source_of
from tests.backend.device.programs import PROGRAMS
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.runtime import load_module
from tvm.runtime.device_api import kinds
from tvm.runtime.device_module import DeviceModule
from tvm.support.kernel_info import KernelInfo

pytestmark = pytest.mark.cpu
ADD = IRModule({"add_one": PROGRAMS["add_one"].func})


def module() -> DeviceModule:
    return DeviceModule("opencl", "opencl", "__kernel void f() {}", {"f": KernelInfo((), ())})


def test_what_it_tells(tmp_path: Path) -> None:
    found = module()
    assert found.type_key == "opencl"
    assert found.is_binary_serializable()
    assert not found.is_compilation_exportable()
    assert found.implements_function("f")
    for fmt in ("", "opencl", "cl"):
        assert found.inspect_source(fmt) == "__kernel void f() {}"
    with pytest.raises(ValueError, match="source of a opencl module as 'ptx'"):
        found.inspect_source("ptx")
    found.write_to_file(str(tmp_path / "f.cl"))
    assert (tmp_path / "f.cl").read_text() == "__kernel void f() {}"


def test_records_come_back() -> None:
    record = module().as_record()
    assert DeviceModule.from_record(record).as_record() == record
    with pytest.raises(TVMError, match="a damaged description"):
        DeviceModule.from_record({"kind": "opencl"})


@pytest.mark.parametrize("kind", ["cuda", "metal", "opencl", "rocm", "vulkan", "webgpu"])
def test_bytes_come_back(kind: str) -> None:
    made = DeviceModule(kind, kind, "kernel f;", {"f": KernelInfo(("handle",), ("blockIdx.x",))})
    made.import_module(module())
    again = tvm.ir.load_json(tvm.ir.save_json(made))
    assert isinstance(again, DeviceModule)
    assert again.as_record() == made.as_record()
    assert [m.kind for m in again.imports] == ["opencl"]


def test_a_launch_without_a_runtime() -> None:
    with pytest.raises(TVMError, match="no runtime for hexagon in this process"):
        DeviceModule("hexagon", "c", "", module().kernels)["f"]()


def _args() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(64, dtype="float32"), np.zeros(64, "float32")


def test_a_launch_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    library = built(ADD, "cuda")
    args = [on_device(a, 2) for a in _args()]
    monkeypatch.setattr(kinds, "_started", lambda kind: f"nothing here drives {kind}")
    with pytest.raises(TVMError, match="use of device cuda:0"):
        library["add_one"](*args)


def test_tensors_of_the_host_are_refused() -> None:
    a, b = (tvm.runtime.tensor(x) for x in _args())
    with pytest.raises(ValueError, match=r"a tensor on device type 1[\s\S]*device type 2"):
        built(ADD, "cuda")["add_one"](a, b)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["so", "tar"])
def test_exported_kernels_are_loaded_and_launched(tmp_path: Path, suffix: str) -> None:
    path = str(tmp_path / f"lib.{suffix}")
    built(ADD, "cuda").export_library(path)
    loaded = load_module(path)
    (device,) = loaded.imports
    assert isinstance(device, DeviceModule)
    assert device.inspect_source() == source_of(ADD, "cuda")
    assert device.arch == "sm_80"
    a, b = _args()
    with launches_here():
        loaded["add_one"](on_device(a, 2), on_device(b, 2))
    np.testing.assert_array_equal(b, a + 1)
