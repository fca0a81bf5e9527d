"""Looking at values while a model runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import runtime
from tvm.ffi import get_global_func, register_global_func

pytestmark = pytest.mark.pure


def test_the_effect_goes_through() -> None:
    seen: list[Any] = []
    register_global_func("test.debug.seen", lambda *args: seen.append(args), override=True)
    invoke = get_global_func("vm.builtin.invoke_debug_func")
    assert invoke(7, "test.debug.seen", "a.py:3", 1, 2.5) == 7
    assert seen == [("a.py:3", 1, 2.5)]


def test_print(capsys: pytest.CaptureFixture[str]) -> None:
    shown = get_global_func("vm.builtin.debug_print")
    shown("a.py:3", runtime.tensor(np.ones((1, 2), "int32")))
    shown("a.py:4", 5)
    assert capsys.readouterr().out == (
        "a.py:3: shape = (1, 2), dtype = int32, data =\n[[1 1]]\na.py:4: 5\n"
    )
