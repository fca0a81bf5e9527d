"""Sessions of threads, processes and several machines do the same."""

from __future__ import annotations

import contextlib
import gc
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.exec import disco_worker
from tvm.runtime import ShapeTuple, String, handshake
from tvm.runtime import disco as di
from tvm.runtime.disco.session import DISCO_MAGIC, _joined
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
assert disco_worker.main is not None  # registers what the tests call on workers


def sockets(num_workers: int, num_groups: int = 1) -> di.Session:
    """Half of the workers here, half in another process that joins over the network."""
    with socket.create_server(("localhost", 0)) as probe:
        port = probe.getsockname()[1]
    found: list[di.Session] = []
    half = num_workers // 2
    listen = threading.Thread(
        target=lambda: found.append(di.SocketSession(2, half, num_groups, "localhost", port))
    )
    listen.start()
    joins = "import sys, time, tvm.exec.disco_remote_socket_session as s\n" + (
        "for _ in range(6000):\n"
        "    try: s.main(); break\n"
        "    except ConnectionRefusedError: time.sleep(0.05)"
    )
    command = [sys.executable, "-c", joins, "localhost", str(port), str(half)]
    other = subprocess.Popen(command)
    listen.join()
    found[0].other = other  # type: ignore[attr-defined]
    return found[0]


KINDS = {"threads": di.ThreadedSession, "processes": di.ProcessSession, "sockets": sockets}


@pytest.fixture(scope="module", params=KINDS)
def sess(request: pytest.FixtureRequest) -> Iterator[di.Session]:
    session = KINDS[request.param](4)
    yield session
    session.shutdown()
    if hasattr(session, "other"):
        assert session.other.wait(600) == 0


@pytest.fixture(scope="module")
def pairs() -> Iterator[di.Session]:
    """Two groups of two workers."""
    session = di.ThreadedSession(4, num_groups=2)
    yield session
    session.shutdown()


def on_all(ref: di.DRef) -> list:
    return [
        value.numpy().tolist() if hasattr(value, "numpy") else value
        for value in (ref.debug_get_from_remote(i) for i in range(ref.session.num_workers))
    ]


def test_values(sess: di.Session) -> None:
    assert sess.num_workers == 4
    add_one = sess.get_global_func("tests.disco.add_one")
    assert isinstance(add_one, di.DPackedFunc)
    assert on_all(add_one(1)) == [2] * 4
    assert on_all(add_one(add_one(1))) == [3] * 4
    assert on_all(sess.get_global_func("tests.disco.add_one_float")(1.5)) == [2.0] * 4
    assert on_all(sess.get_global_func("tests.disco.str")("hello")) == ["hello_suffix"] * 4
    assert on_all(sess.get_global_func("tests.disco.str_obj")(String("a"))) == ["a_suffix"] * 4
    shapes = on_all(sess.get_global_func("tests.disco.shape_tuple")(ShapeTuple([1, 2, 3])))
    assert [tuple(shape) for shape in shapes] == [(1, 2, 3, 4, 5)] * 4
    assert on_all(sess.get_global_func("runtime.disco.worker_id")()) == [0, 1, 2, 3]


def test_tensors_go_to_worker_0_and_back(sess: di.Session) -> None:
    values = np.arange(12, dtype="float32").reshape(3, 4)
    there = sess.empty((3, 4), "float32")
    sess.copy_to_worker_0(tvm.runtime.tensor(values), there)
    more = sess.get_global_func("tests.disco.add_one_tensor")(there)
    here = tvm.runtime.empty((3, 4), "float32")
    sess.copy_from_worker_0(here, more)
    sess.sync_worker_0()
    np.testing.assert_array_equal(here.numpy(), values + 1)
    there.debug_copy_from(3, values * 2)
    np.testing.assert_array_equal(there.debug_get_from_remote(3).numpy(), values * 2)


def test_exchange(sess: di.Session) -> None:
    rows = np.arange(8, dtype="float32").reshape(4, 2)
    assert on_all(sess.broadcast(rows)) == [rows.tolist()] * 4
    parts = sess.scatter(rows)
    assert on_all(parts) == rows.tolist()
    out = sess.empty((2,), "float32")
    for op, wanted in (
        ("sum", rows.sum(0)), ("prod", rows.prod(0)), ("min", rows.min(0)), ("max", rows.max(0)),
        ("avg", rows.mean(0)),
    ):  # fmt: skip
        sess.allreduce(parts, out, op=op)
        assert on_all(out) == [wanted.tolist()] * 4
    whole = sess.empty((4, 2), "float32", worker0_only=True)
    sess.gather_to_worker0(parts, whole)
    assert on_all(whole) == [rows.tolist(), None, None, None]
    everywhere = sess.empty((4, 2), "float32")
    sess.allgather(parts, everywhere)
    assert on_all(everywhere) == [rows.tolist()] * 4


def test_groups_keep_to_themselves(pairs: di.Session) -> None:
    assert on_all(pairs.get_global_func("runtime.disco.worker_rank")()) == [0, 1, 0, 1]
    first = pairs.empty((2, 3), "float32", worker0_only=True, in_group=True)
    assert [x is None for x in on_all(first)] == [False, True, False, True]
    values = np.arange(6, dtype="float32").reshape(2, 3)
    first.debug_copy_from(0, values)
    first.debug_copy_from(2, -values)
    all_of_it, row = pairs.empty((2, 3), "float32"), pairs.empty((3,), "float32")
    pairs.broadcast_from_worker0(first, all_of_it)
    assert on_all(all_of_it) == [values.tolist()] * 2 + [(-values).tolist()] * 2
    pairs.scatter_from_worker0(first, row)
    assert on_all(row) == [values[0].tolist(), values[1].tolist(),
                           (-values[0]).tolist(), (-values[1]).tolist()]  # fmt: skip
    out = pairs.empty((3,), "float32")
    pairs.allreduce(row, out)
    assert on_all(out)[0] == values.sum(0).tolist()
    assert on_all(out)[3] == (-values.sum(0)).tolist()
    pairs.allreduce(row, out, in_group=False)
    assert on_all(out) == [[0.0] * 3] * 4


