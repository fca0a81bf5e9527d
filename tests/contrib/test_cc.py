"""The names of tvm.contrib.cc."""

from __future__ import annotations

import pytest

from tvm.contrib import cc
from tvm.runtime import linker

pytestmark = pytest.mark.pure


def test_the_names_are_those_of_the_linker() -> None:
    for name in cc.__all__:
        assert getattr(cc, name) is getattr(linker, name)
