"""CUDA devices by cuda-bindings: on a driver that stands in for one (cuda_driver.cpp)."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device.harness import compiler
from tests.runtime.device_api import programs
from tvm.error import TVMError
from tvm.runtime.cuda_module import CUDAModule
from tvm.runtime.device_api import kinds
from tvm.support.kernel_info import KernelInfo

pytestmark = pytest.mark.device
HOME = Path(__file__).parent
NAMES = (
    "attributes", "tensors", "memory_that_is_not_there", "graphs", "a_second_device",
    "streams_follow_each_other", "threads_have_streams", "memory_comes_back",
    "numbers_as_arguments", "kernels_of_binaries", "launches_are_recorded",
    "time_is_the_device_s", "regions_of_graphs_are_recorded", "exported_programs",
)  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each program of cuda_programs said in a process of its own."""
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run(
        [compiler(), "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-Wl,-soname,libcuda.so.1",
         "-o", str(folder / "libcuda.so.1"), str(HOME / "cuda_driver.cpp"), "-ldl"],
        check=True,
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.device_api.cuda_programs"],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        capture_output=True, text=True, check=False, cwd=HOME.parents[2],
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    return {**dict.fromkeys(NAMES, f"not run: {done.stderr[-2000:]}"), **dict(lines)}


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("cuda") is None, reason="cuda-bindings is not installed"
)
@pytest.mark.parametrize("name", NAMES)
def test_on_the_stand_in(said: dict[str, str], name: str) -> None:
    assert not said[name], said[name]


@pytest.mark.skipif(not tvm.cuda(0).exist, reason="no CUDA device")
@pytest.mark.parametrize("name", programs.CASES)
def test_graphs_on_a_gpu(name: str) -> None:
    make, arrays = programs.CASES[name]
    programs.compare(tvm.cuda(0), make, *arrays)


@pytest.fixture
def without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_started", lambda kind: f"nothing here drives {kind}")


@pytest.mark.usefixtures("without_a_driver")
def test_without_a_driver() -> None:
    assert not tvm.cuda(0).exist
    module: Any = CUDAModule(b".version 9.0", "ptx", {"f": KernelInfo((), ("threadIdx.x",))})
    with pytest.raises(TVMError, match="use of device cuda:0"):
        module["f"](1)
    with pytest.raises(TVMError, match="use of device cuda:0"):
        tvm.runtime.tensor(np.zeros(3, "float32"), tvm.cuda(0))
