"""Passes made of functions, under the longer module name."""

from __future__ import annotations

import pytest

from tvm.tir import transform
from tvm.tir.transform import function_pass

pytestmark = pytest.mark.pure


def test_names_are_those_of_the_package() -> None:
    assert function_pass.prim_func_pass is transform.prim_func_pass
    assert function_pass.PrimFuncPass is transform.PrimFuncPass


def test_the_module_is_the_decorator() -> None:
    @function_pass(opt_level=1)
    def keep(func, mod, ctx):  # type: ignore[no-untyped-def]
        return func

    assert isinstance(keep, transform.FunctionPass)
    assert isinstance(keep, keep.FunctionPass)
    assert keep.info.opt_level == 1
