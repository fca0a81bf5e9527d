"""Functions of the runtime that are looked up by name."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm.error import ShapeError, message
from tvm.ffi import register_global_func

from ._device import Device
from ._tensor import Tensor, empty, numpy_dtype, numpy_shape
from .attributes import DeviceAttr
from .benchmark import CACHE_BYTES, flush_cache
from .module import enabled, load_module, load_static_library
from .params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)
from .profiling import Count, DeviceWrapper, Duration, Percent, Ratio, Report
from .source_module import SourceModule
from .threads import config_threads, thread_count


@register_global_func("runtime.NumThreads", override=True)
def num_threads() -> int:
    """Threads of a parallel region."""
    return thread_count()


@register_global_func("runtime.config_threadpool", override=True)
def config_threadpool(affinity_mode: int, thread_count: int = 0, *cores: object) -> None:
    """Set the number of threads; where they run is the system's choice."""
    config_threads(int(thread_count))


@register_global_func("runtime.RuntimeEnabled", override=True)
def runtime_enabled(target: str) -> bool:
    """Whether code for a target can run here."""
    return enabled(target)


@register_global_func("runtime.SaveParams", override=True)
def save_params(params: object) -> bytes:
    """Parameters as bytes."""
    assert hasattr(params, "items"), "a map from names to tensors"
    return bytes(save_param_dict(dict(params.items())))


@register_global_func("runtime.LoadParams", override=True)
def load_params(data: bytes) -> object:
    """Parameters of bytes."""
    return load_param_dict(data)


@register_global_func("runtime.SaveParamsToFile", override=True)
def save_params_to_file(params: Any, path: str) -> None:
    """Write parameters to a file."""
    save_param_dict_to_file(dict(params.items()), path)


@register_global_func("runtime.LoadParamsFromFile", override=True)
def load_params_from_file(path: str) -> object:
    """Read parameters from a file."""
    return load_param_dict_from_file(path)


@register_global_func("runtime.ModuleLoadFromFile", override=True)
def module_load_from_file(path: str, fmt: str = "") -> object:
    """The module of a file."""
    return load_module(path, fmt)


@register_global_func("runtime.ModuleLoadStaticLibrary", override=True)
def module_load_static_library(path: str, func_names: Sequence[str]) -> object:
    """The functions of an object file."""
    return load_static_library(path, list(func_names))


@register_global_func("runtime.SourceModuleCreate", override=True)
def source_module_create(code: str, fmt: str) -> SourceModule:
    """A module of source text."""
    return SourceModule(str(code), str(fmt))


@register_global_func("tvm.default_trace_action", override=True)
def default_trace_action(*args: Any) -> None:
    """What `T.trace` calls with the values of a trace point, unless it names another function."""
    print(list(args))


# --- devices ---


@register_global_func("runtime.GetDeviceAttr", override=True)
def get_device_attr(device_type: int, device_id: int, attr: int) -> Any:
    """An attribute of a device; its number is one of `DeviceAttr`."""
    return Device(device_type, device_id)._attribute(DeviceAttr(attr))


@register_global_func("runtime.Device_StreamCreate", override=True)
def device_stream_create(dev: Device) -> int:
    """A new stream of work."""
    return dev.create_raw_stream()


@register_global_func("runtime.Device_StreamFree", override=True)
def device_stream_free(dev: Device, stream: int) -> None:
    """Give a stream back."""
    dev.free_raw_stream(stream)


@register_global_func("runtime.Device_SetStream", override=True)
def device_set_stream(dev: Device, stream: int) -> None:
    """Make a stream the one that following work goes to."""
    dev.set_raw_stream(stream)


@register_global_func("runtime.Device_StreamSync", override=True)
def device_stream_sync(dev: Device, stream: int) -> None:
    """Wait for the work of a stream."""
    dev.sync(stream)


@register_global_func("runtime.Device_StreamSyncFromTo", override=True)
def device_stream_sync_from_to(dev: Device, source: int, target: int) -> None:
    """Let work that comes to `target` wait for what `source` has now."""
    dev.sync(source)


@register_global_func("runtime.TVMSetStream", override=True)
def set_stream(device_type: int, device_id: int, stream: int) -> None:
    """Make a stream the one that following work goes to."""
    Device(device_type, device_id).set_raw_stream(stream)


