"""The digits example as the end-to-end tests use it: its files, and the command line."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tvm.exec import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "digits"
MODEL = EXAMPLE / "digits.onnx"
ONE_IMAGE = "x:[1,1,8,8]"


def load_images() -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """All test images as the model takes them, (n, 1, 8, 8) in [0, 1], and their labels."""
    with np.load(EXAMPLE / "test_images.npz") as stored:
        return stored["images"][:, None].astype(np.float32) / 16, stored["labels"]


def tvm(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "tvm", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=900)


def tvm_here(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, which has loaded what each command needs."""
    out, err = io.StringIO(), io.StringIO()
    argv = [*map(str, words)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main(argv)
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
