"""Global functions as nodes."""

from __future__ import annotations

import pytest

import tvm
from tvm.ir import EnvFunc, load_json, save_json

pytestmark = pytest.mark.pure


def test_called_and_stored_by_name() -> None:
    tvm.register_global_func("tests.env_func.plus", lambda x, y: x + y, override=True)
    plus = EnvFunc.get("tests.env_func.plus")
    again = load_json(save_json(plus))
    assert (plus(1, 2), again(1, 3), again.func(2, 2)) == (3, 4, 4)
    assert again.name == plus.name
    tvm.ir.assert_structural_equal(plus, again)


def test_unknown_function() -> None:
    with pytest.raises(tvm.TVMError, match="found: no global function of that name"):
        EnvFunc.get("tests.env_func.unheard")
