"""Parameters as bytes."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tvm.error import TVMError
from tvm.runtime import (
    empty,
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
    tensor,
)
from tvm.runtime.digest import MARK

pytestmark = pytest.mark.pure


def params() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "weight": rng.normal(size=(3, 4)).astype("float32"),
        "größe": np.array(7, "int64"),
        "empty": np.zeros((0, 2), "int8"),
        "flags": np.array([True, False]),
        "small": np.arange(5).astype(ml_dtypes.bfloat16),
    }


def test_they_come_back_as_they_were(tmp_path: Path) -> None:
    given = params()
    data = save_param_dict({name: tensor(values) for name, values in given.items()})
    assert data == save_param_dict(given)
    save_param_dict_to_file(given, tmp_path / "p.params")
    for loaded in (load_param_dict(data), load_param_dict_from_file(tmp_path / "p.params")):
        assert list(loaded) == list(given)
        for name, values in given.items():
            np.testing.assert_array_equal(loaded[name].numpy(), values)
            assert loaded[name].numpy().dtype == values.dtype


def test_the_format_is_the_known_one() -> None:
    data = save_param_dict({"a": np.array([1, 2], "float32")})
    head = struct.pack("<QQQQ1sQ", 0xF7E58D4F05049CB7, 0, 1, 1, b"a", 1)
    body = struct.pack("<QQiiiBBHqq2f", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 2, 8, 1.0, 2.0)
    assert data == head + body


def test_each_truncation_is_refused() -> None:
    data = save_param_dict({"a": np.arange(3, dtype="float32")})
    for length in range(len(data)):
        with pytest.raises(TVMError, match="load parameters\n  found: damaged data"):
            load_param_dict(data[:length])


def test_random_damage_never_gives_another_error() -> None:
    rng = np.random.default_rng(1)
    data = bytearray(save_param_dict(params()))
    for _ in range(300):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] ^= 1 << rng.integers(8)
        with contextlib.suppress(TVMError):
            load_param_dict(damaged)


def test_vectors_keep_their_type() -> None:
    vectors = empty((2,), "float32x4").copyfrom(np.arange(8.0).reshape(2, 4))
    back = load_param_dict(save_param_dict({"v": vectors}))["v"]
    assert (str(back.dtype), tuple(back.shape)) == ("float32x4", (2,))
    np.testing.assert_array_equal(back.numpy(), vectors.numpy())


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.params"
    save_param_dict_to_file({"w": np.ones(64, "float32")}, path)
    whole = path.read_bytes()
    for place in [*range(0, whole.index(MARK), 7), whole.index(MARK) + 3]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(TVMError, match=r"damaged"):
            load_param_dict_from_file(path)


def test_files_without_a_digest_are_read(tmp_path: Path) -> None:
    """As others write them."""
    path = tmp_path / "p.params"
    path.write_bytes(save_param_dict({"w": np.arange(3.0)}))
    assert load_param_dict_from_file(path)["w"].numpy().tolist() == [0, 1, 2]
