"""Attention caches, and parameters loaded from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.error import ShapeError, TVMError
from tvm.ffi import get_global_func
from tvm.runtime import tensor

pytestmark = pytest.mark.pure
shape = tvm.runtime.ShapeTuple


def _call(name: str, *args: object) -> object:
    return get_global_func(f"vm.builtin.{name}")(*args)


def _rows(value: int, count: int) -> object:
    return tensor(np.full((count, 2), value, "int32"))


def _cache(rows: int, filled: int = 0) -> object:
    return _call("attention_kv_cache_create", _rows(0, 1), shape([rows, 2]), filled)


def _values(cache: object, count: int) -> list[int]:
    made = _call("attention_kv_cache_view", cache, shape([count, 2]))
    return made.numpy()[:, 0].tolist()  # type: ignore[attr-defined,no-any-return]


def test_rows_are_appended_and_replaced() -> None:
    cache = _cache(1)
    for i in range(5):
        cache = _call("attention_kv_cache_append", cache, _rows(i, 1))
    assert _values(cache, 5) == [0, 1, 2, 3, 4]
    cache = _call("attention_kv_cache_update", cache, _rows(7, 5))
    assert _values(cache, 5) == [7] * 5
    with pytest.raises(ShapeError, match="as many as are set: 5"):
        _call("attention_kv_cache_update", cache, _rows(7, 4))
    with pytest.raises(ShapeError, match="attention_kv_cache: rows"):
        _call("attention_kv_cache_append", cache, tensor(np.zeros((1, 3), "int32")))
    with pytest.raises(ShapeError, match="attention_kv_cache_view"):
        _values(cache, 4)


def test_a_window_keeps_the_last_rows() -> None:
    cache = _cache(4)
    for i in range(1, 4):
        cache = _call("attention_kv_cache_window_override", cache, _rows(i, 2), 4)
    assert _values(cache, 4) == [3, 3, 2, 2]
    with pytest.raises(ShapeError, match="at most 4"):
        _call("attention_kv_cache_window_override", cache, _rows(0, 5), 4)


def test_a_window_with_sinks_keeps_the_first_rows_too() -> None:
    cache = _cache(4)
    for i in range(1, 7):
        cache = _call("attention_kv_cache_window_override_with_sinks", cache, _rows(i, 1), 4, 1)
    assert _values(cache, 4) == [1, 5, 6, 4]


def test_many_caches_at_once() -> None:
    caches = [_call("attention_kv_cache_append", _cache(2), _rows(3, 2)) for _ in range(2)]
    _call("attention_kv_cache_array_popn", caches, 1)
    assert [_values(cache, 1) for cache in caches] == [[3], [3]]
    _call("attention_kv_cache_array_clear", caches)
    with pytest.raises(ShapeError, match="at most 0"):
        _call("attention_kv_cache_array_popn", caches, 1)


def test_parameters_from_files(tmp_path: Path) -> None:
    a, b = np.arange(3, dtype="int32"), np.array([[1.5, -2.0]], "float32")
    halves = (b.view(np.uint32) >> 16).astype(np.uint16)
    data = a.tobytes() + halves.tobytes()
    (tmp_path / "shard.bin").write_bytes(data)
    records = [
        {"name": "w_0", "shape": [3], "dtype": "int32", "format": "raw", "nbytes": 12,
         "byteOffset": 0},
        {"name": "w_1", "shape": [1, 2], "dtype": "float32", "format": "f32-to-bf16", "nbytes": 4,
         "byteOffset": 12},
    ]  # fmt: skip
    shard = {"dataPath": "shard.bin", "format": "raw-shard", "nbytes": len(data),
             "records": records}  # fmt: skip
    (tmp_path / "tensor-cache.json").write_text(json.dumps({"metadata": {}, "records": [shard]}))
    _call("tensor_cache.clear")
    _call("tensor_cache.load", str(tmp_path), 1, 0)
    for found in (_call("param_array_from_cache", "w", -1),
                  _call("param_array_from_cache_by_name", ["w_0", "w_1"]),
                  _call("param_array_from_cache_by_name_unpacked", "w_0", "w_1")):  # fmt: skip
        assert [v.numpy().tolist() for v in found] == [[0, 1, 2], [[1.5, -2.0]]]  # type: ignore[attr-defined]
    for held in (_call("param_module_from_cache", "w", 2),
                 _call("param_module_from_cache_by_name", ["w_0", "w_1"])):  # fmt: skip
        params = held["get_params"]()  # type: ignore[index]
        assert [v.numpy().tolist() for v in params] == [[0, 1, 2], [[1.5, -2.0]]]
    with pytest.raises(TVMError, match="'w_2'"):
        _call("param_array_from_cache", "w", 3)
    with pytest.raises(TVMError, match="override"):
        _call("tensor_cache.update", "w_0", tensor(a), False)
    _call("tensor_cache.update", "w_0", tensor(a + 1), True)
    assert _call("tensor_cache.get", "w_0").numpy().tolist() == [1, 2, 3]  # type: ignore[attr-defined]
    _call("tensor_cache.remove", "w_0")
    assert _call("tensor_cache.get", "w_0") is None
    _call("tensor_cache.clear")
    with pytest.raises(TVMError, match="no description of the tensors"):
        _call("tensor_cache.load", str(tmp_path / "nowhere"), 1, 0)


def test_memory_is_given_back() -> None:
    assert _call("memory_manager.clear") is None


@pytest.mark.parametrize("name", ["../secret.bin", "/etc/hostname"])
def test_descriptions_name_files_of_their_own_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(b"1234")
    shard = {"dataPath": name, "nbytes": 4, "records": []}
    (folder / "tensor-cache.json").write_text(json.dumps({"records": [shard]}))
    with pytest.raises(TVMError, match="legal: files in its own folder"):
        _call("tensor_cache.load", str(folder), 1, 0)
