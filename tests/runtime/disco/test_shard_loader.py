"""Parameters from files reach the workers in parts, as a whole, or as they were parted before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.contrib import tvmjs
from tvm.error import TVMError
from tvm.runtime import ShapeTuple
from tvm.runtime import disco as di

pytestmark = pytest.mark.cpu
W0 = np.random.default_rng(0).random((64, 128)).astype("float16")
W1 = np.random.default_rng(1).random((32, 128)).astype("float32")


@tvm.register_global_func("testing.disco.rows", override=True)
def rows(src: Any, count: int, out: Any) -> None:
    values = src.numpy()
    out.copyfrom(values.reshape(count, values.shape[0] // count, values.shape[1]))


@tvm.register_global_func("testing.disco.columns", override=True)
def columns(src: Any, count: int, out: Any) -> None:
    values = src.numpy()
    parts = values.reshape(values.shape[0], count, values.shape[1] // count)
    out.copyfrom(np.ascontiguousarray(parts.transpose(1, 0, 2)))


@tvm.register_global_func("testing.disco.twice", override=True)
def twice(src: Any, out: Any) -> None:
    out.copyfrom(src.numpy() * 2)


COLUMNS = ["testing.disco.columns", [[2, 64, 64], "float16"], 2]
ROWS = ["testing.disco.rows", [[2, 16, 128], "float32"], 2]


@pytest.fixture(scope="module", params=["threads", "processes"])
def sess(request: pytest.FixtureRequest) -> Iterator[di.Session]:
    make = {"threads": di.ThreadedSession, "processes": di.ProcessSession}[request.param]
    found = make(2)
    found.init_ccl("loopback", 0, 1)
    yield found
    found.shutdown()


def loader(sess: di.Session, folder: Path, params: dict, info: dict) -> di.DRef:
    tvmjs.dump_tensor_cache(params, str(folder), "raw", show_progress=False)
    path = folder / "tensor-cache.json"
    make = sess.get_global_func("runtime.disco.ShardLoader")
    return make(str(path), path.read_text(), json.dumps(info), None)


def parts(ref: di.DRef) -> list[np.ndarray]:
    return [ref.debug_get_from_remote(i).numpy() for i in range(2)]


def test_parts(sess: di.Session, tmp_path: Path) -> None:
    held = loader(sess, tmp_path, {"x_0": W0, "x_1": W1}, {"x_0": [COLUMNS], "x_1": [ROWS]})
    load = sess.get_global_func("runtime.disco.ShardLoaderLoad")
    first, second = parts(load(held, ShapeTuple([0]))), parts(load(held, ShapeTuple([1])))
    for worker in range(2):
        np.testing.assert_equal(first[worker], W0[:, 64 * worker : 64 * worker + 64])
        np.testing.assert_equal(second[worker], W1[16 * worker : 16 * worker + 16])


def test_all_of_them_some_after_two_steps(sess: di.Session, tmp_path: Path) -> None:
    info = {"b": [["testing.disco.twice", [[32, 128], "float32"]], ROWS]}
    held = loader(sess, tmp_path, {"a": W0, "b": W1}, info)
    found = sess.get_global_func("runtime.disco.ShardLoaderLoadAll")(held)
    for worker in range(2):
        whole, part = found.debug_get_from_remote(worker)
        np.testing.assert_equal(whole.numpy(), W0)
        np.testing.assert_equal(part.numpy(), 2 * W1[16 * worker : 16 * worker + 16])


def test_whole_on_the_first_worker(sess: di.Session, tmp_path: Path) -> None:
    held = loader(sess, tmp_path, {"a": W0}, {})
    load = sess.get_global_func("runtime.disco.ShardLoaderLoadParamOnWorker0")
    first, second = parts(load(held, ShapeTuple([0])))
    np.testing.assert_equal(first, W0)
    assert second.shape == W0.shape
    assert second.dtype == W0.dtype


@pytest.mark.parametrize("name", ["{}_shard-{}-of-2", "{}_shard-{}"])
def test_parted_before(sess: di.Session, tmp_path: Path, name: str) -> None:
    params = {name.format("w", i + 1): W1[16 * i : 16 * i + 16] for i in range(2)}
    held = loader(sess, tmp_path, {"bias": W0, **params}, {})
    every = sess.get_global_func("runtime.disco.ShardLoaderLoadAllPresharded")(held)
    one = sess.get_global_func("runtime.disco.ShardLoaderLoadPresharded")(held, ShapeTuple([1]))
    for worker in range(2):
        bias, part = every.debug_get_from_remote(worker)
        np.testing.assert_equal(bias.numpy(), W0)
        np.testing.assert_equal(part.numpy(), W1[16 * worker : 16 * worker + 16])
        np.testing.assert_equal(parts(one)[worker], part.numpy())


def test_what_cannot_be_loaded(sess: di.Session, tmp_path: Path) -> None:
    wrong = {"x_0": [["testing.disco.columns", [[4, 64, 32], "float16"], 4]]}
    held = loader(sess, tmp_path, {"x_0": W0, "w_shard-1": W1}, wrong)
    asked = {
        ("ShardLoaderLoad", 0): "4 shards for 2 workers",
        ("ShardLoaderLoad", 7): "legal: 0 to 1",
        ("ShardLoaderLoadPresharded", 1): "1 parts for 2 workers",
    }
    for (name, index), said in asked.items():
        sess.get_global_func(f"runtime.disco.{name}")(held, ShapeTuple([index]))
        for worker in range(2):
            with pytest.raises(TVMError, match=said):
                sess._sync_worker(worker)
    (tmp_path / "params_shard_0.bin").write_bytes(b"short")
    load = sess.get_global_func("runtime.disco.ShardLoaderLoadParamOnWorker0")
    load(held, ShapeTuple([0]))
    with pytest.raises(TVMError, match=r"params_shard_0\.bin\s+found: 5 bytes"):
        sess.sync_worker_0()