# --- tensors ---


@register_global_func("runtime.TVMTensorAllocWithScope", override=True)
def tensor_alloc_with_scope(
    shape: Sequence[int], dtype: str, dev: Device, mem_scope: str | None
) -> Tensor:
    """A new tensor in a kind of memory."""
    return empty(tuple(shape), str(dtype), dev, mem_scope)


@register_global_func("runtime.TVMTensorCopyFromTo", override=True)
def tensor_copy_from_to(source: Tensor, target: Tensor) -> None:
    """Overwrite a tensor with another."""
    source.copyto(target)


@register_global_func("runtime.TVMTensorCopyFromBytes", override=True)
def tensor_copy_from_bytes(target: Tensor, data: Any, nbytes: int) -> None:
    """Overwrite a tensor with bytes in memory."""
    target.copyfrom(_memory(target, data, nbytes))


@register_global_func("runtime.TVMTensorCopyToBytes", override=True)
def tensor_copy_to_bytes(source: Tensor, data: Any, nbytes: int) -> None:
    """Copy a tensor to memory."""
    np.copyto(_memory(source, data, nbytes), source.numpy())


@register_global_func("runtime.TVMTensorCreateView", override=True)
def tensor_create_view(
    source: Tensor, shape: Sequence[int], dtype: str, relative_byte_offset: int
) -> Tensor:
    """The memory of a tensor with another shape, type or start."""
    return source._create_view(tuple(shape), str(dtype), relative_byte_offset)


def _memory(like: Tensor, data: Any, nbytes: int) -> np.ndarray[Any, Any]:
    """Memory at an address as an array like a tensor."""
    kind, shape = numpy_dtype(like.dtype), numpy_shape(like)
    need = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if nbytes != need:
        raise ShapeError(
            message(
                f"copy {nbytes} bytes",
                found=f"a tensor of {need} bytes, {like.dtype}{tuple(like.shape)}",
                legal=f"{need} bytes",
            )
        )
    address = data if isinstance(data, int) else data.value
    memory: Any = (ctypes.c_uint8 * nbytes).from_address(address)
    return np.frombuffer(memory, kind).reshape(shape)


# --- measuring and reports ---


@register_global_func("runtime.RPCTimeEvaluator", override=True)
def time_evaluator(
    mod: Any, name: str, device_type: int, device_id: int, number: int, repeat: int,
    min_repeat_ms: int, limit_zero_time_iterations: int, cooldown_interval_ms: int,
    repeats_to_cooldown: int, cache_flush_bytes: int, f_preproc: str,
) -> Any:  # fmt: skip
    """A function that measures a function of a module, and gives the seconds as packed doubles."""
    measure = mod.time_evaluator(
        name, Device(device_type, device_id), number, repeat, min_repeat_ms,
        limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown, cache_flush_bytes,
        f_preproc,
    )  # fmt: skip
    return lambda *args: np.array(measure(*args).results, "<f8").tobytes()


@register_global_func("cache_flush_cpu_non_first_arg", override=True)
def cache_flush_cpu_non_first_arg(*args: Any) -> None:
    """No argument is in the caches afterwards but the first, as between calls (a `f_preproc`)."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    flush_cache(max(CACHE_BYTES, sum(tensor.numpy().nbytes for tensor in tensors)))
    if args and isinstance(args[0], Tensor):
        args[0].numpy().copy()  # reading brings it back


for _kind in (Count, Duration, Percent, Ratio, DeviceWrapper, Report):
    register_global_func(f"runtime.profiling.{_kind.__name__}", _kind, override=True)


@register_global_func("runtime.profiling.AsCSV", override=True)
def report_as_csv(report: Report) -> str:
    """A report as comma-separated values."""
    return report.csv()


@register_global_func("runtime.profiling.AsJSON", override=True)
def report_as_json(report: Report) -> str:
    """A report as JSON."""
    return report.json()


@register_global_func("runtime.profiling.AsTable", override=True)
def report_as_table(report: Report, sort: bool, aggregate: bool, col_sums: bool) -> str:
    """A report as a table."""
    return report.table(sort, aggregate, col_sums)


@register_global_func("runtime.profiling.FromJSON", override=True)
def report_from_json(text: str) -> Report:
    """The report of a JSON text."""
    return Report.from_json(text)
