"""Loading tvm_ffi at first need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tvm
from tvm import error
from tvm.ffi import library

pytestmark = pytest.mark.pure


def test_nothing_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, tvm.ffi\n"
        "tvm.ffi.register_global_func('testing.early', lambda: 7)\n"
        "print('tvm_ffi' in sys.modules)\n"
        "print(tvm.ffi.get_global_func('testing.early')(), 'tvm_ffi' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().split() == ["False", "7", "True"]


@pytest.mark.parametrize("kind", [error.ShapeError, error.DTypeError, error.TVMError])
def test_our_errors_cross_compiled_code(kind: type[Exception]) -> None:
    def fail() -> None:
        raise kind("told")

    with pytest.raises(kind, match=r"^told$") as caught:
        library().convert(fail)()
    assert type(caught.value) is kind


def test_names_of_the_library_are_shown() -> None:
    assert tvm.ffi.Function is library().Function
    assert tvm.ffi.Tensor is tvm.runtime.Tensor
    assert "Array" in dir(tvm.ffi)
    with pytest.raises(AttributeError, match=r"'tvm\.ffi' has no attribute 'nonsense'"):
        _ = tvm.ffi.nonsense


def test_a_function_is_found_by_who_imported_the_library_under_its_own_name() -> None:
    script = """
import tvm_ffi, tvm
tvm.register_global_func("test.plus_one", lambda x: x + 1)
assert tvm_ffi.get_global_func("test.plus_one")(2) == 3
"""
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.parametrize("wanted", [True, False])
def test_a_program_without_torch_never_loads_it(tmp_path: Path, wanted: bool) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('asked for')")
    lines = [
        "import sys, importlib; at = importlib.import_module('tvm.ffi.library')",
        *([] if wanted else ["at.without_torch()"]),
        "seen = []",
        "sys.meta_path.insert(0, type('Spy', (), {'find_spec': staticmethod(",
        "    lambda name, *_: seen.append(name))}))",
        "at.library()",
        "print('torch' in seen, 'torch' in sys.modules)",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert done.stdout.split() == [str(wanted), "False"]
