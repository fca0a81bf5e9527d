"""Registered functions as attributes of modules."""

from __future__ import annotations

import pytest

import tvm

pytestmark = pytest.mark.pure


def test_functions_below_a_prefix() -> None:
    assert tvm.runtime._ffi_api.NumThreads() >= 1
    source = tvm.runtime._ffi_api.CSourceModuleCreate("int f;", "c", ["f"], [])
    assert "int f;" in source.inspect_source()
    assert tvm.testing._ffi_api.echo(3) == 3
    assert tvm.rpc._ffi_api.Connect


@pytest.mark.parametrize("package", ["runtime", "target", "testing", "rpc", "meta_schedule"])
def test_an_absent_function_is_an_attribute_error(package: str) -> None:
    module = getattr(tvm, package)._ffi_api
    wanted = f"no function is registered as '{package}.no_such_function'"
    with pytest.raises(AttributeError, match=wanted):
        _ = module.no_such_function
    assert not hasattr(module, "__wrapped__")
