"""The result of a compilation."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.runtime.test_module import Table
from tvm.runtime import Executable
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_it_stands_for_its_module() -> None:
    module = Table(main=lambda x: x + 1, other=lambda: 2)
    executable = Executable(module)
    assert executable.mod is executable.jit() is module
    assert executable(1) == 2
    assert executable["other"]() == 2
    assert executable.function_names() == ["main", "other"]
    with pytest.raises(AttributeError):
        _ = executable._hidden


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_module_is_linked_once_or_anew(target: str) -> None:
    @T.prim_func
    def one(A: T.Buffer((4,), "float32")) -> None:
        A[0] = T.float32(1)

    executable = tvm.compile(one, target)
    assert executable._jitted_mod is None
    first = executable.jit()
    assert executable._jitted_mod is first is executable.jit()
    again = executable.jit(force_recompile=True)
    assert again is not first
    assert again is executable.jit()
    for module in (first, again):
        tensor = tvm.runtime.tensor(np.zeros(4, "float32"))
        module["one"](tensor)
        assert tensor.numpy()[0] == 1
