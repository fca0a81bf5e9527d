"""Launches of kernels in reports: their sizes, what they fill, and NVRTC's word on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tvm
from tests.backend.device.programs import PROGRAMS
from tests.runtime.device_api import programs
from tvm.contrib import nvrtc
from tvm.exec.cli import main
from tvm.relax import op as o
from tvm.report import collect, words
from tvm.target import Target

pytestmark = pytest.mark.cpu


def _launch(name: str, target: str, *, code: bool = False) -> tuple[words.Report, words.Launch]:
    mod = tvm.IRModule({name: PROGRAMS[name].func})
    report = collect(mod, Target(target, host="llvm"), times=False, code=code)
    (launch,) = report.kernels[name].launches
    return report, launch


def test_sizes_and_what_they_fill() -> None:
    report, launch = _launch("matmul_tiled", "cuda -arch=sm_80")
    assert (launch.blocks, launch.threads, launch.shared) == (4, 64, 2048)
    assert launch.words == 16  # the results of a thread
    assert launch.registers is None
    assert (launch.resident, launch.occupancy, launch.limit) == (32, 1.0, "threads")
    assert report.gpu is not None
    assert (report.gpu.chip, report.gpu.warp_size) == ("A100", 32)
    again = words.Report.from_json(report.to_json())
    assert again.kernels["matmul_tiled"].launches == [launch]


def test_two_launches() -> None:
    mod = tvm.IRModule({"two_kernels": PROGRAMS["two_kernels"].func})
    report = collect(mod, Target("opencl", host="llvm"), times=False, code=False)
    assert len(report.kernels["two_kernels"].launches) == 2
    assert report.gpu is not None
    assert report.gpu.multiprocessors == 0  # no chip is named
    assert report.calls[0].predicted_us is None


def test_the_least_time_is_that_of_the_memory() -> None:
    x = programs.floats(1024, 1024)
    report = collect(programs.module(o.add, x, x), Target("cuda -arch=sm_90", host="llvm"),
                     times=False, code=False)  # fmt: skip
    assert report.calls[0].predicted_us == pytest.approx(3 * 4 * 2**20 / 3350e9 * 1e6)


@pytest.mark.device
@pytest.mark.skipif(not nvrtc.available(), reason="NVRTC is not installed")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", ["matmul_tiled", "sum_of_rows", "transpose", "softmax"])
def test_the_compiler_agrees_with_the_model(name: str, arch: str) -> None:
    model = Target(f"cuda -arch={arch}").gpu
    _, guessed = _launch(name, f"cuda -arch={arch}")
    _, made = _launch(name, f"cuda -arch={arch}", code=True)
    assert made.registers is not None
    assert guessed.threads is not None
    # its own arrays are registers, which leave room for a block of so many threads
    assert made.stack == 0
    assert guessed.words <= made.registers <= model.max_registers(guessed.threads)
    assert 0 <= made.shared <= guessed.shared
    assert made.occupancy == model.occupancy(
        guessed.threads, made.registers, made.shared).fraction  # fmt: skip


def test_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = programs.floats(64, 100)
    script = tmp_path / "model.py"
    script.write_text(programs.module(lambda a: o.nn.softmax(a, -1), x).script())
    arguments = ["explain", str(script), "--target", "cuda -arch=sm_90"]
    assert main(arguments) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "H100 SXM: 132 of them" in text
    assert "runs 64 blocks of 256 threads" in text
    assert main([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["gpu"]["name"] == "sm_90"
    assert record["kernels"][0]["launches"][0]["threads"] == 256
