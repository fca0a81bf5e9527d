"""The names of the package's root."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm
from tvm import base, tir

pytestmark = pytest.mark.pure


def test_names() -> None:
    assert base.py_str(b"l\xc3\xb6ss") == "löss"
    assert base.__version__ == tvm.__version__
    assert base._RUNTIME_ONLY is False
    assert Path(base._LIB._name).exists()


def test_the_root_error_catches_what_calls_raise() -> None:
    assert tvm.TVMError is base.TVMError
    assert issubclass(tvm.error.TVMError, RuntimeError)
    with pytest.raises(tvm.TVMError):
        tir.Var("x", "int32", 1, 2, 3)  # type: ignore[call-arg]
