"""What `Op.get_attr` tells of operators for which nothing was set."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.ir import Op
from tvm.relay.testing import TempOpAttr

pytestmark = pytest.mark.pure


def test_operators_of_all_homes_are_known_by_name() -> None:
    assert Op.get("qnn.conv2d").name == "qnn.conv2d"
    assert "relay.op.annotation.simulated_quantize" in Op.list_op_names()


def test_strategies_can_be_asked() -> None:
    rule = Op.get("nn.relu").get_attr("FTVMStrategy")
    x = tvm.te.placeholder((4,), name="x")
    made = rule(None, [x], relay.TensorType((4,)), tvm.target.Target("llvm"))
    assert made.specializations[0].implementations
    assert Op.get("nn.conv2d").has_attr("FTVMStrategy")
    assert Op.get("tir.exp").get_attr("FTVMStrategy") is None


@pytest.mark.parametrize(
    ("name", "flags"), [("add", (0,)), ("dyn.reshape", (0, 1)), ("arange", (1,)), ("tir.exp", None)]
)
def test_shape_flags(name: str, flags: tuple[int, ...] | None) -> None:
    assert Op.get(name).get_attr("TShapeDataDependent") == flags


def test_operators_without_kernels() -> None:
    for name in ("qnn.add", "memory.kill", "on_device", "vm.shape_of"):
        assert Op.get(name).get_attr("TNonComputational")
    assert Op.get("add").get_attr("TNonComputational") is None


def test_rules_of_passes_are_seen_and_replaced() -> None:
    conv2d = Op.get("nn.conv2d")
    assert callable(conv2d.get_attr("FInferCorrectLayout"))
    before = conv2d.get_attr("FTVMMixedPrecisionConversionType")
    with TempOpAttr("nn.conv2d", "FTVMMixedPrecisionConversionType", lambda call, t: [2, t, t]):
        assert conv2d.get_attr("FTVMMixedPrecisionConversionType") is not before
    assert conv2d.get_attr("FTVMMixedPrecisionConversionType") is before
    assert conv2d.own_attr("FTVMMixedPrecisionConversionType") is None


@pytest.mark.parametrize(
    ("name", "known"), [("negative", False), ("topk", False), ("nn.depth_to_space", True)]
)
def test_operators_outside_the_lists_have_no_kind(name: str, known: bool) -> None:
    rule = Op.get(name).get_attr("FTVMMixedPrecisionConversionType")
    assert (rule is not None) is known
