"""Worker processes that compile, and what becomes of those that fail."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Add, Matmul
from tvm.ffi import get_global_func
from tvm.meta_schedule.builder import BuilderInput, LocalBuilder
from tvm.meta_schedule.utils import remove_build_dir
from tvm.runtime import empty, load_module, tensor
from tvm.target import Target

pytestmark = pytest.mark.cpu
LLVM = Target("llvm")


def test_built_files_compute() -> None:
    builder = LocalBuilder(max_workers=1)
    results = builder.build([BuilderInput(mod, LLVM) for mod in (Add, Matmul)])
    assert [r.error_msg for r in results] == [None, None]
    a = np.random.default_rng(0).random(32, "float32")
    out = empty((32,), "float32")
    load_module(results[0].artifact_path)["main"](tensor(a), tensor(a), out)
    np.testing.assert_allclose(out.numpy(), a + a)
    for result in results:
        remove_build_dir(result.artifact_path)
        assert not Path(result.artifact_path).exists()


def _fails(mod: Any, target: Any, params: Any) -> Any:
    raise ValueError("built to fail")


def _is_matmul(mod: Any) -> bool:
    """Looks at a field only: what takes no time needs no time limit."""
    return len(_first(mod).shape) == 2


def _first(mod: Any) -> Any:
    return next(iter(mod["main"].buffer_map.values()))


def _crashes_for_matmul(mod: Any, target: Any, params: Any) -> Any:
    if _is_matmul(mod):
        os.abort()
    return str(os.getpid())


def _hangs_for_matmul(mod: Any, target: Any, params: Any) -> Any:
    if _is_matmul(mod):
        time.sleep(6000)
    return str(os.getpid())


def _as_it_is(module: Any) -> str:
    return module


def test_errors_are_results() -> None:
    (result,) = LocalBuilder(max_workers=1, f_build=_fails).build([BuilderInput(Add, LLVM)])
    assert result.artifact_path is None
    assert result.error_msg == "LocalBuilder: An exception occurred\nbuilt to fail"


@pytest.mark.parametrize(
    ("f_build", "timeout_sec", "why"),
    [
        (_crashes_for_matmul, 600.0, "An exception occurred\nthe worker process died"),
        (_hangs_for_matmul, 2.0, "Timeout, killed after 2.0 seconds"),
    ],
)
def test_a_lost_worker_is_replaced(f_build: Any, timeout_sec: float, why: str) -> None:
    builder = LocalBuilder(
        max_workers=1, timeout_sec=timeout_sec, f_build=f_build, f_export=_as_it_is
    )
    builder.build([BuilderInput(Add, LLVM)])  # imports take their time, and not of the next
    results = builder.build([BuilderInput(mod, LLVM) for mod in (Add, Matmul, Add, Add)])
    assert [r.error_msg for r in results] == [None, f"LocalBuilder: {why}", None, None]
    before, _, after, last = (r.artifact_path for r in results)
    assert before != after == last, "a new process, which lives on"


def _register() -> None:
    @tvm.register_global_func("tests.builder.build", override=True)
    def build(mod: Any, target: Any, params: Any) -> str:
        return "built"

    @tvm.register_global_func("tests.builder.export", override=True)
    def export(module: Any) -> str:
        raise RuntimeError("no room")


def test_functions_that_only_workers_know() -> None:
    builder = LocalBuilder(
        max_workers=1,
        f_build="tests.builder.build",
        f_export="tests.builder.export",
        initializer=_register,
    )
    (result,) = builder.build([BuilderInput(Add, LLVM)])
    assert result.error_msg.startswith("LocalBuilder: An exception occurred\n")
    assert "no room" in result.error_msg


def test_unknown_function() -> None:
    with pytest.raises(ValueError, match=r"'wrong-name' is not registered on the worker process"):
        LocalBuilder(f_build="wrong-name")


def test_by_name() -> None:
    assert isinstance(get_global_func("meta_schedule.builder.get_local_builder")(), LocalBuilder)
