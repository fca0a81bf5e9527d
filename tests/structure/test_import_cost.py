"""`import tvm` is quick: no heavy package is loaded before something needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.pure

HEAVY = ("llvmlite", "numpy", "tvm_ffi", "onnx", "torch", "ml_dtypes", "rich")
MOST_SECONDS = 0.2

PROGRAM = """
import json, sys, time
start = time.perf_counter()
import tvm
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def _import_once() -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_no_heavy_package_is_loaded() -> None:
    loaded = {name.partition(".")[0] for name in _import_once()["modules"]}
    assert not loaded.intersection(HEAVY)


def test_it_takes_less_than_a_blink() -> None:
    # The best of several: a busy machine makes any one of them slow.
    best = min(_import_once()["seconds"] for _ in range(5))
    assert best < MOST_SECONDS
