"""Compile the digits model, run every test image through it, and print what came out.

`make demo` runs this. Needed: the package with its `onnx` extra; the model and the images are
beside this file.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import tvm
from tvm.exec.kernels import kernel_times, show_kernels

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARY = ROOT / "build" / "digits.so"
GREYS = " .:-=+*#%@"                # from white to black; the images have levels 0 to 16
BLACKEST = 16


class Run(NamedTuple):
    """The class predicted for each image, and how long each took."""

    predicted: NDArray[np.integer]
    seconds: NDArray[np.floating]


def compile_model() -> None:
    """What a user types: one command."""
    words = ["compile", "examples/digits/digits.onnx", "-o", "build/digits.so"]
    words += ["--input-shapes", "x:[1,1,8,8]"]
    print(f"$ tvm {shlex.join(words)}", flush=True)
    LIBRARY.parent.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "tvm", *words], cwd=ROOT, check=True)


def run_all(vm: tvm.relax.VirtualMachine, images: NDArray[np.float32]) -> Run:
    """One call for each image, as if each had just come in."""
    predicted = np.empty(len(images), np.int64)
    seconds = np.empty(len(images))
    inputs = [tvm.runtime.tensor(image[None]) for image in images]
    vm["main"](inputs[0])           # the first call also loads pages and wakes the threads
    for i, image in enumerate(inputs):
        start = time.perf_counter()
        probabilities = vm["main"](image)
        seconds[i] = time.perf_counter() - start
        predicted[i] = probabilities.numpy().argmax()
    return Run(predicted, seconds)


def draw(image: NDArray[np.uint8]) -> str:
    """The image as text, two characters a pixel, as characters are twice as high as wide."""
    levels = image.astype(int) * (len(GREYS) - 1) // BLACKEST
    rows = ("".join(GREYS[level] * 2 for level in row) for row in levels)
    return "\n".join(f"  {row}".rstrip() for row in rows)


def main() -> None:
    with np.load(HERE / "test_images.npz") as stored:
        images, labels = stored["images"], stored["labels"]
    inputs = images[:, None].astype(np.float32) / BLACKEST

    compile_model()
    vm = tvm.relax.VirtualMachine(tvm.runtime.load_module(str(LIBRARY)), tvm.cpu())
    run = run_all(vm, inputs)
    kernels = kernel_times(vm, [tvm.runtime.tensor(inputs[:1])])

    right = int((run.predicted == labels).sum())
    median, slowest = np.median(run.seconds) * 1e6, run.seconds.max() * 1e6
    print(f"\naccuracy: {right} of {len(labels)} images ({right / len(labels):.1%})")
    print(f"latency of one image: median {median:.1f} us, slowest {slowest:.1f} us")
    print(f"\n{show_kernels(kernels)}")

    print(f"\nthe first image, label {labels[0]}, prediction {run.predicted[0]}:\n")
    print(draw(images[0]))


if __name__ == "__main__":
    main()
