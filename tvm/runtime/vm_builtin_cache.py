"""What programs keep between calls: attention caches, and parameters loaded from files."""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tvm.error import ShapeError, TVMError, message
from tvm.ffi.object import Object
from tvm.support.dtype import DataType
from tvm.support.json_text import from_json

from ._device import Device
from ._tensor import Tensor, empty, host_view, numpy_dtype, tensor
from .files import read_regular
from .module import Module
from .vm_builtin import _builtin, shape_tuple


class AttentionKVCache(Object):
    """Rows that are appended step by step; `fill_count` of them are set.

    As a window it keeps the last rows only: new ones replace the oldest, all but the
    first few (sinks), which stay.
    """

    def __init__(self, reserved: Sequence[int], like: Tensor) -> None:
        self.data = empty(reserved, str(like.dtype), like.device)
        self.fill_count = 0
        self.window_position = 0

    def _check(self, value: Tensor) -> Any:
        rows = host_view(value)
        mine = tuple(int(extent) for extent in self.data.shape)
        if tuple(rows.shape[1:]) != mine[1:] or str(value.dtype) != str(self.data.dtype):
            raise ShapeError(
                message(
                    "attention_kv_cache: rows",
                    found=f"{value.dtype} of shape {tuple(rows.shape)}",
                    legal=f"{self.data.dtype} of shape {('rows', *mine[1:])}",
                )
            )
        return rows

    def reserve(self, rows: int) -> None:
        """Have room for so many rows, in steps that double."""
        room = int(self.data.shape[0])
        if rows <= room:
            return
        while room < rows:
            room = max(room * 2, 1)
        larger = empty((room, *self.data.shape[1:]), str(self.data.dtype), self.data.device)
        host_view(larger)[: self.fill_count] = host_view(self.data)[: self.fill_count]
        self.data = larger

    def append(self, value: Tensor) -> None:
        """Add rows."""
        rows = self._check(value)
        self.reserve(self.fill_count + len(rows))
        host_view(self.data)[self.fill_count : self.fill_count + len(rows)] = rows
        self.fill_count += len(rows)

    def update(self, value: Tensor) -> None:
        """Replace all rows that are set."""
        rows = self._check(value)
        if len(rows) != self.fill_count:
            raise ShapeError(
                message(
                    "attention_kv_cache_update",
                    found=f"{len(rows)} rows",
                    legal=f"as many as are set: {self.fill_count}",
                )
            )
        host_view(self.data)[: len(rows)] = rows

    def override(self, value: Tensor, size: int, sinks: int = 0) -> None:
        """Add rows to a window of `size` rows whose first `sinks` stay."""
        rows = self._check(value)
        if len(rows) > size - sinks:
            raise ShapeError(
                message(
                    "attention_kv_cache_window_override",
                    found=f"{len(rows)} rows",
                    legal=f"at most {size - sinks}",
                )
            )
        self.reserve(min(self.fill_count + len(rows), size))
        target = host_view(self.data)
        first = min(len(rows), size - self.window_position)
        target[self.window_position : self.window_position + first] = rows[:first]
        self.window_position += first
        if first < len(rows):
            rest = len(rows) - first
            target[sinks : sinks + rest] = rows[first:]
            self.window_position = sinks + rest
        self.fill_count = min(self.fill_count + len(rows), size)

    def view(self, shape: Sequence[int]) -> Tensor:
        """The rows that are set."""
        wanted = tuple(int(extent) for extent in shape)
        if wanted[:1] != (self.fill_count,) or wanted[1:] != tuple(self.data.shape[1:]):
            raise ShapeError(
                message(
                    "attention_kv_cache_view",
                    found=f"shape {wanted}",
                    legal=f"{(self.fill_count, *self.data.shape[1:])}",
                )
            )
        return self.data._create_view(wanted)


