"""The gradient of a convolution by its kernel, against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import TVMError

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    ("options", "data", "kernel"),
    [
        ({"strides": (2, 1), "padding": (1, 2)}, "NCHW", "OIHW"),
        ({"groups": 2, "dilation": (1, 2)}, "NCHW", "OIHW"),
        ({"padding": (1, 1)}, "NHWC", "OHWI"),
        ({}, "NHWC", "HWIO"),
    ],
)
def test_against_torch(options: dict[str, Any], data: str, kernel: str) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    image = rng.normal(size=(2, 4, 7, 8)).astype("float32")
    shape = (6, 4 // options.get("groups", 1), 3, 2)
    given = {
        "stride": options.get("strides", 1), "padding": options.get("padding", 0),
        "dilation": options.get("dilation", 1), "groups": options.get("groups", 1),
    }  # fmt: skip
    out = torch.nn.functional.conv2d(torch.tensor(image), torch.zeros(shape), **given)
    grad = rng.normal(size=out.shape).astype("float32")
    wanted = torch.nn.grad.conv2d_weight(
        torch.tensor(image), shape, torch.tensor(grad), **given
    ).numpy()

    def moved(value: Any, source: str, target: str) -> Any:
        return np.ascontiguousarray(value.transpose([source.index(s) for s in target]))

    operands = [moved(grad, "NCHW", data), moved(image, "NCHW", data)]
    g, x = (relay.var(name, shape=v.shape) for name, v in zip("gx", operands, strict=True))
    layouts = {"grad_layout": data, "data_layout": data, "kernel_layout": kernel}
    body = relay.nn.conv2d_backward_weight(g, x, kernel_size=(3, 2), **layouts, **options)
    func = relay.Function([g, x], body)
    found = relay.create_executor("graph", tvm.IRModule.from_expr(func)).evaluate()(*operands)
    np.testing.assert_allclose(found.numpy(), moved(wanted, "OIHW", kernel), rtol=1e-4, atol=1e-4)


def test_options_are_those_of_the_convolution() -> None:
    g, x = relay.var("g", shape=(1, 2, 4, 4)), relay.var("x", shape=(1, 3, 6, 6))
    made = relay.nn.conv2d_backward_weight(g, x, kernel_size=(3, 3))
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(made))["main"].body
    assert typed.checked_type == relay.TensorType((2, 3, 3, 3))
    assert isinstance(made.attrs, relay.op.op_attrs.Conv2DAttrs)
    assert made.attrs.out_layout == "OIHW"
    with pytest.raises(TVMError, match="no kernel_size"):
        relay.nn.conv2d_backward_weight(g, x)
    with pytest.raises(TVMError, match="legal: NCHW, NHWC"):
        relay.nn.conv2d_backward_weight(g, x, kernel_size=3, data_layout="CHWN")
