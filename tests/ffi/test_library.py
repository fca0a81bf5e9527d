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


@pytest.mark.parametrize(
    ("says_no", "tensor", "is_asked"),
    [
        (False, "class Tensor: ...", True),
        (True, "class Tensor: ...", False),
        (False, "class Tensor: __dlpack_c_exchange_api__ = object()", False),
    ],
    ids=["tensors need help", "program says no", "tensors need none"],
)
def test_torch_is_loaded_only_for_its_tensors(
    tmp_path: Path, says_no: bool, tensor: str, is_asked: bool
) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("print('asked')\nraise ImportError")
    (tmp_path / "torch" / "_tensor.py").write_text(tensor)
    lines = [
        "import sys, importlib; at = importlib.import_module('tvm.ffi.library')",
        *(["at.without_torch()"] if says_no else []),
        "finders = list(sys.meta_path)",
        "at.library()",
        "assert sys.meta_path == finders and 'torch' not in sys.modules",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert ("asked" in done.stdout) == is_asked


def test_torch_that_comes_later_is_known() -> None:
    pytest.importorskip("torch")
    script = """
import sys, tvm
echo = tvm.ffi.convert(lambda x: x)
assert "torch" not in sys.modules
import torch, tvm_ffi
assert isinstance(echo(torch.ones(3)), torch.Tensor)
assert tvm_ffi.use_torch_stream().torch_context is None
assert tvm_ffi.use_torch_stream.__module__ == "tvm_ffi.stream"
"""
    subprocess.run([sys.executable, "-c", script], check=True)
