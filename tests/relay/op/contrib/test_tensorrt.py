"""What TensorRT takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.op.test_partner_tables import composites, module, v
from tvm import relay
from tvm.relay.op.contrib import get_pattern_table, tensorrt

pytestmark = pytest.mark.cpu
X = v("x", 1, 3, 8, 8)
RNG = np.random.default_rng(0)


def const(*shape: int) -> Any:
    return relay.const(RNG.standard_normal(shape).astype("float32"))


def names(body: Any, **options: Any) -> list[str]:
    mod = tensorrt.partition_for_tensorrt(module(body), None, options)
    return sorted(n.removeprefix("tensorrt.") for n in composites(mod))


def test_a_network_as_a_whole() -> None:
    x = v("x", 1, 8, 8, 3)
    weight = relay.var("w", shape=(3, 3, 3, 4))
    y = relay.nn.conv2d(x, weight, channels=4, kernel_size=(3, 3), data_layout="NHWC",
                        kernel_layout="HWIO")  # fmt: skip
    y = relay.nn.dropout(relay.nn.relu(relay.nn.bias_add(y, const(4), axis=3)))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y, layout="NHWC"))
    before = module(relay.nn.softmax(relay.nn.dense(y, const(5, 4))))
    params = {"w": RNG.standard_normal((3, 3, 3, 4)).astype("float32")}
    after = tensorrt.partition_for_tensorrt(before, params)
    outside = [f for f in after.functions.values() if f.attrs.get("Compiler") == "tensorrt"]
    assert len(outside) == 1
    assert {"tensorrt.nn.conv2d", "tensorrt.nn.dense"} <= set(composites(after))
    data = RNG.standard_normal((1, 8, 8, 3)).astype("float32")
    have = relay.create_executor("graph", mod=after).evaluate()(data).numpy()
    with tvm.transform.PassContext(opt_level=2):
        want = relay.create_executor("graph", mod=before).evaluate()(data, params["w"]).numpy()
    np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("body", "implicit", "explicit"),
    [
        (relay.sum(X, axis=[1]), True, True),
        (relay.sum(X, axis=[0, 1]), False, True),
        (relay.nn.softmax(X, axis=0), False, True),
        (relay.reshape(X, (1, -1)), True, True),
        (relay.reshape(X, (3, 64)), False, True),
        (relay.reshape(X, (0, 3, 64)), True, True),
        (relay.transpose(X, (0, 2, 3, 1)), True, True),
        (relay.transpose(X, (1, 0, 2, 3)), False, True),
        (relay.expand_dims(X, 0), False, True),
        (relay.squeeze(relay.exp(X)), False, False),
        (relay.strided_slice(X, [0, 0, 2, 2], [1, 2, 6, 6]), True, True),
        (relay.strided_slice(X, [0, 2], [1, 0], [1, -1]), False, False),
        (relay.nn.max_pool2d(X, (2, 2)), True, True),
        (relay.nn.max_pool2d(X, (2, 2), layout="NHWC"), False, False),
        (relay.nn.avg_pool2d(X, padding=(1, 0, 0, 1), count_include_pad=True), False, False),
        (relay.nn.adaptive_avg_pool2d(X, (1, 1)), True, True),
        (relay.nn.adaptive_avg_pool2d(X, (2, 2)), False, False),
        (relay.nn.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)), 0.0), True, True),
        (relay.nn.pad(X, ((0, 0), (1, 0), (1, 1), (1, 1)), 0.0), False, False),
        (relay.nn.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)), 2.0), False, False),
        (relay.erf(X), False, False),
        (relay.atan(X), True, True),
        (relay.cast(X, "int8"), False, False),
    ],
)
def test_limits(body: Any, implicit: bool, explicit: bool) -> None:
    taken = body.op.name in names(body)
    assert (taken, body.op.name in names(body, use_implicit_batch=False)) == (implicit, explicit)


def test_options() -> None:
    assert names(relay.erf(X), tensorrt_version=(7, 0, 0)) == ["erf"]
    assert names(relay.atan(X), tensorrt_version=(5, 0, 0)) == []
    half = relay.exp(v("h", 1, 4, dtype="float16"))
    assert (names(half), names(half, use_fp16=True)) == ([], ["exp"])
    assert names(relay.exp(X), remove_no_mac_subgraphs=True) == []
    with pytest.raises(ValueError, match="no partition for TensorRT is under way"):
        tensorrt.get_tensorrt_target()


def test_batches_of_one_size() -> None:
    """With an implicit batch all inputs of a part have it."""
    body = relay.add(relay.exp(v("a", 4, 3)), relay.exp(v("b", 1, 3)))
    assert names(body) == []
    assert names(body, use_implicit_batch=False) == ["add", "exp", "exp"]


def test_the_table() -> None:
    table = get_pattern_table("tensorrt")
    assert {"tensorrt.nn.conv2d", "tensorrt.concatenate", "tensorrt.nn.batch_norm"} <= {
        row[0] for row in table
    }
    assert not tensorrt.is_tensorrt_runtime_enabled()
