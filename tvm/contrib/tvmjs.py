"""Parameters as files that are loaded piece by piece: shards of raw bytes, and what is in them.

    tensor-cache.json     {"metadata": ..., "records": [shard, ...]}
    params_shard_0.bin    tensors one behind the other; a shard's records say which, and where
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tvm.error import message
from tvm.runtime import Tensor, tensor
from tvm.runtime._device import Device
from tvm.runtime._tensor import numpy_dtype
from tvm.runtime.vm_builtin_cache import shard_bytes
from tvm.support.dtype import DataType
from tvm.support.json_text import from_json

ENCODINGS = ("f32-to-bf16", "raw")
_DESCRIPTION, _NARROW = "tensor-cache.json", "tensor-cache-b16.json"
Params = Mapping[str, Any] | Iterable[tuple[str, Any]]


def _convert_f32_to_bf16(value: Any) -> Any:
    """The upper halves of float32 words, rounded to nearest, ties to even."""
    words = np.ascontiguousarray(value, np.float32).view(np.uint32)
    bias = ((words >> 16) & 1) + np.uint32(0x7FFF)
    return ((words + bias) >> 16).astype(np.uint16)


def _convert_bf16_to_f32(value: Any) -> Any:
    """Float32 words whose upper halves these are."""
    return (np.ascontiguousarray(value, np.uint16).astype(np.uint32) << 16).view(np.float32)


class _Writer:
    """Shards of at most `capacity` bytes; a larger tensor has one of its own."""

    def __init__(self, folder: Path, capacity: int) -> None:
        self._folder, self._capacity = folder, capacity
        self._data = bytearray()
        self._records: list[dict[str, Any]] = []
        self.shards: list[dict[str, Any]] = []

    def add(self, record: dict[str, Any], data: bytes) -> None:
        """Put a tensor into the current shard, or the next."""
        if self._records and len(self._data) + len(data) > self._capacity:
            self.flush()
        record["byteOffset"] = len(self._data)
        self._records.append(record)
        self._data += data

    def flush(self) -> None:
        """Write the current shard."""
        if not self._records:
            return
        name = f"params_shard_{len(self.shards)}.bin"
        (self._folder / name).write_bytes(self._data)
        self.shards.append(
            {
                "dataPath": name,
                "format": "raw-shard",
                "nbytes": len(self._data),
                "records": self._records,
                "md5sum": hashlib.md5(self._data, usedforsecurity=False).hexdigest(),
            }
        )
        self._data, self._records = bytearray(), []


def dump_tensor_cache(
    params: Params,
    cache_dir: str | os.PathLike[str],
    encode_format: str = "f32-to-bf16",
    meta_data: Mapping[str, Any] | None = None,
    shard_cap_mb: int = 32,
    show_progress: bool = True,
    update_if_exists: bool = False,
) -> None:
    """Write tensors, by name, into a folder.

    With `f32-to-bf16` float32 values keep the upper halves of their words. With
    `update_if_exists` the tensors that are there already stay, other than those of these names.
    """
    if encode_format not in ENCODINGS:
        raise ValueError(
            message(f"dump_tensor_cache: encode_format {encode_format!r}",
                    legal=", ".join(ENCODINGS))
        )  # fmt: skip
    folder = Path(cache_dir)
    folder.mkdir(parents=True, exist_ok=True)
    given = list(params.items()) if isinstance(params, Mapping) else list(params)
    metadata = dict(meta_data or {})
    if update_if_exists and (folder / _DESCRIPTION).exists():
        new = {name for name, _ in given}
        old = _read(folder)
        kept = [(n, _Raw(record, raw)) for n, record, raw in _tensors(folder, old) if n not in new]
        given = [*kept, *given]
        metadata = {**old["metadata"], **metadata}
    writer = _Writer(folder, int(shard_cap_mb) << 20)
    for index, (name, value) in enumerate(given):
        record, data = _encoded(str(name), value, encode_format)
        writer.add(record, data)
        if show_progress:
            print(f"[{index + 1:04d}/{len(given):04d}] {name}")
    writer.flush()
    whole = {"metadata": {**metadata, "ParamSize": len(given)}, "records": writer.shards}
    (folder / _DESCRIPTION).write_text(json.dumps(whole, indent=4))
    records = [record for shard in writer.shards for record in shard["records"]]
    if any(record["format"] == "f32-to-bf16" for record in records):
        for record in records:  # for machines that have the type itself
            if record["format"] == "f32-to-bf16":
                record["format"], record["dtype"] = "raw", "bfloat16"
        (folder / _NARROW).write_text(json.dumps(whole, indent=4))


class _Raw:
    """A tensor as it stands in a file."""

    def __init__(self, record: dict[str, Any], data: bytes) -> None:
        self.record, self.data = record, data


def _encoded(name: str, value: Any, encode_format: str) -> tuple[dict[str, Any], bytes]:
    if isinstance(value, _Raw):
        return {**value.record, "name": name}, value.data
    dtype = str(value.dtype)
    array = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
    shape = [int(extent) for extent in value.shape]
    kind = "raw"
    if encode_format == "f32-to-bf16" and dtype == "float32":
        array, kind = _convert_f32_to_bf16(array), "f32-to-bf16"
    data = np.ascontiguousarray(array).tobytes()
    record = {"name": name, "shape": shape, "dtype": dtype, "format": kind, "nbytes": len(data)}
    return record, data


def _read(folder: Path) -> dict[str, Any]:
    path = folder / _DESCRIPTION
    if not path.exists():
        raise ValueError(
            message(f"load_tensor_cache({str(folder)!r})", found="no such description there",
                    legal=_DESCRIPTION)
        )  # fmt: skip
    found: dict[str, Any] = from_json(path.read_text())
    return found


def _tensors(
    folder: Path, description: Mapping[str, Any]
) -> Iterable[tuple[str, dict[str, Any], bytes]]:
    for shard in description["records"]:
        data = shard_bytes(folder, shard)
        for record in shard["records"]:
            start = record["byteOffset"]
            yield record["name"], record, data[start : start + record["nbytes"]]


def load_tensor_cache(
    cachepath: str | os.PathLike[str], device: Device
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a folder by name, and the description's metadata."""
    path = Path(cachepath)
    folder = path.parent if path.suffix == ".json" else path
    description = _read(folder)
    loaded: dict[str, Tensor] = {}
    for name, record, raw in _tensors(folder, description):
        if record["format"] == "f32-to-bf16" and record["dtype"] == "float32":
            values = _convert_bf16_to_f32(np.frombuffer(raw, np.uint16))
        else:
            values = np.frombuffer(raw, numpy_dtype(DataType(record["dtype"])))
        loaded[name] = tensor(values.reshape(tuple(record["shape"])), device)
    return loaded, description["metadata"]
