"""Modules are exported, loaded and run as their users would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.script import tir as T
from tvm.testing.runner import local_run, rpc_run

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def scaled() -> Any:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), n: T.int32, B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.Cast("float32", n)

    return tvm.compile(main, target="llvm")


ARGS = [np.arange(4, dtype="float32"), 3, tvm.runtime.tensor(np.zeros(4, "float32"))]


class Config:
    number, repeat, min_repeat_ms, enable_cpu_cache_flush = 2, 3, 0, True


def test_results_and_times(scaled: Any) -> None:
    results, timing = local_run(scaled, "cpu", ARGS, evaluator_config=Config())
    np.testing.assert_array_equal(results[2], ARGS[0] * 3)
    assert results[1] == 3
    assert len(timing.results) == 3
    np.testing.assert_array_equal(ARGS[2].numpy(), 0)       # the caller's own stay as they were


def test_on_a_server(scaled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server = rpc.Server("127.0.0.1", key="test")
    try:

        class Here:
            def connect_server(self) -> Any:
                return rpc.connect("127.0.0.1", server.port, key="test")

        results, timing = rpc_run(scaled, "cpu", ARGS, Config(), Here())
    finally:
        server.terminate()
    np.testing.assert_array_equal(results[2], ARGS[0] * 3)
    assert len(timing.results) == 3
    for name in ("HOST", "PORT", "KEY"):
        monkeypatch.delenv(f"TVM_TRACKER_{name}", raising=False)
    with pytest.raises(ValueError, match="no environment variable TVM_TRACKER_HOST"):
        rpc_run(scaled, "cpu", ARGS)


def test_an_export_of_the_callers(scaled: Any) -> None:
    seen = []

    def export(mod: Any, path: str) -> None:
        seen.append(Path(path).suffix)
        mod.export_library(path)

    results, _ = local_run(scaled, "cpu", ARGS, Config(), export, output_format="so")
    np.testing.assert_array_equal(results[2], ARGS[0] * 3)
    assert seen == [".so"]


def test_refused(scaled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no output_format"):
        local_run(scaled, "cpu", ARGS, export_func=lambda mod, path: None)
    with pytest.raises(ValueError, match="export_func='zip'"):
        local_run(scaled, "cpu", ARGS, export_func="zip")
    monkeypatch.delenv("TVM_NDK_CC", raising=False)
    with pytest.raises(RuntimeError, match="no environment variable TVM_NDK_CC"):
        local_run(scaled, "cpu", ARGS, export_func="ndk")
