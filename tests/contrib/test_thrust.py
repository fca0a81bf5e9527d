from __future__ import annotations

from collections.abc import Iterator

import pytest

from tvm.contrib import thrust
from tvm.ffi import register_global_func, remove_global_func
from tvm.target import Target

pytestmark = pytest.mark.pure
NAME = "tvm.contrib.thrust.sort_of_the_test"


@pytest.fixture
def function() -> Iterator[None]:
    register_global_func(NAME, lambda *args: None)
    yield
    remove_global_func(NAME)


def test_with_the_function(function: None) -> None:
    assert thrust.can_use_thrust(Target("cuda -libs=thrust"), NAME)
    assert not thrust.can_use_thrust(Target("cuda"), NAME)
    assert not thrust.can_use_thrust(Target("rocm -libs=thrust"), NAME)
    assert thrust.can_use_rocthrust(Target("rocm -libs=thrust"), NAME)
    assert not thrust.can_use_rocthrust(Target("cuda -libs=thrust"), NAME)


def test_without_the_function() -> None:
    with pytest.warns(UserWarning, match="no function 'tvm.contrib.thrust.missing'"):
        assert not thrust.can_use_thrust(
            Target("cuda -libs=thrust"), "tvm.contrib.thrust.missing"
        )