@_builtin("attention_kv_cache_create")
def attention_kv_cache_create(
    init_data: Tensor, reserve_shape: Any, init_fill_count: int
) -> AttentionKVCache:
    """A cache that starts with `init_data`; `init_fill_count` of its rows count (-1: all)."""
    cache = AttentionKVCache(shape_tuple(reserve_shape), init_data)
    cache.append(init_data)
    if init_fill_count >= 0:
        cache.fill_count = int(init_fill_count)
    cache.window_position = cache.fill_count
    return cache


@_builtin("attention_kv_cache_append")
def attention_kv_cache_append(cache: AttentionKVCache, value: Tensor) -> AttentionKVCache:
    """Add rows; gives the cache."""
    cache.append(value)
    return cache


@_builtin("attention_kv_cache_update")
def attention_kv_cache_update(cache: AttentionKVCache, value: Tensor) -> AttentionKVCache:
    """Replace the rows; gives the cache."""
    cache.update(value)
    return cache


@_builtin("attention_kv_cache_view")
def attention_kv_cache_view(cache: AttentionKVCache, shape: Any) -> Tensor:
    """The rows, in memory that the cache shares."""
    return cache.view(shape_tuple(shape))


@_builtin("attention_kv_cache_window_override")
def attention_kv_cache_window_override(
    cache: AttentionKVCache, value: Tensor, max_cache_size: int
) -> AttentionKVCache:
    """Add rows to a window; gives the cache."""
    cache.override(value, int(max_cache_size))
    return cache


@_builtin("attention_kv_cache_window_override_with_sinks")
def attention_kv_cache_window_override_with_sinks(
    cache: AttentionKVCache, value: Tensor, max_cache_size: int, num_attention_sinks: int
) -> AttentionKVCache:
    """Add rows to a window whose first rows stay; gives the cache."""
    cache.override(value, int(max_cache_size), int(num_attention_sinks))
    return cache


@_builtin("attention_kv_cache_array_clear")
def attention_kv_cache_array_clear(caches: Sequence[AttentionKVCache]) -> None:
    """Forget the rows of all caches."""
    for cache in caches:
        cache.fill_count = cache.window_position = 0


@_builtin("attention_kv_cache_array_popn")
def attention_kv_cache_array_popn(caches: Sequence[AttentionKVCache], count: int) -> None:
    """Forget the last rows of all caches."""
    for cache in caches:
        if count > cache.fill_count:
            raise ShapeError(
                message(
                    "attention_kv_cache_array_popn",
                    found=f"{count} rows",
                    legal=f"at most {cache.fill_count}",
                )
            )
        cache.fill_count -= int(count)


# --- parameters from files ---

_PARAMETERS: dict[str, Tensor] = {}
_DESCRIPTIONS = ("tensor-cache.json", "ndarray-cache.json")


@_builtin("tensor_cache.load")
def tensor_cache_load(folder: str, device_type: int, device_id: int) -> None:
    """Load all tensors of a folder that has a description of its files."""
    root = Path(str(folder))
    description = next((root / n for n in _DESCRIPTIONS if (root / n).exists()), None)
    if description is None:
        raise TVMError(
            message(
                f"tensor_cache.load({str(root)!r})",
                found="no description of the tensors there",
                legal=" or ".join(_DESCRIPTIONS),
            )
        )
    device = Device(int(device_type), int(device_id))
    for shard in from_json(description.read_text())["records"]:
        data = shard_bytes(root, shard)
        for record in shard["records"]:
            start = record["byteOffset"]
            values = record_values(record, data[start : start + record["nbytes"]])
            _PARAMETERS[record["name"]] = tensor(values, device)


def file_within(folder: Path, name: Any) -> Path:
    """A file that a description names; it lies in the description's folder."""
    path = folder / str(name)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise TVMError(
            message(
                f"read the tensors of {str(folder)!r}",
                found=f"a description that names the file {str(name)!r}",
                legal="files in its own folder",
            )
        )
    return path


