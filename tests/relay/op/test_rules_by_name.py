"""Rules of operators under the names of functions."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.testing.temp_op_attr import TempOpAttr

pytestmark = pytest.mark.pure

GRADIENTS = importlib.import_module("tvm.relay.op._tensor_grad")


@pytest.mark.parametrize("name", ["log", "nn.relu", "nn.conv2d", "dyn.zeros", "strided_slice"])
def test_gradients(name: str) -> None:
    rule = getattr(GRADIENTS, f"{name.rpartition('nn.')[2].replace('.', '_')}_grad")
    assert rule is relay.op.get(name).get_attr("FPrimalGradient")


def test_a_gradient_is_one() -> None:
    x = relay.var("x", shape=(3,))
    call = relay.testing.run_infer_type(relay.log(x))
    (slope,) = GRADIENTS.log_grad(call, relay.const(np.full(3, 2.0, "float32")))
    given = np.array([1, 2, 4], "float32")
    func = relay.Function(relay.analysis.free_vars(slope), slope)
    found = relay.create_executor("debug", tvm.IRModule.from_expr(func)).evaluate()(given)
    np.testing.assert_allclose(found.numpy(), 2 / given)


@pytest.mark.parametrize(
    ("module", "function", "operator"),
    [
        ("tvm.relay.op.nn._nn", "convert_conv2d", "nn.conv2d"),
        ("tvm.relay.op.image._image", "convert_image_resize2d", "image.resize2d"),
        ("tvm.relay.op.vision._rcnn", "convert_roi_align", "vision.roi_align"),
        ("tvm.relay.qnn.op.layout_conversions", "convert_qnn_conv2d", "qnn.conv2d"),
    ],
)
def test_layouts(module: str, function: str, operator: str) -> None:
    rule = getattr(importlib.import_module(module), function)
    assert rule is relay.op.get(operator).get_attr("FTVMConvertOpLayout")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = importlib.import_module(module).nothing


def test_rules_that_users_set_are_found() -> None:
    with TempOpAttr("log", "FPrimalGradient", lambda orig, grad: [grad]):
        assert GRADIENTS.log_grad(None, 1) == [1]
    assert GRADIENTS.log_grad is relay.op.get("log").get_attr("FPrimalGradient")


def test_debug_stands_beside_the_other_operators() -> None:
    assert relay.debug is relay.op.debug
    x = relay.var("x", shape=(2,))
    assert relay.debug(x).op.name == "debug"