def test_groups_pass_on(pairs: di.Session) -> None:
    buffer = pairs.empty((1,), "float32")
    for i in range(4):
        buffer.debug_copy_from(i, np.array([i], "float32"))
    for i, name in enumerate(("send_to_next_group", "recv_from_prev_group")):
        func = pairs.get_global_func(f"runtime.disco.{name}")
        register = pairs._new()
        for worker in (0, 1) if i == 0 else (2, 3):
            pairs._hub.tell(
                worker,
                ["call", register.number, di.session.Ref(func.reg_id),
                 [di.session.Ref(buffer.reg_id)]],
            )  # fmt: skip
    assert on_all(buffer) == [[0.0], [1.0], [0.0], [1.0]]


@I.ir_module
class Program:
    @T.prim_func
    def transpose(A: T.Buffer((8, 16), "float32"), B: T.Buffer((16, 8), "float32")):
        for i, j in T.grid(16, 8):
            with T.block("transpose"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    @R.function
    def main(A: R.Tensor((8, 16), "float32")) -> R.Tensor((16, 8), "float32"):
        cls = Program
        with R.dataflow():
            B = R.call_tir(cls.transpose, (A,), out_sinfo=R.Tensor((16, 8), "float32"))
            R.output(B)
        return B


def test_relax_programs(sess: di.Session, tmp_path: Path) -> None:
    path = tmp_path / "program.so"
    relax.build(Program, target="llvm").export_library(path)
    values = np.arange(128, dtype="float32").reshape(8, 16)
    mod = sess.load_vm_module(str(path))
    path.unlink()  # all workers have read it
    assert isinstance(mod, di.DModule)
    assert on_all(mod["main"](sess.broadcast(values))) == [values.T.tolist()] * 4


def test_relax_programs_that_exchange() -> None:
    @I.ir_module
    class Sum:
        @R.function
        def main(A: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            B = R.ccl.allreduce(A, "sum")
            return B

    session = di.ThreadedSession(2)
    executable = relax.build(Sum, target="llvm")
    tvm.register_global_func("testing.vm", lambda: relax.VirtualMachine(executable, tvm.cpu()),
                             override=True)  # fmt: skip
    mod = di.DModule(session.get_global_func("testing.vm")(), session)
    out = mod["main"](session.scatter(np.array([[1, 2], [3, 4]], "float32")))
    assert on_all(out) == [[4.0, 6.0]] * 2


def test_what_goes_wrong_is_told_at_the_next_question(sess: di.Session) -> None:
    missing = sess.get_global_func("testing.nobody_has_this")
    with pytest.raises(ValueError, match=r"cannot find global function(?s:.*)where: worker 0"):
        sess.sync_worker_0()
    with pytest.raises(ValueError, match="where: worker 1"):
        missing.debug_get_from_remote(1)
    for i in (2, 3):
        with pytest.raises(ValueError, match=f"where: worker {i}"):
            sess._sync_worker(i)
    sess._sync_all()
    with pytest.raises(ValueError, match="legal: a first dimension of 4"):
        sess.scatter(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="Unsupported reduce op: mul"):
        sess.allreduce(missing, missing, op="mul")
    with pytest.raises(ValueError, match="legal: 0 to 3"):
        missing.debug_get_from_remote(4)
    with pytest.raises(ValueError, match="the library 'nccl', which is not"):
        sess.init_ccl("nccl", 0, 1, 2, 3)
    sess.init_ccl("loopback", 0, 0, 0, 0)


def test_shapes_that_do_not_fit() -> None:
    session = di.ThreadedSession(3)
    session.broadcast(np.zeros(4, "float32"), session.empty((5,), "float32"))
    with pytest.raises(TVMError, match="4 elements"):
        session.sync_worker_0()
    with pytest.raises(ValueError, match="3 workers in 2 groups"):
        di.ThreadedSession(3, num_groups=2)


def test_values_that_nobody_holds_are_dropped() -> None:
    session = di.ThreadedSession(1)
    kept = session.get_global_func("tests.disco.add_one")
    session._sync_all()
    tvm.register_global_func("testing.count_values", _count_values, override=True)
    worker_values = session.get_global_func("testing.count_values")
    before = worker_values().debug_get_from_remote(0)
    for _ in range(10):
        kept(1)
    gc.collect()
    assert worker_values().debug_get_from_remote(0) <= before + 1


def _count_values() -> int:
    from tvm.runtime.disco.worker import current_worker

    return len(current_worker()._values)


def test_a_worker_that_dies_is_noticed() -> None:
    session = di.ProcessSession(2)
    session._sync_all()
    session._processes[0].kill()
    with pytest.raises(TVMError, match="worker 1 of the session has ended"):
        session._sync_worker(1)
    session.shutdown()


def test_functions_of_workers_need_a_worker() -> None:
    with pytest.raises(TVMError, match="a thread that is no worker"):
        tvm.get_global_func("runtime.disco.worker_id")()


def test_strangers_do_not_become_workers() -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        stranger = socket.create_connection(("localhost", port))
        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")

        def join() -> None:
            sock = socket.create_connection(("localhost", port))
            handshake.connect(sock, DISCO_MAGIC)
            sock.recv(1)
            sock.close()

        worker = threading.Thread(target=join)
        worker.start()
        channel = _joined(server, 1, 2, 1)
        worker.join()
        channel.close()
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(1) == b""
        stranger.close()
