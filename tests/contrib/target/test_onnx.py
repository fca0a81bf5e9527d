"""Programs of Relay as models of ONNX: what onnxruntime gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module
from tvm import relay
from tvm.contrib.target.onnx import to_onnx

onnx = pytest.importorskip("onnx")
pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(3)


def numbers(*shape: int, dtype: str = "float32") -> Any:
    return RNG.uniform(-1, 1, shape).astype(dtype)


def const(*shape: int) -> Any:
    return relay.const(numbers(*shape))


def check(body: Any, *inputs: Any) -> None:
    """onnxruntime and Relay give the same numbers."""
    runtime = pytest.importorskip("onnxruntime")
    mod = module(body, *inputs)
    feeds = [numbers(*(int(n) for n in p.checked_type.shape)) for p in mod["main"].params]
    model = to_onnx(mod, {}, "net")
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [one.name for one in session.get_inputs()]
    assert names == [p.name_hint for p in mod["main"].params]
    found = session.run(None, dict(zip(names, feeds)))
    wanted = relay.create_executor("graph", mod).evaluate()(*feeds)
    for one, other in zip(found, wanted if isinstance(wanted, list) else [wanted], strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


X = relay.var("x", shape=(2, 3, 6, 8))
M = relay.var("m", shape=(4, 6))
Y = relay.var("y", shape=(4, 6))
nn = relay.nn


@pytest.mark.parametrize(
    "body",
    [
        lambda: nn.conv2d(X, const(4, 3, 3, 3), padding=(1, 2), strides=(2, 1)),
        lambda: nn.conv2d(X, const(6, 1, 3, 3), padding=(1, 0, 0, 1), groups=3, dilation=(2, 1)),
        lambda: nn.conv2d_transpose(
            X, const(3, 4, 3, 3), strides=(2, 2), padding=(1, 1), output_padding=(1, 0),
            channels=4, kernel_size=(3, 3),
        ),
        lambda: nn.max_pool2d(X, (3, 2), strides=(2, 2), padding=(1, 0, 1, 0)),
        lambda: nn.avg_pool2d(X, (3, 3), padding=(1, 1), count_include_pad=True),
        lambda: nn.avg_pool2d(X, (3, 3), padding=(1, 1)),
        lambda: nn.global_avg_pool2d(X),
        lambda: nn.batch_norm(X, const(3), const(3), const(3), relay.const(numbers(3) ** 2))[0],
        lambda: nn.batch_norm(
            X, const(8), const(8), const(8), relay.const(numbers(8) ** 2), axis=3, scale=False,
            center=False, epsilon=0.1,
        )[0],
        lambda: nn.bias_add(X, const(3)),
        lambda: nn.bias_add(X, const(8), axis=-1),
        lambda: nn.softmax(X, axis=1),
        lambda: nn.softmax(X),
        lambda: nn.log_softmax(X, axis=2),
        lambda: nn.dropout(X, 0.3),
        lambda: nn.lrn(X, size=3, bias=2.0, alpha=0.1, beta=0.5),
        lambda: nn.pad(X, ((0, 0), (0, 1), (1, 2), (3, 0)), pad_value=0.5),
        lambda: nn.pad(X, ((0, 0), (0, 0), (1, 2), (3, 0)), relay.const(2)),
        lambda: nn.pad(X, ((0, 0), (0, 0), (1, 2), (3, 0)), pad_mode="reflect"),
        lambda: nn.batch_flatten(X),
        lambda: relay.mean(X, axis=[1, -1]),
        lambda: relay.sum(X, axis=1, keepdims=True, exclude=True),
        lambda: relay.max(X),
        lambda: relay.transpose(X, (0, -1, 1, 2)),
        lambda: relay.transpose(X),
        lambda: relay.layout_transform(X, "NCHW", "NHWC"),
        lambda: relay.image.resize2d(X, (12, 16), method="linear"),
        lambda: relay.image.resize2d(
            X, (9, 5), method="nearest_neighbor", coordinate_transformation_mode="asymmetric",
            rounding_method="floor",
        ),
        lambda: relay.Tuple(list(relay.split(X, (2, 5), axis=3))),
        lambda: relay.split(X, 3, axis=1)[1],
        lambda: relay.concatenate([X, X + relay.const(1.0)], axis=-1),
        lambda: relay.strided_slice(X, [0, 1, -1], [2, 3, -5], [1, 1, -2]),
        lambda: relay.strided_slice(X, [1, 2], [3, -1], axes=[2, 3], slice_mode="size"),
        lambda: relay.reshape(X, (-1, 0, 2)),
        lambda: relay.expand_dims(X, axis=-2, num_newaxis=2),
        lambda: relay.squeeze(relay.expand_dims(X, 1), axis=[1]),
        lambda: relay.clip(X, -0.5, 0.25),
        lambda: relay.cast(relay.cast(X * relay.const(9.0), "int32"), "float32"),
        lambda: relay.zeros_like(X) + relay.ones_like(X),
        lambda: nn.leaky_relu(X, 0.2) * relay.exp(X) / relay.sigmoid(relay.copy(X)),
        lambda: nn.dense(M, const(5, 6)) - relay.const(numbers(5)),
        lambda: nn.batch_matmul(relay.reshape(M, (2, 2, 6)), relay.reshape(Y, (2, 2, 6))),
        lambda: relay.where(relay.less(M, Y), M, relay.greater(M, Y).astype("float32")),
    ],
)  # fmt: skip
def test_numbers(body: Any) -> None:
    check(body())


def test_parameters_are_initializers(tmp_path: Path) -> None:
    w = relay.var("w", shape=(5, 6))
    mod = module(nn.relu(nn.dense(M, w)), M, w)
    path = tmp_path / "net.onnx"
    model = to_onnx(mod["main"], {"w": tvm.nd.array(numbers(5, 6))}, "net", path=str(path))
    assert [one.name for one in model.graph.input] == ["m"]
    assert "w" in [one.name for one in model.graph.initializer]
    assert [one.version for one in model.opset_import] == [11]
    assert model.graph.name == "net"
    back, params = relay.frontend.from_onnx(onnx.load(path))
    assert not params
    assert [int(n) for n in back["main"].params[0].checked_type.shape] == [4, 6]


def test_what_has_no_form() -> None:
    with pytest.raises(NotImplementedError, match="legal: 11"):
        to_onnx(module(nn.relu(M)), {}, "net", opset_version=12)
    with pytest.raises(tvm.TVMError, match=r"no form for cumsum, isnan; legal: .*nn\.conv2d"):
        to_onnx(module(relay.isnan(relay.cumsum(M, axis=1))), {}, "net")
    with pytest.raises(tvm.TVMError, match="legal: 'NCHW'"):
        to_onnx(module(nn.max_pool2d(X, layout="NHWC")), {}, "net")
    with pytest.raises(tvm.TVMError, match="legal: known shapes"):
        to_onnx(module(nn.relu(relay.var("a", shape=(relay.Any(), 2)))), {}, "net")
    with pytest.raises(TypeError, match="a module or a function"):
        to_onnx(5, {}, "net")  # type: ignore[arg-type]
