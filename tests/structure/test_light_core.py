"""The compiler's languages work with numpy alone: no LLVM, and not the runtime's library."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.pure

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"llvmlite", "tvm_ffi", "onnx", "torch", "rich"}:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocked())
"""

PACKAGES = ("ir", "tir", "arith", "script", "te", "relax", "topi", "dlight", "target",
            "relay")  # fmt: skip

MATMUL = """
import numpy as np
from tvm import te, tir
from tvm.tir import interp

n, m, k = 4, 3, 5
a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
r = te.reduce_axis((0, k), "r")
c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
func = te.create_prim_func([a, b, c])
assert "T.block" in func.script()

rng = np.random.default_rng(0)
x, y = (rng.standard_normal(shape).astype("float32") for shape in ((n, k), (k, m)))
out = np.zeros((n, m), "float32")
interp.run(func, x, y, out)
np.testing.assert_allclose(out, x @ y, rtol=1e-5)
"""


def _run(program: str) -> None:
    command = [sys.executable, "-c", BLOCKED + program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", PACKAGES)
def test_package_imports(package: str) -> None:
    _run(f"import tvm.{package}")


def test_matmul_from_definition_to_numbers() -> None:
    _run(MATMUL)


def test_the_block_holds() -> None:
    with pytest.raises(AssertionError, match="llvmlite is blocked"):
        _run("import llvmlite")
