"""What workers do together, as far as sessions have no method for it."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.ffi import library
from tvm.runtime import disco as di

pytestmark = pytest.mark.cpu


def test_one_worker_sends_and_another_receives() -> None:
    session = di.ThreadedSession(2)

    def swap(value: object) -> None:
        me = tvm.get_global_func("runtime.disco.worker_id")()
        tvm.get_global_func("runtime.disco.send_to_worker")(value, 1 - me)
        tvm.get_global_func("runtime.disco.recv_from_worker")(value, 1 - me)

    tvm.register_global_func("testing.swap", swap, override=True)
    value = session.scatter(np.array([[1.0], [2.0]], "float32"))
    session.get_global_func("testing.swap")(value)
    found = [value.debug_get_from_remote(i).numpy().tolist() for i in range(2)]
    assert found == [[2.0], [1.0]]
    session.get_global_func("runtime.disco.send_to_worker")(value, 5)
    with pytest.raises(TVMError, match="worker 5 as the other end"):
        session.sync_worker_0()


def test_what_a_worker_knows() -> None:
    session = di.ThreadedSession(2)
    assert session.get_global_func("runtime.disco.device")().debug_get_from_remote(1) == tvm.cpu()
    ccl = session.get_global_func("runtime.disco.compiled_ccl")()
    assert ccl.debug_get_from_remote(0) == "loopback"
    session.get_global_func("runtime.disco.sync_worker")()
    session._sync_all()
    session.import_python_module("json")
    session._sync_all()
    session.import_python_module("no_such_module_anywhere")
    with pytest.raises(RuntimeError, match="no_such_module_anywhere"):
        session._sync_worker(1)


def test_a_worker_stays_on_its_core() -> None:
    session = di.ThreadedSession(1)
    core = min(os.sched_getaffinity(0))
    session.get_global_func("runtime.disco.bind_worker_to_cpu_core")(library().Shape([core]))
    tvm.register_global_func(
        "testing.cores", lambda: list(os.sched_getaffinity(0)), override=True
    )
    cores = session.get_global_func("testing.cores")().debug_get_from_remote(0)
    assert list(cores) == [core]
    assert core in os.sched_getaffinity(0)


def test_tensors_that_cannot_be_shared_out() -> None:
    session = di.ThreadedSession(3)
    source = session.copy_to_worker_0(tvm.runtime.tensor(np.zeros(4, "float32")))
    session.scatter_from_worker0(source, session.empty((1,), "float32"))
    with pytest.raises(TVMError, match="legal: a multiple of 3"):
        session.sync_worker_0()
