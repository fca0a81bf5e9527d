"""The CUDA compiler; what needs it is left out where it is not installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tvm.contrib import nvcc, nvrtc
from tvm.error import TVMError
from tvm.ffi import get_global_func
from tvm.target import Target

pytestmark = pytest.mark.cpu
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
TEXT = 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'


@needs_nvcc
def test_text_becomes_ptx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b".visible .entry twice(" in nvcc.compile_cuda(TEXT)
    kept = tmp_path / "twice.cubin"
    assert nvcc.compile_cuda(TEXT, "cubin", "sm_80", path_target=str(kept)) == kept.read_bytes()
    with Target("cuda -arch=sm_80"):
        assert b".target sm_80" in nvcc.compile_cuda(TEXT)
    monkeypatch.setattr(nvrtc, "available", lambda: False)
    compiled = get_global_func("tvm_callback_cuda_compile")(TEXT, Target("cuda -arch=sm_90"))
    assert b".target sm_90" in compiled
    assert nvcc.get_cuda_version() >= (11, 0)


@needs_nvcc
def test_mistakes_of_the_text_are_told() -> None:
    with pytest.raises(TVMError, match=r'identifier "y" is undefined[\s\S]*where: .*nvcc'):
        nvcc.compile_cuda("__global__ void f(float* x) { x[0] = y; }")


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_PATH", "/nowhere")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(TVMError, match="/nowhere/bin/nvcc: No such file"):
        nvcc.compile_cuda(TEXT)
    monkeypatch.delenv("CUDA_PATH")
    monkeypatch.setattr(Path, "exists", lambda self: False)
    with pytest.raises(TVMError, match="no nvcc on the path"):
        nvcc.find_cuda_path()


def test_versions_of_devices() -> None:
    assert nvcc.parse_compute_version("9.0") == (9, 0)
    assert nvcc.parse_compute_version("9.0a") == (9, 0)
    assert nvcc.get_target_compute_version(Target("cuda -arch=sm_86")) == "8.6"
    assert nvcc.get_target_compute_version(Target("cuda -arch=sm_100a")) == "10.0a"
    with pytest.raises(RuntimeError, match="Compute version parsing error"):
        nvcc.parse_compute_version("new")
    with pytest.raises(ValueError, match="target_format='exe'"):
        nvcc.compile_cuda(TEXT, "exe")


@pytest.mark.parametrize(
    ("question", "yes", "no"),
    [("have_fp16", ("5.3", "6.0"), ("5.2", "3.5")), ("have_int8", ("6.1", "10.0"), ("6.0",)),
     ("have_tensorcore", ("7.0", "9.0a"), ("6.2",)), ("have_bf16", ("8.0",), ("7.5",)),
     ("have_fp8", ("8.9", "9.0"), ("8.7",)), ("have_fp4", ("10.0", "12.0"), ("9.0",))],
)  # fmt: skip
def test_what_machines_have(question, yes, no):
    asked = getattr(nvcc, question)
    assert all(asked(version) for version in yes)
    assert not any(asked(version) for version in no)


def test_where_no_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvcc, "_told_version", lambda target: None)
    assert nvcc.get_target_compute_version(Target("cuda")) == "5.0"
    with Target("cuda"):
        assert not nvcc.have_tensorcore()
    with pytest.raises(ValueError, match="tell the compute version"):
        nvcc.get_target_compute_version()


def test_tensor_cores_of_a_target():
    assert nvcc.have_tensorcore(target=Target("cuda -arch=sm_80"))
    assert not nvcc.have_tensorcore(target=Target("cuda -arch=sm_61"))
