"""Decorators of Relax, and the check of what they read."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import DiagnosticError
from tvm.script import from_source
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_decorators_take_functions_only() -> None:
    with pytest.raises(TypeError, match="Expect a function"):
        R.function(3)
    with pytest.raises(ValueError, match=r"Invalid use of R\.macro"):
        R.macro("x")


def test_casts_need_both_parts() -> None:
    x = relax.Var("x", relax.ObjectStructInfo())
    with pytest.raises(ValueError, match="value of match_cast cannot be None"):
        R.match_cast(None, R.Object)
    with pytest.raises(ValueError, match="struct_info of match_cast cannot be None"):
        R.match_cast(x, None)
    assert isinstance(R.match_cast(x, R.Tensor).struct_info, relax.TensorStructInfo)


def test_functions_see_python_around_them() -> None:
    width = 3

    @R.function(private=True)
    def func(x: R.Tensor((width, width + 1), "float32")):
        y = R.reshape(x, R.shape([width * (width + 1)]))
        return y

    assert str(func.ret_struct_info) == 'R.Tensor((12,), dtype="float32")'


def test_ill_formed_functions_are_refused_unless_wanted() -> None:
    free = relax.Var("free", relax.ObjectStructInfo())
    text = "@R.function\ndef f(x: R.Object):\n    y = free\n    return y\n"
    names = {"R": R, "T": T, "free": free}
    with pytest.raises(DiagnosticError, match="not well-formed"):
        from_source(text, names)
    assert from_source(text, names, check_well_formed=False) is not None
