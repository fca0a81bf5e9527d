"""The result of a compilation."""

from __future__ import annotations

import pytest

from tests.runtime.test_module import Table
from tvm.runtime import Executable

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
