"""`import tvm` is quick: no heavy package is loaded before something needs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.pure

HEAVY = ("llvmlite", "numpy", "tvm_ffi", "onnx", "torch", "ml_dtypes", "rich")
MAX_SECONDS = 0.2

PROGRAM = """
import json, sys, time
start = time.process_time()
import tvm
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def _import_once() -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    return json.loads(done.stdout)


def test_no_heavy_package_is_loaded() -> None:
    loaded = {name.partition(".")[0] for name in _import_once()["modules"]}
    assert not loaded.intersection(HEAVY)


def test_it_takes_less_than_a_blink() -> None:
    # time of this process alone, and any of many: other programs make one or the other slow
    assert any(_import_once()["seconds"] < MAX_SECONDS for _ in range(20))