def shard_bytes(folder: Path, shard: Mapping[str, Any]) -> bytes:
    """The content of a shard's file, which has the size and the digest that are written of it."""
    data = read_regular(file_within(folder, shard["dataPath"]))
    written = shard.get("md5sum")
    found = f"{len(data)} bytes"
    if len(data) == shard.get("nbytes", len(data)):
        if written is None or hashlib.md5(data, usedforsecurity=False).hexdigest() == written:
            return data
        found += " that do not fit their digest"
    raise TVMError(
        message(
            f"read the tensors of {str(folder)!r}",
            found=found,
            where=str(shard["dataPath"]),
            legal=f"the {shard.get('nbytes')} bytes that were written",
        )
    )


def record_values(record: dict[str, Any], raw: bytes) -> Any:
    """The array of a record; float32 may be kept as the upper halves of its words."""
    shape = tuple(record["shape"])
    if record["format"] == "f32-to-bf16" and record["dtype"] == "float32":
        words = np.frombuffer(raw, np.uint16).astype(np.uint32) << np.uint32(16)
        return words.view(np.float32).reshape(shape)
    return np.frombuffer(raw, numpy_dtype(DataType(record["dtype"]))).reshape(shape)


@_builtin("tensor_cache.update")
def tensor_cache_update(name: str, value: Tensor, override: bool = False) -> None:
    """Keep a tensor under a name."""
    if not override and str(name) in _PARAMETERS:
        raise TVMError(
            message(f"tensor_cache.update({str(name)!r})", found="a tensor of this name",
                    legal="another name, or override")
        )  # fmt: skip
    _PARAMETERS[str(name)] = value


@_builtin("tensor_cache.get")
def tensor_cache_get(name: str) -> Tensor | None:
    """The tensor of a name, or None."""
    return _PARAMETERS.get(str(name))


@_builtin("tensor_cache.remove")
def tensor_cache_remove(name: str) -> None:
    """Forget a tensor."""
    _PARAMETERS.pop(str(name), None)


@_builtin("tensor_cache.clear")
def tensor_cache_clear() -> None:
    """Forget all tensors."""
    _PARAMETERS.clear()


def _parameter(name: str) -> Tensor:
    found = _PARAMETERS.get(str(name))
    if found is None:
        raise TVMError(
            message(
                f"the parameter {str(name)!r}",
                found="it is not in the cache of tensors",
                legal="vm.builtin.tensor_cache.load first",
            )
        )
    return found


@_builtin("param_array_from_cache")
def param_array_from_cache(prefix: str, count: int) -> tuple[Tensor, ...]:
    """The tensors `prefix_0`, `prefix_1`, ...; as many as there are if `count` is -1."""
    found: list[Tensor] = []
    while count < 0 or len(found) < count:
        name = f"{prefix}_{len(found)}"
        if count < 0 and name not in _PARAMETERS:
            break
        found.append(_parameter(name))
    return tuple(found)


@_builtin("param_array_from_cache_by_name")
def param_array_from_cache_by_name(names: Sequence[str]) -> tuple[Tensor, ...]:
    """The tensors of these names."""
    return tuple(_parameter(name) for name in names)


@_builtin("param_array_from_cache_by_name_unpacked")
def param_array_from_cache_by_name_unpacked(*names: str) -> tuple[Tensor, ...]:
    """The tensors of these names."""
    return tuple(_parameter(name) for name in names)


class ParamModule(Module):
    """Loaded parameters as a module: `get_params` gives them."""

    kind = "param_module"

    def __init__(self, params: tuple[Tensor, ...]) -> None:
        super().__init__()
        self.params = params

    def function_names(self) -> list[str]:
        return ["get_params"]

    def _find(self, name: str) -> Any:
        return (lambda: self.params) if name == "get_params" else None


@_builtin("param_module_from_cache")
def param_module_from_cache(prefix: str, count: int) -> ParamModule:
    """The tensors `prefix_0`, `prefix_1`, ... as a module."""
    return ParamModule(param_array_from_cache(prefix, count))


@_builtin("param_module_from_cache_by_name")
def param_module_from_cache_by_name(names: Sequence[str]) -> ParamModule:
    """The tensors of these names as a module."""
    return ParamModule(param_array_from_cache_by_name(names))


@_builtin("memory_manager.clear")
def memory_manager_clear() -> None:
    """Give back what no program holds any more."""
    gc.collect()
