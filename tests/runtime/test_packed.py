"""Functions of the runtime by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import runtime
from tvm.error import ShapeError
from tvm.ffi import get_global_func
from tvm.runtime import threads

pytestmark = pytest.mark.pure


def test_threads() -> None:
    get_global_func("runtime.config_threadpool")(1, 3)
    assert get_global_func("runtime.NumThreads")() == 3 == runtime.num_threads()
    get_global_func("runtime.config_threadpool")(1, 0)
    assert runtime.num_threads() == threads.thread_count()


def test_parameters() -> None:
    data = get_global_func("runtime.SaveParams")({"a": runtime.tensor(np.ones(2))})
    loaded = get_global_func("runtime.LoadParams")(data)
    np.testing.assert_array_equal(loaded["a"].numpy(), [1, 1])


def test_what_can_run() -> None:
    assert get_global_func("runtime.RuntimeEnabled")("llvm")


def call(name: str, *args: object) -> object:
    return get_global_func("runtime." + name)(*args)


def test_devices_answer() -> None:
    assert call("GetDeviceAttr", 1, 0, 0) == 1
    assert call("GetDeviceAttr", 2, 100, 0) == 0
    stream = call("Device_StreamCreate", tvm.cpu())
    for name in ("SetStream", "StreamSync", "StreamFree"):
        call("Device_" + name, tvm.cpu(), stream)
    call("Device_StreamSyncFromTo", tvm.cpu(), 0, 0)
    call("TVMSetStream", 1, 0, 0)


def test_tensors_are_made_copied_and_seen_otherwise() -> None:
    values = np.arange(6, dtype="float32")
    made = call("TVMTensorAllocWithScope", [2, 3], "float32", tvm.cpu(), None)
    call("TVMTensorCopyFromBytes", made, values.ctypes.data, values.nbytes)
    np.testing.assert_array_equal(made.numpy(), values.reshape(2, 3))
    back = np.zeros_like(values)
    call("TVMTensorCopyToBytes", made, back.ctypes.data, back.nbytes)
    np.testing.assert_array_equal(back, values)
    other = tvm.runtime.empty((2, 3))
    call("TVMTensorCopyFromTo", made, other)
    view = call("TVMTensorCreateView", other, [4], "int32", 8)
    np.testing.assert_array_equal(view.numpy(), values[2:].view("int32"))
    with pytest.raises(ShapeError, match="legal: 24 bytes"):
        call("TVMTensorCopyFromBytes", made, values.ctypes.data, 4)


def test_caches_are_flushed_between_measurements() -> None:
    prepare = tvm.get_global_func("cache_flush_cpu_non_first_arg")
    given = tvm.runtime.tensor(np.arange(4.0))
    prepare(given, tvm.runtime.tensor(np.ones(3)), 1)
    prepare()
    np.testing.assert_array_equal(given.numpy(), np.arange(4.0))
    from tvm.runtime import benchmark

    assert benchmark._flusher.size >= benchmark.CACHE_BYTES


def test_parameters_go_to_files(tmp_path: Path) -> None:
    path = str(tmp_path / "params")
    call("SaveParamsToFile", {"x": tvm.runtime.tensor(np.ones(3))}, path)
    np.testing.assert_array_equal(call("LoadParamsFromFile", path)["x"].numpy(), np.ones(3))


def test_reports_are_made_and_shown() -> None:
    calls = [{"Name": "f", "Duration (us)": call("profiling.Duration", 2.0)}]
    report = call("profiling.Report", calls, {}, {})
    assert call("profiling.AsCSV", report) == 'Duration (us),Name\n2,"f"\n'
    assert "f" in call("profiling.AsTable", report, True, True, True)
    again = call("profiling.FromJSON", call("profiling.AsJSON", report))
    assert again.calls[0]["Duration (us)"].microseconds == 2.0
