"""Exchange through the session and by gloo: the same arrays, between processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.runtime import disco as di
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.cpu
WORKERS = 4


@pytest.fixture(scope="module", params=["loopback", "gloo"])
def session(request: pytest.FixtureRequest) -> Iterator[di.Session]:
    if request.param == "gloo":
        pytest.importorskip("torch.distributed", reason="the extra `torch` brings gloo")
    made = di.ProcessSession(WORKERS, num_groups=2, entrypoint="tvm.exec.disco_worker")
    made.init_ccl(request.param, *range(WORKERS))
    yield made
    made.shutdown()


def held(value: Any) -> list[Any]:
    return [value.debug_get_from_remote(i).numpy() for i in range(WORKERS)]


def given(session: di.Session, values: np.ndarray[Any, Any]) -> Any:
    """A row of the values on each worker."""
    made = session.empty(values.shape[1:], str(values.dtype))
    for worker, row in enumerate(values):
        made.debug_copy_from(worker, row)
    return made


@pytest.mark.covering(2)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8", "int64", "uint16"])
@pytest.mark.parametrize("in_group", [True, False])
def test_collectives(session: di.Session, dtype: str, in_group: bool) -> None:
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    values = np.random.default_rng(4).integers(1, 5, (WORKERS, 2, 6)).astype(kind)
    groups = ((0, 1), (2, 3)) if in_group else ((0, 1, 2, 3),)
    size = len(groups[0])
    group_of = {worker: group for group in groups for worker in group}
    source = given(session, values)
    out = session.empty((2, 6), dtype)

    reducers = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
    for op, reduce in reducers.items():
        session.allreduce(source, out, op=op, in_group=in_group)
        for worker, got in enumerate(held(out)):
            expected = reduce.reduce(values[list(group_of[worker])]).astype(kind)
            np.testing.assert_array_equal(got, expected)

    wide = session.empty((size * 2, 6), dtype)
    session.allgather(source, wide, in_group=in_group)
    for worker, got in enumerate(held(wide)):
        np.testing.assert_array_equal(got, np.concatenate(values[list(group_of[worker])]))

    session.broadcast_from_worker0(source, out, in_group=in_group)
    for worker, got in enumerate(held(out)):
        np.testing.assert_array_equal(got, values[group_of[worker][0]])

    part = session.empty((2 * 6 // size,), dtype)
    session.scatter_from_worker0(source, part, in_group=in_group)
    for worker, got in enumerate(held(part)):
        root = values[group_of[worker][0]].reshape(size, -1)
        np.testing.assert_array_equal(got, root[group_of[worker].index(worker)])

    session.gather_to_worker0(source, wide, in_group=in_group)
    for group in groups:
        got = wide.debug_get_from_remote(group[0]).numpy()
        np.testing.assert_array_equal(got, np.concatenate(values[list(group)]))


def test_means(session: di.Session) -> None:
    values = np.arange(WORKERS * 3, dtype="float32").reshape(WORKERS, 3)
    out = session.empty((3,), "float32")
    session.allreduce(given(session, values), out, op="avg", in_group=False)
    for got in held(out):
        np.testing.assert_allclose(got, values.mean(0), rtol=1e-6)


def test_from_group_to_group(session: di.Session) -> None:
    values = np.arange(WORKERS * 3, dtype="float32").reshape(WORKERS, 3)
    buffer = given(session, values)
    send = session.get_global_func("runtime.disco.send_to_next_group")
    receive = session.get_global_func("runtime.disco.recv_from_prev_group")
    session._sync_all()
    send(buffer)
    receive(buffer)
    for worker in range(WORKERS):  # the first group has none before it, the last none behind
        with pytest.raises(TVMError, match="as the other end"):
            session._sync_worker(worker)
    for worker in (2, 3):
        got = buffer.debug_get_from_remote(worker).numpy()
        np.testing.assert_array_equal(got, values[worker - 2])


def test_a_sharded_network_is_as_the_whole(session: di.Session, tmp_path: Path) -> None:
    """Two layers with attention between: columns of the first product, rows of the last."""

    @I.ir_module
    class Shard:
        @R.function
        def main(
            x: R.Tensor((8, 16), "float32"), wq: R.Tensor((16, 4), "float32"),
            wk: R.Tensor((16, 4), "float32"), wv: R.Tensor((16, 4), "float32"),
            wo: R.Tensor((4, 16), "float32"),
        ) -> R.Tensor((8, 16), "float32"):  # fmt: skip
            q = R.matmul(x, wq)
            k = R.matmul(x, wk)
            v = R.matmul(x, wv)
            chances = R.nn.softmax(R.matmul(q, R.permute_dims(k)))
            mixed = R.matmul(R.matmul(chances, v), wo)
            total = R.ccl.allreduce(mixed, "sum", False)
            return R.nn.relu(total)

    rng = np.random.default_rng(7)
    x = rng.standard_normal((8, 16)).astype("float32")
    weights = [rng.standard_normal((WORKERS, 16, 4)).astype("float32") * 0.3 for _ in "qkv"]
    last = rng.standard_normal((WORKERS, 4, 16)).astype("float32") * 0.3
    expected = np.zeros((8, 16))
    for wq, wk, wv, wo in zip(*weights, last):
        scores = np.exp((x @ wq) @ (x @ wk).T)
        expected += scores / scores.sum(1, keepdims=True) @ (x @ wv) @ wo
    path = tmp_path / "shard.so"
    relax.build(Shard, "llvm").export_library(str(path))
    mod = session.load_vm_module(str(path))
    everywhere = given(session, np.stack([x] * WORKERS))
    shards = [given(session, values) for values in (*weights, last)]
    for got in held(mod["main"](everywhere, *shards)):
        np.testing.assert_allclose(got, np.maximum(expected, 0), rtol=1e-4, atol=1e-4)


def test_gloo_leaves_the_machine_only_where_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch.distributed", reason="the extra `torch` brings gloo")
    monkeypatch.setenv("TVM_DISCO_HOST", "10.0.0.7")
    monkeypatch.delenv("TVM_RPC_TLS", raising=False)
    session = di.ThreadedSession(1)
    with pytest.raises(TVMError, match="neither encrypts nor asks who comes"):
        session.init_ccl("gloo", 0)


def test_threads_meet_by_gloo_too() -> None:
    pytest.importorskip("torch.distributed", reason="the extra `torch` brings gloo")
    session = di.ThreadedSession(2)
    session.init_ccl("gloo", 0, 1)
    out = session.empty((2,), "float32")
    session.allreduce(session.scatter(np.array([[1, 2], [3, 4]], "float32")), out)
    assert [out.debug_get_from_remote(i).numpy().tolist() for i in range(2)] == [[4.0, 6.0]] * 2
    assert tvm.get_global_func("runtime.disco.compiled_ccl")() == "loopback"
