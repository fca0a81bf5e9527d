"""Functions of the runtime by name."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import runtime
from tvm.ffi import get_global_func
from tvm.runtime import threads

pytestmark = pytest.mark.pure


def test_threads() -> None:
    get_global_func("runtime.config_threadpool")(1, 3)
    assert get_global_func("runtime.NumThreads")() == 3 == runtime.num_threads()
    get_global_func("runtime.config_threadpool")(1, 0)
    assert runtime.num_threads() == threads.thread_count()


def test_parameters() -> None:
    data = get_global_func("runtime.SaveParams")({"a": runtime.tensor(np.ones(2))})
    loaded = get_global_func("runtime.LoadParams")(data)
    np.testing.assert_array_equal(loaded["a"].numpy(), [1, 1])


def test_what_can_run() -> None:
    assert get_global_func("runtime.RuntimeEnabled")("llvm")
