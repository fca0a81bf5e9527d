"""Products of bytes: exact where they are said to be, within their bound elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.runtime import tensor
from tvm.target import Target
from tvm.topi.nn import few_bits
from tvm.topi.nn.byte_products import Bytes, bytes_of, for_target
from tvm.topi.nn.few_bits import GROUP, MADE_FOR, Packed

HAS = Target.from_device("cpu").cpu.features
CPUS = [
    cpu
    for cpu, needs in (("haswell", "avx2"), ("skylake-avx512", "avx512bw"),
                       ("alderlake", "avxvnni"), ("cascadelake", "avx512vnni"))
    if needs in HAS
]  # fmt: skip


class Case:
    """Weights with scales (powers of two) and zero points."""

    def __init__(self, form: Packed) -> None:
        rng, groups = np.random.default_rng(form.outputs), form.inputs // form.group
        self.form = form
        self.numbers = rng.integers(0, 1 << form.bits, (form.outputs, form.inputs))
        self.scale = 2.0 ** rng.integers(-3, 3, (form.outputs, groups))
        usual = np.full((form.outputs, groups), form.offset)
        self.zero = rng.integers(0, 1 << form.bits, usual.shape) if form.zeros else usual
        whole = self.numbers - np.repeat(self.zero, form.group, 1)
        self.weights = whole * np.repeat(self.scale, form.group, 1)

    def arrays(self) -> list[Any]:
        q = few_bits.in_words(few_bits.in_lanes(self.numbers), self.form.bits)
        zero = [self.zero] if self.form.zeros else []
        rest = (few_bits.in_lanes(x.astype("float32")) for x in (self.scale, *zero))
        return [tensor(x) for x in (q, *rest)]


def _built(case: Case, cpu: str, rows: int | None = None) -> Callable[[Any], Any]:
    target = Target(f"llvm -mcpu={cpu}")
    func = for_target(few_bits.product("p", case.form, rows), target)
    assert MADE_FOR not in func.attrs
    built = tvm.compile(func, target)["p"]

    def run(x: Any) -> Any:
        out = tensor(np.full((len(x), case.form.outputs), np.nan, "float32"))
        built(tensor(x), *case.arrays(), out)
        return out.numpy()

    return run


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("form", "digits"), [
    ("int8", 1), ("int8", 3), ("int4", 2), ("int4", 3), ("int2", 3),
])  # fmt: skip
def test_whole_numbers_of_so_many_digits_are_exact(form: str, digits: int, cpu: str) -> None:
    """Each group has its largest number, so that steps are powers of two; sums fit in 24 bits."""
    rng = np.random.default_rng(digits)
    top = 127 << 8 * (digits - 1)
    for outputs, inputs, zeros in ((50, 96, False), (16, 64, True)):
        packed = Packed(outputs, inputs, form, zeros=zeros, digits=digits, scale_dtype="float32")
        case = Case(packed)
        run = _built(case, cpu, 1 if zeros else None)
        for rows in [1] if zeros else [1, 7]:
            x = np.zeros((rows, inputs // GROUP, GROUP), "float32")
            x[..., 5], x[..., 7], x[..., 30] = top, -top, rng.integers(-100, 100)
            x *= 2.0 ** rng.integers(-20, 20, (rows, 1, 1))
            flat = x.reshape(rows, inputs).astype("float32")
            wanted = flat.astype("float64") @ case.weights.T
            error = np.abs(run(flat) - wanted).max(1)
            assert (error <= 2.0**-22 * np.abs(flat).max(1) * np.abs(case.weights).max()).all()


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("digits", [1, 2, 3])
def test_inputs_are_rounded_within_their_group(digits: int, cpu: str) -> None:
    rng = np.random.default_rng(0)
    case = Case(Packed(40, 320, "int4", 64, "float32", digits=digits))
    x = (rng.standard_normal((7, 10, GROUP)) * 10.0 ** rng.integers(-6, 6, (7, 10, 1)))
    x = x.astype("float32")
    step = np.abs(x).max(-1) / (127 << 8 * (digits - 1))
    by_group = np.abs(case.weights).reshape(40, 10, GROUP).sum(-1)
    flat = x.reshape(7, 320)
    wanted = flat.astype("float64") @ case.weights.T
    rounding = 2.0**-22 * (np.abs(flat).astype("float64") @ np.abs(case.weights).T)
    bound = (step / 2) @ by_group.T * (1 + 1e-6) + rounding
    error = np.abs(_built(case, cpu)(flat) - wanted)
    assert (error <= bound).all()
    assert digits == 3 or (error > bound / 1000).any(), "what rounding does is seen"


@pytest.mark.cpu
def test_what_is_no_number_makes_its_row_none() -> None:
    case = Case(Packed(16, 64, "int4", scale_dtype="float32"))
    for cpu in CPUS:
        x = np.ones((5, 64), "float32")
        x[1, 3], x[2, 40], x[3] = np.nan, np.inf, 0
        x[4] = 1e-38
        found = _built(case, cpu)(x)
        assert np.isnan(found[1:3]).all()
        assert np.isfinite(found[[0, 3, 4]]).all()
        assert not found[3:].any()
        np.testing.assert_allclose(found[0], case.weights.sum(1), rtol=1e-6)


@pytest.mark.pure
def test_what_targets_have() -> None:
    def of(cpu: str) -> Bytes | None:
        return bytes_of(Target(cpu))

    assert of("llvm -mcpu=znver4") == Bytes(16, "llvm.x86.avx512.vpdpbusd.512")
    found = of("llvm -mcpu=skylake-avx512")
    assert found is not None
    assert (found.lanes, found.dot, found.max_bits) == (16, "", 4)
    assert of("llvm -mcpu=alderlake") == Bytes(8, "llvm.x86.avx512.vpdpbusd.256")
    found = of("llvm -mcpu=znver3")
    assert found is not None
    assert (found.lanes, found.pairs) == (8, "llvm.x86.avx2.pmadd.ub.sw")
    arm = "llvm -mtriple=aarch64-linux-gnu -mcpu="
    assert of(arm + "neoverse-v1") == Bytes(4, "llvm.aarch64.neon.usdot.v4i32.v16i8")
    assert of(arm + "neoverse-n1") == Bytes(4, "llvm.aarch64.neon.sdot.v4i32.v16i8", True)
    assert of("llvm -mcpu=x86-64-v2") is None
    assert of("c") is None
    assert of("cuda") is None


@pytest.mark.pure
@pytest.mark.parametrize(("cpu", "instruction"), [
    ("neoverse-v1", "usdot"), ("neoverse-n1", "sdot"),
])  # fmt: skip
def test_code_for_arm(cpu: str, instruction: str) -> None:
    target = Target(f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu} -opt-level=2")
    for form in ("int8", "int4"):
        func = for_target(few_bits.product("p", Packed(32, 64, form), 1), target)
        text = tvm.compile(func, target).mod.inspect_source("asm")
        assert f"\t{instruction}\t" in text
        assert "fmla" in text or "fmadd" in text
