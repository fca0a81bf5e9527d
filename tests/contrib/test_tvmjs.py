"""Parameters as shards, written and loaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.contrib import tvmjs

pytestmark = pytest.mark.pure
PARAMS = {
    "x_0": np.array([1, 2, 3], "int32"),
    "x_1": np.linspace(-2, 3, 200, dtype="float32").reshape(10, 20),
}


def test_the_machine_loads_what_was_written(tmp_path: Path) -> None:
    tvmjs.dump_tensor_cache(PARAMS, str(tmp_path), show_progress=False)
    load = tvm.get_global_func("vm.builtin.tensor_cache.load")
    load(str(tmp_path), tvm.cpu().dlpack_device_type(), 0)
    ints, floats = tvm.get_global_func("vm.builtin.param_array_from_cache")("x", -1)
    np.testing.assert_array_equal(ints.numpy(), PARAMS["x_0"])
    rounded = tvmjs._convert_bf16_to_f32(tvmjs._convert_f32_to_bf16(PARAMS["x_1"]))
    np.testing.assert_array_equal(floats.numpy(), rounded)
    np.testing.assert_allclose(rounded, PARAMS["x_1"], rtol=2**-8)
    narrow = json.loads((tmp_path / "tensor-cache-b16.json").read_text())
    assert narrow["records"][0]["records"][1]["dtype"] == "bfloat16"
    tvm.get_global_func("vm.builtin.tensor_cache.clear")()


def test_parameters_are_added_and_replaced(tmp_path: Path) -> None:
    tvmjs.dump_tensor_cache(PARAMS, tmp_path, "raw", {"model": "m"}, show_progress=False)
    later = {"x_1": PARAMS["x_1"] + 1, "x_2": tvm.runtime.tensor(np.ones(2, "float16"))}
    tvmjs.dump_tensor_cache(later.items(), tmp_path, "raw", show_progress=False,
                            update_if_exists=True)  # fmt: skip
    loaded, metadata = tvmjs.load_tensor_cache(tmp_path, tvm.cpu())
    assert list(loaded) == ["x_0", "x_1", "x_2"]
    np.testing.assert_array_equal(loaded["x_1"].numpy(), PARAMS["x_1"] + 1)
    assert str(loaded["x_2"].dtype) == "float16"
    assert metadata == {"model": "m", "ParamSize": 3}


def test_shards_are_as_large_as_they_may_be(tmp_path: Path) -> None:
    params = {f"p{i}": np.full(300_000, i, "float32") for i in range(4)}
    tvmjs.dump_tensor_cache(params, tmp_path, "raw", shard_cap_mb=3, show_progress=False)
    shards = json.loads((tmp_path / "tensor-cache.json").read_text())["records"]
    assert [len(shard["records"]) for shard in shards] == [2, 2]
    loaded, _ = tvmjs.load_tensor_cache(tmp_path / "tensor-cache.json", tvm.cpu())
    assert [value.numpy()[7] for value in loaded.values()] == [0, 1, 2, 3]


def test_progress_and_what_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tvmjs.dump_tensor_cache(PARAMS, tmp_path)
    assert "[0002/0002] x_1" in capsys.readouterr().out
    with pytest.raises(ValueError, match="encode_format 'zip'"):
        tvmjs.dump_tensor_cache(PARAMS, tmp_path, "zip")
    with pytest.raises(ValueError, match="no such description"):
        tvmjs.load_tensor_cache(tmp_path / "none", tvm.cpu())


@pytest.mark.parametrize("load", ["tvmjs", "machine"])
def test_damaged_shards_are_refused(tmp_path: Path, load: str) -> None:
    tvmjs.dump_tensor_cache({"w": np.ones(64, "float32")}, tmp_path, show_progress=False)
    shard = tmp_path / "params_shard_0.bin"
    data = bytearray(shard.read_bytes())
    data[17] ^= 1
    shard.write_bytes(data)
    machine = tvm.get_global_func("vm.builtin.tensor_cache.load")
    read = {
        "tvmjs": lambda: tvmjs.load_tensor_cache(tmp_path, tvm.cpu()),
        "machine": lambda: machine(str(tmp_path), 1, 0),
    }[load]
    with pytest.raises(tvm.error.TVMError, match="do not fit their digest"):
        read()
