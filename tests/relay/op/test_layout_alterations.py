"""Operators ask the current target for a layout; what is built does not."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.relay import transform
from tvm.relay.op.layout_alterations import OF_TARGETS
from tvm.relay.testing import run_opt_pass

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", sorted(OF_TARGETS))
def test_each_operator_has_its_rule(name: str) -> None:
    assert tvm.ir.Op.get(name).get_attr("FTVMAlterOpLayout") is OF_TARGETS[name]


def test_targets_without_a_rule_keep_calls() -> None:
    x, w = relay.var("x", shape=(1, 8, 6, 6)), relay.var("w", shape=(8, 8, 3, 3))
    func = relay.Function([x, w], relay.nn.conv2d(x, w))
    with tvm.target.Target("cuda -arch=sm_70"):
        made = run_opt_pass(func, transform.AlterOpLayout())
    assert "NCHWc" not in str(made)
