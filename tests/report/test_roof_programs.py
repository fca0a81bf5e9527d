from __future__ import annotations

from pathlib import Path

import pytest

from tvm.backend.llvm import cache, jit
from tvm.report import roof_programs
from tvm.report.costs import predicted_us
from tvm.report.words import Kernel, Machine, Rate, Roofs
from tvm.runtime import num_threads
from tvm.script import from_source
from tvm.target.cpu_model import CpuModel

SMALL = CpuModel("small", "x86_64", 128, 16, 1, 4096, 8192, 16384, 1)


@pytest.mark.cpu
def test_roofs_are_measured_once_and_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gbytes = {"L2": Rate(4.0, 3.0), "memory": Rate(1.0, 1.0)}
    made = Roofs("cpu", 1, {"float32": Rate(10.0, 10.0)}, gbytes)
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
    chains, rounds = 12, 20_000
    found = {
        kind: [program(2) for program in roof_programs._programs(SMALL, kind)]
        for kind in ("float64", "float32", "int64", "int32", "int16", "int8")
    }
    plain = {kind: 2 * 2 * rounds * chains * SMALL.lanes(bits) / 1e9
             for kind, bits in (("float64", 64), ("float32", 32), ("int64", 64), ("int32", 32),
                                ("int16", 16), ("int8", 8))}  # fmt: skip
    dots = 2 * 4 * rounds * chains * 4 / 1e9  # PMADDWD of four lanes
    assert found == {kind: [rate] for kind, rate in plain.items() if bits_of(kind) > 16} | {
        "int16": [plain["int16"], dots], "int8": [plain["int8"], dots]
    }  # fmt: skip
    assert list(roof_programs._programs(SMALL, "float16")) == []
    assert roof_programs._gbytes(SMALL, 4096, 2) == 1024 * 2 * 4096 / 1e9
    assert roof_programs._matrices("int8", 2, 32) == Rate(2 * 32**3 / 1e9, 32**3 / 1e9)
    assert roof_programs._matrices("bfloat16", 1, 32) == Rate(2 * 32**3 / 1e9, 2 * 32**3 / 1e9)


def bits_of(kind: str) -> int:
    return int(kind.lstrip("abcdefghijklmnopqrstuvwxyz"))


@pytest.mark.pure
@pytest.mark.parametrize(
    ("arch", "bits", "features", "name"),
    [
        ("x86_64", 512, {"avx512bw", "avx512vnni"}, "vpdpbusd.512"),
        ("x86_64", 256, {"avx2", "avxvnni"}, "vpdpbusd.256"),
        ("x86_64", 256, {"avx2"}, "llvm.x86.avx2.pmadd.wd"),
        ("aarch64", 128, {"dotprod", "i8mm"}, "usdot"),
    ],
)
def test_the_instruction_for_bytes_is_the_processors(
    monkeypatch: pytest.MonkeyPatch, arch: str, bits: int, features: set[str], name: str
) -> None:
    texts: list[str] = []

    def gflops(text: str, sizes: dict[str, object], *_: object) -> float:
        texts.append(text.format(**sizes, rounds=1, threads=1))
        return 1.0

    monkeypatch.setattr(roof_programs, "_gflops", gflops)
    model = CpuModel("m", arch, bits, 32, 2, 4096, 8192, 16384, 1, frozenset(features))
    for program in roof_programs._programs(model, "int8"):
        program(1)
    assert [name in text for text in texts] == [False, True]
    from_source(texts[1])


@pytest.mark.pure
def test_narrow_kinds_reach_what_the_wider_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"float32": 10.0, "int32": 12.0, "int16": 9.0, "int8": 30.0, "int64": 3.0}

    def gflops(text: str, sizes: dict[str, object], kind: str, _: int, threads: int) -> float:
        return rates.get(kind, 5.0) * threads

    monkeypatch.setattr(roof_programs, "_gflops", gflops)
    monkeypatch.setattr(roof_programs, "_gbytes", lambda *_: 1.0)
    found = roof_programs.measured(SMALL, "cpu", 2).peaks
    assert found["float16"] == found["bfloat16"] == found["float32"] == Rate(20.0, 10.0)
    assert found["int16"] == found["int32"] == Rate(24.0, 12.0)
    assert found["int8"] == Rate(60.0, 30.0)
    assert found["float64"] == Rate(10.0, 5.0)


@pytest.mark.pure
def test_a_kernel_is_bound_by_the_lower_roof() -> None:
    peaks = {"float32": Rate(20.0, 10.0), "int8": Rate(80.0, 40.0)}
    roofs = Roofs("cpu", 2, peaks, {
        "L2": Rate(4.0, 2.0), "L3": Rate(2.0, 1.0), "memory": Rate(1.0, 0.75)
    })
    machine = Machine("m", "x86_64", 256, 16, 2, 1 << 10, 1 << 12, 1 << 14, 2, roofs)

    def us(
        flops: float, nbytes: int, threads: int, work: dict[str, float] | None = None
    ) -> float | None:
        kernel = Kernel(
            "k", [], flops, nbytes, "", "", [], [], [], threads=threads, work=work or {}
        )
        return predicted_us(kernel, machine)

    assert us(1e4, 0, 1) == 1.0
    assert us(1e4, 0, 2) == 0.5
    assert us(1e4, 0, 1, {"int8": 1e4}) == 0.25
    assert us(1e4, 0, 2, {"int8": 8e3, "float32": 2e3}) == pytest.approx(0.2)
    assert us(1e4, 0, 1, {"float8": 1e4}) == 1.0, "as float32 where nothing is known"
    assert us(0, 1 << 12, 2) == pytest.approx((1 << 12) / 4.0 / 1e3)
    assert us(0, 1 << 14, 2) == pytest.approx((1 << 14) / 2.0 / 1e3)
    assert us(0, 1 << 20, 1) == pytest.approx((1 << 20) / 0.75 / 1e3)
    machine.roofs = None
    assert us(1e4, 0, 1) is None
