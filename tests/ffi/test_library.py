"""Loading tvm_ffi at first need."""

from __future__ import annotations

import subprocess
import sys

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
