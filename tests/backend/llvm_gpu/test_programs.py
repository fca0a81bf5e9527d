"""Programs by LLVM's code generators for GPUs: what they compute, and that tools take the code."""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tests.backend.device.programs import PROGRAMS
from tvm.error import TVMError
from tvm.runtime import device
from tvm.runtime.device_api.kinds import find_api
from tvm.runtime.device_api.opencl import OpenCLAPI
from tvm.runtime.device_module import DeviceModule
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.cpu
NAMES = sorted(PROGRAMS)


def takes_spirv() -> bool:
    """Whether the first OpenCL device here loads SPIR-V."""
    api = find_api("opencl")
    return isinstance(api, OpenCLAPI) and api.count() > 0 and api.takes_spirv(0)


@functools.cache
def _built(kind: str) -> Any:
    return harness.built(tvm.IRModule({name: PROGRAMS[name].func for name in NAMES}), kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", harness.LLVM_TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_results(kind: str, name: str) -> None:
    one = PROGRAMS[name]
    args = one.make(np.random.default_rng(7))
    wanted = one.meaning(*args[:-1])
    harness.run(_built(kind), kind, name, *args)
    np.testing.assert_allclose(
        args[-1].astype("float64"), np.asarray(wanted, "float64"), rtol=one.tolerance,
        atol=one.tolerance,
    )  # fmt: skip


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="no ptxas; CUDA's toolkit has it")
def test_ptx_is_assembled() -> None:
    (device,) = _built("nvptx").mod.imports
    assert (device.kind, device.fmt, device.arch) == ("cuda", "ptx", "sm_80")
    done = subprocess.run(
        ["ptxas", "-arch=sm_80", "-o", "/dev/null", "-"], input=device.source, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr}\n{device.source}"


@pytest.mark.skipif(shutil.which("ld.lld") is None, reason="no ld.lld; Debian's lld has it")
@pytest.mark.parametrize("cpu", ["gfx90a", "gfx1100"])
@pytest.mark.parametrize("name", NAMES[::3])
def test_code_objects_are_linked(name: str, cpu: str, tmp_path: Path) -> None:
    target = Target({"kind": "rocm", "mcpu": cpu, "mtriple": "amdgcn-amd-amdhsa"}, "llvm")
    (device,) = tvm.compile(tvm.IRModule({name: PROGRAMS[name].func}), target).mod.imports
    assert (device.kind, device.fmt, device.arch) == ("rocm", "amdgcn", cpu)
    assert f'.amdgcn_target "amdgcn-amd-amdhsa--{cpu}"' in device.source
    (tmp_path / "kernel.o").write_bytes(device.binary)
    made = tmp_path / "kernel.hsaco"
    subprocess.run(["ld.lld", "-shared", "-o", made, tmp_path / "kernel.o"], check=True)
    assert all(f"{one}.kd".encode() in made.read_bytes() for one in device.kernels)


def _spirv(name: str) -> DeviceModule:
    target = Target({"kind": "opencl", "mtriple": "spirv64v1.2-unknown-unknown"}, "llvm")
    (device,) = tvm.compile(tvm.IRModule({name: PROGRAMS[name].func}), target).mod.imports
    assert isinstance(device, DeviceModule)
    return device


OF_OPENCL = [name for name in NAMES if name != "warp_memory"]


@pytest.mark.skipif(shutil.which("spirv-val") is None, reason="no spirv-val; Debian: spirv-tools")
@pytest.mark.parametrize("name", [name for name in OF_OPENCL if "hal" not in name])
def test_spirv_is_valid(name: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.spv").write_bytes(_spirv(name).binary)
    command = ["spirv-val", "--target-env", "opencl2.2", str(tmp_path / "kernel.spv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _launched(name: str) -> tuple[Any, Any]:
    one = PROGRAMS[name]
    target = Target({"kind": "opencl", "mtriple": "spirv64v1.2-unknown-unknown"}, "llvm")
    library = tvm.compile(tvm.IRModule({name: one.func}), target)
    args = one.make(np.random.default_rng(7))
    given = [tvm.runtime.tensor(a, device("opencl")) if isinstance(a, np.ndarray) else a
             for a in args]  # fmt: skip
    library[name](*given)
    return given[-1].numpy(), one.meaning(*args[:-1])


@pytest.mark.device
@pytest.mark.skipif(
    not takes_spirv(),
    reason="no OpenCL driver that takes SPIR-V; intel-opencl-rt of PyPI is one",
)
@pytest.mark.parametrize("name", OF_OPENCL)
def test_spirv_results(name: str) -> None:
    found, wanted = _launched(name)
    tolerance = PROGRAMS[name].tolerance
    np.testing.assert_allclose(
        found.astype("f8"), np.asarray(wanted, "f8"), rtol=tolerance, atol=tolerance
    )


def test_what_spirv_lacks_is_said() -> None:
    @T.prim_func
    def turned(a: T.handle) -> None:
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        tx = T.launch_thread("threadIdx.x", 32)
        data = T.allocate([n], "float32", "shared.dyn")
        shared = T.Buffer((n,), data=data, scope="shared.dyn")
        for i in range(n):
            shared[i] = A[i]
        for i in range(n):
            A[i] = shared[n - 1 - i] + T.float32(tx)

    target = Target({"kind": "opencl", "mtriple": "spirv64v1.2-unknown-unknown"}, "llvm")
    with pytest.raises(TVMError, match=r"shared\.dyn[\s\S]*legal: scope shared"):
        tvm.compile(tvm.IRModule({"turned": turned}), target)
