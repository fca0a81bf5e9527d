"""The FFI's shapes and texts under the runtime's names."""

from __future__ import annotations

import pytest

import tvm
from tvm.runtime import container

pytestmark = pytest.mark.pure


def test_names() -> None:
    assert container.ShapeTuple is tvm.runtime.ShapeTuple
    assert tuple(container.ShapeTuple([3, 1])) == (3, 1)
    assert isinstance(container.String("a"), str)
    assert tvm.runtime.object_generic.const(1).dtype == "int32"


def test_a_shape_equals_what_a_function_returns() -> None:
    echo = tvm.get_global_func("testing.echo")
    assert echo(container.ShapeTuple([3, 1])) == container.ShapeTuple([3, 1])
