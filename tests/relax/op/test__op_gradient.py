"""The names of the gradient rules, and their form."""

from __future__ import annotations

import pytest

from tvm.relax.op import _op_gradient

pytestmark = pytest.mark.pure


def test_rules_have_the_four_parameters() -> None:
    names = [name for name in dir(_op_gradient) if name.endswith("_grad")]
    assert len(names) >= 100
    for name in names:
        rule = getattr(_op_gradient, name)
        if name != "no_grad":
            code = rule.__code__.co_varnames[:4]
            assert code == ("orig_var", "orig_call", "output_grad", "ctx"), name
