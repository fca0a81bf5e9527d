from __future__ import annotations

from pathlib import Path

import pytest

from tvm.backend.llvm import cache, jit
from tvm.report import roof_programs
from tvm.report.costs import predicted_us
from tvm.report.words import Kernel, Machine, Roofs
from tvm.runtime import num_threads
from tvm.target.cpu_model import CpuModel

SMALL = CpuModel("small", "x86_64", 128, 16, 1, 4096, 8192, 16384, 1)


@pytest.mark.cpu
def test_roofs_are_measured_once_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Roofs("cpu", 1, 10.0, 10.0, {"L1": 4.0, "L2": 3.0, "L3": 2.0, "memory": 1.0})
    asked: list[CpuModel] = []

    def measured(model: CpuModel, cpu: str, threads: int) -> Roofs:
        asked.append(model)
        return made

    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(roof_programs, "measured", measured)
    assert roof_programs.roofs(measure=False) is None
    assert roof_programs.roofs() == made
    assert roof_programs.roofs() == made
    assert len(asked) == 1
    name = f"roofs-{jit.host_machine().cpu}-{num_threads()}.json"
    (cache.folder() / name).write_text("{", encoding="utf-8")
    assert roof_programs.roofs() == made        # a damaged file is measured anew
    assert len(asked) == 2


@pytest.mark.cpu
def test_programs_run_and_count_what_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roof_programs, "_fastest", lambda run: run() or 1.0)
    lanes, chains = SMALL.lanes(), 12
    assert roof_programs._gflops(SMALL, 1) == 2 * 20_000 * chains * lanes / 1e9
    assert roof_programs._gbytes(SMALL, 2, 4096) == 1024 * 2 * 4096 / 1e9


@pytest.mark.pure
def test_a_kernel_is_bound_by_the_lower_roof() -> None:
    roofs = Roofs("cpu", 2, 20.0, 10.0, {"L1": 8.0, "L2": 4.0, "L3": 2.0, "memory": 1.0})
    machine = Machine("m", "x86_64", 256, 16, 2, 1 << 10, 1 << 12, 1 << 14, 2, roofs)

    def us(flops: float, nbytes: int, threads: int) -> float | None:
        kernel = Kernel("k", [], flops, nbytes, "", "", [], [], [], threads=threads)
        return predicted_us(kernel, machine)

    assert us(1e4, 0, 1) == 1.0
    assert us(1e4, 0, 2) == 0.5
    assert us(0, 1 << 12, 2) == pytest.approx((1 << 12) / 4.0 / 1e3)
    assert us(0, 1 << 14, 2) == pytest.approx((1 << 14) / 2.0 / 1e3)
    assert us(0, 1 << 20, 1) == pytest.approx((1 << 20) / 0.5 / 1e3)
    machine.roofs = None
    assert us(1e4, 0, 1) is None
