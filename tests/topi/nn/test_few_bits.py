"""Products with weights of few bits: the kernels beside numpy, on several CPUs' instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.end_to_end.cpus import PLAIN
from tvm.error import TVMError
from tvm.runtime import tensor
from tvm.target import Target
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import FORMATS, Packed

pytestmark = pytest.mark.cpu


def _weights(outputs: int, inputs: int, form: str) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(outputs + inputs)
    values = rng.standard_normal((outputs, inputs)).astype("float32")
    q, scale = few_bits.pack(values, form)
    arrays = [q] if scale is None else [q, scale]
    wanted = few_bits.unpack(q, scale, form)[:outputs, :inputs]
    return [tensor(array) for array in arrays], wanted


@pytest.mark.parametrize(("form", "step"), [
    ("float16", 2**-11), ("bfloat16", 2**-8), ("int8", 1 / 250), ("int4", 1 / 8),
])  # fmt: skip
def test_packing_rounds_to_the_nearest(form: str, step: float) -> None:
    values = np.random.default_rng(0).standard_normal((37, 96)).astype("float32")
    back = few_bits.unpack(*few_bits.pack(values, form), form)
    assert back.shape == (48, 96)
    assert not back[37:].any()
    largest = np.abs(values.reshape(37, 3, 32)).max(-1, keepdims=True)
    error = np.abs(back[:37] - values).reshape(37, 3, 32)
    if form.startswith("int"):
        assert (error <= largest * step * 1.01).all()
    else:
        assert (error <= np.abs(values).reshape(error.shape) * step).all()


def test_numbers_that_fit_are_kept() -> None:
    rng = np.random.default_rng(0)
    for form, low, high in (("int8", -127, 127), ("int4", -8, 7), ("int2", -2, 1)):
        numbers = rng.integers(low, high + 1, (16, 2, 32))
        numbers[..., 0] = -high if form == "int8" else low  # the largest is there
        scale = 2.0 ** rng.integers(-3, 3, (16, 2))
        values = (numbers * scale[..., None]).reshape(16, 64).astype("float32")
        assert (few_bits.unpack(*few_bits.pack(values, form), form) == values).all()
    zeros = np.zeros((16, 32), "float32")
    assert not few_bits.unpack(*few_bits.pack(zeros, "int4"), "int4").any()


@pytest.mark.parametrize(("form", "cpu"), [
    *((form, "haswell") for form in FORMATS),
    ("int4", PLAIN), long("float16", PLAIN), ("int4", "skylake-avx512"),
])  # fmt: skip
def test_products(form: str, cpu: str) -> None:
    """One row and many; outputs that fill no block, inputs of several panels."""
    target = Target(f"llvm -mcpu={cpu}")
    rng = np.random.default_rng(0)
    mod = {}
    shapes = {"one": (50, 96), "many": (40, 320), "even": (64, 32)}
    with target:
        for name, (outputs, inputs) in shapes.items():
            rows = 1 if name == "one" else None
            mod[name] = few_bits.product(name, Packed(outputs, inputs, form), rows)
    built = tvm.compile(tvm.IRModule(mod), target)
    for name, (outputs, inputs) in shapes.items():
        arrays, weights = _weights(outputs, inputs, form)
        for rows in [1] if name == "one" else [1, 5, 29]:
            x = rng.standard_normal((rows, inputs)).astype("float32")
            out = tensor(np.full((rows, outputs), np.nan, "float32"))
            built[name](tensor(x), *arrays, out)
            wanted = x.astype("float64") @ weights.T
            np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", FORMATS)
def test_rows_of_tables(form: str) -> None:
    arrays, weights = _weights(40, 64, form)
    with Target("llvm"):
        func = few_bits.rows_of("rows", Packed(40, 64, form))
    ids = np.array([39, 0, 17, 17], "int32")
    out = tensor(np.zeros((4, 64), "float32"))
    tvm.compile(func, "llvm")["rows"](tensor(ids), *arrays, out)
    assert (out.numpy() == weights[ids]).all()


def test_kernels_for_gpus_have_threads() -> None:
    with Target({"kind": "cuda", "arch": "sm_80"}):
        func = few_bits.product("p", Packed(64, 64, "int4"), None)
    assert "threadIdx.x" in func.script()
    assert "vectorized" not in func.script()


def test_zero_points_and_larger_groups() -> None:
    """Zero points of an array, scales of 64 inputs in float32; one row and several at once."""
    rng = np.random.default_rng(0)
    outputs, inputs, target = 24, 192, Target("llvm -mcpu=haswell")
    for form, bits in (("int8", 8), ("int4", 4), ("int2", 2)):
        numbers = rng.integers(0, 1 << bits, (outputs, inputs))
        scale = rng.random((outputs, 3)).astype("float32")
        zero = rng.integers(0, 1 << bits, (outputs, 3)).astype("float32")
        q = few_bits.in_words(few_bits.in_lanes(numbers), bits)
        weights = (numbers - np.repeat(zero, 64, 1)) * np.repeat(scale, 64, 1).astype("float64")
        packed = Packed(outputs, inputs, form, 64, "float32", zeros=True)
        with target:
            built = tvm.compile(few_bits.product("p", packed, None), target)["p"]
        for rows in (1, 6):
            x = rng.standard_normal((rows, inputs)).astype("float32")
            out = tensor(np.zeros((rows, outputs), "float32"))
            arrays = (q, few_bits.in_lanes(scale), few_bits.in_lanes(zero))
            built(tensor(x), *map(tensor, arrays), out)
            wanted = x @ weights.T
            assert np.abs(out.numpy() - wanted).max() <= 1e-5 * np.abs(wanted).max()


@pytest.mark.parametrize("form", ["int8", "int4", "float16"])
def test_weights_that_have_no_form_are_refused(form: str) -> None:
    values = np.ones((16, 32), "float32")
    values[3, 4] = 1e8
    with pytest.raises(TVMError, match=f"weights as {form}\n  found: 100000000.0 among"):
        few_bits.pack(values, form)
    values[3, 4] = np.nan
    if form == "float16":
        assert np.isnan(few_bits.unpack(*few_bits.pack(values, form), form)[3, 4])
    else:
        with pytest.raises(TVMError, match="found: nan"):
            few_bits.pack(values, form)
