"""Fourier transforms and mel filters, against numpy and ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.covering import long
from tests.relax.frontend.onnx.models import Array, check, check_sizes, make_model, run_compiled
from tvm import relax
from tvm.error import OpAttributeInvalid, ShapeError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(8)


def _dft(x: Array, opset: int = 20, axis: int | None = None, length: int | None = None,
         **attrs: Any) -> Any:  # fmt: skip
    weights: dict[str, Array] = {}
    names = ["x", "", ""]
    if length is not None:
        weights["n"], names[1] = np.array(length, "int64"), "n"
    if axis is not None and opset >= 20:
        weights["axis"], names[2] = np.array(axis, "int64"), "axis"
    elif axis is not None:
        attrs["axis"] = axis
    node = helper.make_node("DFT", names if opset >= 20 else names[:2], ["y"], **attrs)
    return make_model([node], {"x": x}, ["y"], weights, opset=opset)


def _complex(pairs: Array) -> Array:
    return pairs[..., 0] + 1j * pairs[..., 1]


@pytest.mark.parametrize("n", [1, 6, 128, long(360), long(1024), 139])
def test_lengths_that_are_small_composite_or_prime(n: int) -> None:
    """One product up to 128, parts beyond it, sums one by one for a long prime."""
    x = RNG.standard_normal((2, n, 2)).astype("float32")
    (got,) = run_compiled(_dft(x), {"x": x})
    np.testing.assert_allclose(_complex(got), np.fft.fft(_complex(x)), rtol=1e-3, atol=2e-3)
    (back,) = run_compiled(_dft(got, inverse=1), {"x": got})
    np.testing.assert_allclose(back, x, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize(("opset", "axis"), [(17, 1), (19, 2), (20, -2), (20, 1)])
def test_axes(opset: int, axis: int) -> None:
    x = RNG.standard_normal((2, 4, 5, 1)).astype("float32")
    check(_dft(x, opset, axis), {"x": x}, rtol=1e-4)


@pytest.mark.parametrize("length", [4, 7, 12])
def test_one_sided_of_another_length(length: int) -> None:
    x = RNG.standard_normal((2, 7, 1)).astype("float32")
    (got,) = run_compiled(_dft(x, length=length, onesided=1), {"x": x})
    wanted = np.fft.rfft(x[..., 0], length)
    np.testing.assert_allclose(_complex(got), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("length", [6, 7])
def test_one_sided_back(length: int) -> None:
    x = RNG.standard_normal((2, length)).astype("float32")
    half = np.fft.rfft(x)
    pairs = np.stack([half.real, half.imag], -1).astype("float32")
    model = _dft(pairs, length=length, onesided=1, inverse=1)
    (got,) = run_compiled(model, {"x": pairs})
    np.testing.assert_allclose(got[..., 0], x, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("one_sided", [0, 1])
def test_windows_along_a_signal(one_sided: int) -> None:
    x = RNG.standard_normal((2, 40, 1)).astype("float32")
    weights = {
        "step": np.array(8, "int64"), "w": np.hanning(16).astype("float32"),
        "n": np.array(16, "int64"),
    }  # fmt: skip
    node = helper.make_node("STFT", ["x", "step", "w", "n"], ["y"], onesided=one_sided)
    check(make_model([node], {"x": x}, ["y"], weights), {"x": x}, rtol=1e-3)


def test_windows_over_any_number_of_samples() -> None:
    weights = {"step": np.array(3, "int64"), "w": np.hanning(8).astype("float32")}
    node = helper.make_node("STFT", ["x", "step", "w"], ["y"])
    runs = [{"x": RNG.standard_normal(shape).astype("float32")}
            for shape in ((1, 8, 1), (2, 31, 1))]  # fmt: skip
    model = make_model([node], runs[0], ["y"], weights, shapes={"x": ["batch", "n", 1]})
    check_sizes(model, runs, rtol=1e-3)


@pytest.mark.parametrize("told", [False, True])
def test_windows_and_steps_that_are_inputs(told: bool) -> None:
    node = helper.make_node("STFT", ["x", "step", "w", "n"] if told else ["x", "step", "w"], ["y"])
    runs: list[dict[str, Any]] = [
        {"x": RNG.standard_normal((1, 31, 1)).astype("float32"), "step": np.array(step, "int64"),
         "w": np.hanning(length).astype("float32"), "n": np.array(length, "int64")}
        for step, length in ((3, 8), (5, 12))
    ]  # fmt: skip
    if not told:
        runs = [{name: run[name] for name in ("x", "step", "w")} for run in runs]
    model = make_model([node], runs[0], ["y"], shapes={"x": [1, "n", 1], "w": ["k"]})
    check_sizes(model, runs, rtol=1e-3)
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises(ShapeError, match="source=STFT_0"):
        vm["main"](*{**runs[0], "step": np.array(0, "int64")}.values())


@pytest.mark.parametrize("inverse", [0, 1])
def test_a_transform_of_any_length(inverse: int) -> None:
    node = helper.make_node("DFT", ["x"], ["y"], axis=1, inverse=inverse, onesided=1 - inverse)
    width = 1 + inverse
    runs = [{"x": RNG.standard_normal((2, n, width)).astype("float32")} for n in (1, 6, 9)]
    model = make_model([node], runs[0], ["y"], shapes={"x": [2, "n", width]})
    check_sizes(model, runs, rtol=1e-3)


@pytest.mark.parametrize("bins", [4, 8])
def test_mel_filters(bins: int) -> None:
    weights = {
        "b": np.array(bins, "int64"), "n": np.array(64, "int64"), "r": np.array(8192, "int64"),
        "low": np.float32(0), "high": np.float32(4096),
    }  # fmt: skip
    node = helper.make_node("MelWeightMatrix", list(weights), ["w"])
    nodes = [node, helper.make_node("MatMul", ["x", "w"], ["y"])]
    x = RNG.standard_normal((2, 33)).astype("float32")
    check(make_model(nodes, {"x": x}, ["y"], weights), {"x": x}, rtol=1e-4)


def test_errors() -> None:
    x = np.zeros((2, 4, 2), "float32")
    with pytest.raises(OpAttributeInvalid, match=r"legal: 0 \.\.\. 1"):
        from_onnx(_dft(x, axis=2))
    node = helper.make_node("STFT", ["x", "step"], ["y"])
    model = make_model([node], {"x": x}, ["y"], {"step": np.array(2, "int64")})
    with pytest.raises(OpAttributeInvalid, match="legal: one of them"):
        from_onnx(model)


def _open(model: Any, shape: list[int | str]) -> Any:
    """The model with another shape of its input."""
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for dim, extent in zip(dims, shape):
        dim.Clear()
        if isinstance(extent, int):
            dim.dim_value = extent
        else:
            dim.dim_param = extent
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    return model


@pytest.mark.parametrize("length", [None, 12])
def test_one_sided_of_open_length(length: int | None) -> None:
    runs = [{"x": RNG.standard_normal((2, n, 1)).astype("float32")} for n in (7, 12, 16)]
    model = _open(_dft(runs[0]["x"], length=length, onesided=1), ["b", "n", 1])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    for run in runs:
        got = vm["main"](run["x"]).numpy()
        wanted = np.fft.rfft(run["x"][..., 0], length)
        np.testing.assert_allclose(_complex(got), wanted, rtol=1e-4, atol=1e-4)


def test_one_sided_back_of_open_length() -> None:
    """Without a length the result is even; a length of thousands is summed one by one."""
    halves = [np.fft.rfft(RNG.standard_normal((2, n))) for n in (8, 12, 2050)]
    runs = [np.stack([h.real, h.imag], -1).astype("float32") for h in halves]
    model = _open(_dft(runs[0], onesided=1, inverse=1), ["b", "n", 2])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    for half, run in zip(halves, runs):
        got = vm["main"](run).numpy()[..., 0]
        np.testing.assert_allclose(got, np.fft.irfft(half), rtol=1e-3, atol=2e-3)
