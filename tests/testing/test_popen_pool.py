"""Functions for worker processes, run in one."""

from __future__ import annotations

import pytest

from tvm.contrib.popen_pool import PopenPoolExecutor, PopenWorker
from tvm.testing import popen_pool as helpers

pytestmark = pytest.mark.cpu


def test_state_is_set_by_the_initializer() -> None:
    worker = PopenWorker(helpers.initializer, [1, 2, 3])
    worker.send(helpers.after_initializer)
    assert worker.recv() == (1, 2, 3)


def test_functions_of_the_registry() -> None:
    worker = PopenWorker(helpers.register_ffi)
    for n, func in enumerate((helpers.call_py_ffi, helpers.call_cpp_ffi, helpers.call_cpp_py_ffi)):
        worker.send(func, [n])
        assert worker.recv() == n


def test_sums_and_time_limits() -> None:
    pool = PopenPoolExecutor(max_workers=2, timeout=600)
    results = [pool.submit(f, 1000) for f in (helpers.fast_summation, helpers.slow_summation)]
    assert [r.result() for r in results] == [500500, 500500]
    pool.shutdown()
    hurried = PopenPoolExecutor(max_workers=1, timeout=1)
    with pytest.raises(TimeoutError):
        hurried.submit(helpers.timeout_job, 600).result()
    hurried.shutdown()
