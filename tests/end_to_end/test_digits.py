"""The digits model from its ONNX file to predictions, against ONNX Runtime."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import tvm
from tests.end_to_end.digits import EXAMPLE, MODEL, ROOT, load_images
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu

MAX_DIFFERENCE = 1e-5          # of a probability


@pytest.fixture(scope="module")
def yardstick() -> np.ndarray:
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": load_images()[0]})[0]


def _probabilities(vm: tvm.relax.VirtualMachine) -> np.ndarray:
    images, _ = load_images()
    rows = [vm["main"](tvm.runtime.tensor(image[None])).numpy() for image in images]
    return np.concatenate(rows)


def _check(ours: np.ndarray, yardstick: np.ndarray) -> None:
    labels = load_images()[1]
    predicted = ours.argmax(axis=1)
    assert ours.shape == (len(labels), 10)
    assert np.mean(predicted == labels) >= 0.97
    assert np.array_equal(predicted, yardstick.argmax(axis=1))
    assert np.abs(ours - yardstick).max() <= MAX_DIFFERENCE


def test_exported_library_predicts_as_onnx_runtime(library: Path, yardstick: np.ndarray) -> None:
    vm = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
    _check(_probabilities(vm), yardstick)


def test_executable_in_this_process(yardstick: np.ndarray) -> None:
    module = from_onnx(onnx.load(MODEL), shape_dict={"x": [1, 1, 8, 8]})
    vm = tvm.relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    _check(_probabilities(vm), yardstick)


def test_open_batch_takes_any_number_of_images(yardstick: np.ndarray) -> None:
    module = from_onnx(onnx.load(MODEL))
    vm = tvm.relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    images, _ = load_images()
    for count in (1, 2, 7, len(images)):
        ours = vm["main"](tvm.runtime.tensor(images[:count])).numpy()
        assert np.abs(ours - yardstick[:count]).max() <= MAX_DIFFERENCE


def test_signature_names_inputs_and_outputs(library: Path) -> None:
    vm = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
    main = vm.signature("main")
    assert [(p.name, tuple(p.shape), p.dtype) for p in main.params] == [
        ("x", (1, 1, 8, 8), "float32")
    ]
    assert [(tuple(r.shape), r.dtype) for r in main.results] == [((1, 10), "float32")]


def test_demo_prints_accuracy_kernels_and_an_image() -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE / "demo.py"], capture_output=True, text=True, cwd=ROOT, timeout=900
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy: 359 of 360 images" in done.stdout
    assert "latency" in done.stdout
    for node in ("stem/conv", "block2/add", "head/dense", "head/softmax"):
        assert node in done.stdout
    assert "label" in done.stdout
