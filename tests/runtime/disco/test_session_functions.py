"""Sessions by name do what their methods do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm.exec import disco_worker
from tvm.runtime import ShapeTuple
from tvm.runtime import disco as di

pytestmark = pytest.mark.cpu
assert disco_worker.main is not None  # registers what the tests call on workers


def named(name: str) -> Any:
    return tvm.get_global_func(f"runtime.disco.{name}")


@pytest.mark.parametrize("make", [
    lambda: named("SessionThreaded")(2, 1),
    lambda: named("SessionProcess")(2, 1, "runtime.disco.create_process_pool",
                                    "tvm.exec.disco_worker"),
    lambda: named("SocketSession")(1, 2, 1, "127.0.0.1", 0),
])  # fmt: skip
def test_a_session(make: Any) -> None:
    sess = make()
    assert isinstance(sess, di.Session)
    assert named("SessionGetNumWorkers")(sess) == 2
    named("SessionInitCCL")(sess, "loopback", ShapeTuple([0, 1]))
    func = named("SessionGetGlobalFunc")(sess, "runtime.disco.worker_id")
    numbers = named("SessionCallPacked")(sess, 0, 0, func)
    assert [named("DRefDebugGetFromRemote")(numbers, i) for i in range(2)] == [0, 1]
    held = sess.empty((3,), "float32")
    named("DRefDebugCopyFrom")(held, 1, tvm.runtime.tensor(np.arange(3, dtype="float32")))
    assert held.debug_get_from_remote(1).numpy().tolist() == [0, 1, 2]
    here = tvm.runtime.tensor(np.full(3, 7, "float32"))
    named("SessionCopyToWorker0")(sess, here, held)
    back = tvm.runtime.tensor(np.zeros(3, "float32"))
    named("SessionCopyFromWorker0")(sess, back, held)
    named("SessionSyncWorker")(sess, 0)
    assert back.numpy().tolist() == [7, 7, 7]
    named("SessionShutdown")(sess)


def test_numbers_of_a_session_of_machines() -> None:
    named("socket_session_init_workers")(2, 1, 1, 2)
    with pytest.raises(ValueError, match="node 2 of 2"):
        named("socket_session_init_workers")(2, 2, 1, 2)
