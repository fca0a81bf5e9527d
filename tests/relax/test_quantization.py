"""Quantisation of whole networks: ranges, errors, exceptions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.transform.test_quantize import network
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import op
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.quantization import _choose, quantize
from tvm.runtime import cpu, tensor
from tvm.runtime.vm import VirtualMachine

pytestmark = pytest.mark.cpu
TARGET = "llvm -mcpu=haswell"
DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def inputs(count: int) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((4, 4, 5, 5)).astype("float32") for _ in range(count)]


@pytest.mark.slow
def test_digits_keep_their_labels() -> None:
    onnx = pytest.importorskip("onnx")
    with np.load(DIGITS / "test_images.npz") as stored:
        images = stored["images"][:, None].astype("float32") / 16
    mod = from_onnx(onnx.load(str(DIGITS / "digits.onnx")), shape_dict={"x": [8, 1, 8, 8]})
    made = quantize(mod, [images[i : i + 8] for i in range(0, 64, 8)], target=TARGET)
    assert {layer.form for layer in made.report.layers} == {"integers"}
    assert made.report.error is not None
    assert made.report.error < 0.03
    assert all(0 < layer.error < 0.02 for layer in made.report.layers)
    before, after = (
        VirtualMachine(tvm.compile(m, TARGET), cpu())["main"] for m in (mod, made.mod)
    )
    for i in range(0, len(images), 8):
        x = tensor(images[i : i + 8])
        labels = [run(x).numpy().argmax(-1) for run in (before, after)]
        np.testing.assert_array_equal(*labels)


def test_a_bound_is_kept_by_exceptions() -> None:
    data = inputs(2)
    free = quantize(network(), data, target=TARGET).report
    assert free.error is not None
    found = quantize(network(), data, bound=free.error * 0.9, target=TARGET).report
    assert found.error is not None
    assert found.error <= free.error * 0.9
    forms = {layer.number: layer.form for layer in found.layers}
    worst = max(free.layers, key=lambda layer: layer.error).number
    assert forms[worst] == "float32"
    assert str(found).splitlines()[-1] == f"results: {found.error:.2e}"


def test_the_fewest_exceptions() -> None:
    """Layers 3, 1, 2 in the order of their errors; each brings its number."""

    def error_of(kept: Any) -> float:
        return float(sum({1, 2, 3} - set(kept)))

    for bound, kept in ((None, []), (6.0, []), (5.0, [3]), (2.5, [3, 1]), (0.5, [3, 1, 2])):
        found, error = _choose([3, 1, 2], error_of, bound)
        assert list(found) == kept
        assert error == error_of(kept)


def test_without_inputs_weights_are_compared() -> None:
    report = quantize(network(), weights="int4").report
    assert [layer.form for layer in report.layers] == ["float32", "weights"]
    assert report.error is None
    assert report.layers[0].error == 0
    assert 0 < report.layers[1].error < 0.1


@pytest.mark.parametrize(("data", "options", "words"), [
    ([], {}, "found: nothing"),
    (None, {"bound": 0.1}, "no data to measure errors with"),
    ([{"y": np.zeros(1)}], {}, "found: y\n  legal: x"),
    ([(np.zeros(1), np.zeros(1))], {}, "found: 2 arrays\n  legal: 1"),
])  # fmt: skip
def test_refusals(data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(TVMError, match=words):
        quantize(network(), data, **options)


def test_planes_of_any_size_compute_with_integers() -> None:
    """What was measured at one size holds at others: errors of rounding, no more."""
    rng = np.random.default_rng(3)
    n, h, w = (tir.Var(name, "int64") for name in "nhw")
    x = relax.Var("x", relax.TensorStructInfo((n, 4, h, w), "float32"))
    full, each = ((rng.standard_normal(shape) / 4).astype("float32")
                  for shape in ((8, 4, 3, 3), (8, 1, 3, 3)))  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.relu(op.nn.conv2d(x, relax.const(full), padding=1)))
            y = bb.emit_output(op.nn.conv2d(y, relax.const(each), strides=2, padding=1, groups=8))
        bb.emit_func_output(y)
    mod = bb.get()
    data = [rng.standard_normal((2, 4, 9, 7)).astype("float32") for _ in range(2)]
    made = quantize(mod, data, target=TARGET)
    assert [layer.form for layer in made.report.layers] == ["integers", "integers"]
    before, after = (
        VirtualMachine(tvm.compile(m, TARGET), cpu())["main"] for m in (mod, made.mod)
    )
    for shape in ((1, 4, 6, 11), (2, 4, 1, 1), (1, 4, 17, 8)):
        given = tensor(np.clip(rng.standard_normal(shape), -2, 2).astype("float32"))
        wanted, found = before(given).numpy(), after(given).numpy()
        assert np.abs(found - wanted).max() < 0.04 * np.abs(wanted).max()
