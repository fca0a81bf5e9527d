"""Regions between dequantization and quantization, in integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module, ops, random_inputs, results
from tvm import relay
from tvm.error import TVMError
from tvm.ir.affine_type import TensorAffineType, TupleAffineType
from tvm.relay import transform as t
from tvm.relay.op.op import (
    register_fake_quantization_to_integer,
    register_optional_fake_quantization_to_integer,
)
from tvm.relay.testing.temp_op_attr import TempOpAttr

pytestmark = pytest.mark.pure
c = relay.const


def var(name: str, *shape: int, dtype: str = "int8") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def real(x: Any, scale: Any, zero: int = 0, axis: int = -1) -> Any:
    return relay.qnn.op.dequantize(x, c(scale), c(zero), axis=axis)


def whole(x: Any, scale: float, zero: int = 0, dtype: str = "int8") -> Any:
    return relay.qnn.op.quantize(x, c(scale), c(zero), out_dtype=dtype)


def compare(body: Any, tolerance: int = 1, **options: Any) -> Any:
    before = module(body)
    after = t.FakeQuantizationToInteger(hard_fail=True, **options)(before)
    assert "qnn.dequantize" not in ops(after)
    data = random_inputs(before)
    a, b = (results(mod, data)[0].astype(int) for mod in (before, after))
    assert np.abs(a - b).max() <= tolerance
    return after


X, Y = var("x", 1, 3, 6, 6), var("y", 1, 3, 6, 6)
W = var("w", 4, 3, 3, 3)


def conv(x: Any, w: Any) -> Any:
    return relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4)


ONE_OPERAND = {
    "relu": lambda x: relay.nn.relu(x),
    "leaky_relu": lambda x: relay.nn.leaky_relu(x, 0.1),
    "clip": lambda x: relay.clip(x, 0, 6),
    "pad": lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), 2.0),
    "max_pool": lambda x: relay.nn.max_pool2d(x, (2, 2)),
    "avg_pool": lambda x: relay.nn.avg_pool2d(x, (3, 3)),
    "global_avg_pool": lambda x: relay.nn.global_avg_pool2d(x),
    "mean": lambda x: relay.mean(x, [2, 3]),
    "reshape": lambda x: relay.reshape(x, [3, -1]),
    "transpose": lambda x: relay.transpose(x, [0, 2, 3, 1]),
    "strided_slice": lambda x: relay.strided_slice(x, [0, 0], [1, 2]),
    "split": lambda x: relay.split(x, [1], axis=1)[1],
    "take": lambda x: relay.take(x, c(np.array([0, 2])), axis=1),
    "topk": lambda x: relay.topk(x, 2, ret_type="values"),
    "broadcast": lambda x: relay.broadcast_to(x, (2, 3, 6, 6)),
    "flatten": lambda x: relay.nn.batch_flatten(x),
    "minimum": lambda x: relay.minimum(x, c(4.0)),
}


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_one_operand(name: str) -> None:
    compare(whole(ONE_OPERAND[name](real(X, 2.0, 3)), 2.0, 3))


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "sqrt", "exp", "abs"])
def test_functions(name: str) -> None:
    compare(whole(getattr(relay, name)(real(var("x", 8, dtype="uint8"), 0.1)), 0.05))


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "minimum", "maximum"])
def test_two_operands(name: str) -> None:
    op = getattr(relay, name)
    compare(whole(op(real(X, 2.0), real(Y, 3.0)), 4.0))
    compare(whole(op(real(X, 2.0), c(4.0)), 4.0))
    compare(whole(op(c(4.0), real(X, 2.0)), 4.0))


def test_products_end_in_one_requantization() -> None:
    body = whole(conv(real(X, 2.0), real(W, 0.5)), 10.0)
    assert ops(compare(body)) == ["qnn.conv2d", "qnn.requantize"]
    per_channel = real(W, np.array([0.5, 1, 2, 0.25], "float32"), axis=0)
    compare(whole(conv(real(X, 2.0), per_channel), 10.0))
    b = real(var("b", 4, dtype="int32"), 1.0)
    bias = relay.nn.bias_add(conv(real(X, 2.0), real(W, 0.5)), b)
    compare(whole(bias, 10.0))
    bias = relay.nn.bias_add(conv(real(X, 2.0), real(W, 0.5)), c(np.arange(4).astype("float32")))
    compare(whole(bias, 10.0))
    compare(whole(relay.nn.dense(real(var("x", 3, 4), 2.0), real(var("w", 5, 4), 0.5)), 4.0))
    compare(whole(relay.nn.batch_matmul(real(var("x", 1, 3, 4), 2.0),
                                        real(var("w", 1, 5, 4), 0.5)), 4.0))  # fmt: skip


def test_joined_tensors() -> None:
    compare(whole(relay.concatenate([real(X, 2.0), real(Y, 3.0)], 1), 3.5))


def test_channels_keep_their_scales() -> None:
    scales = np.array([2.0, 1.0, 3.0], "float32")
    x = real(X, scales, 3, axis=1)
    compare(whole(relay.nn.relu(x), 2.0, 3))
    compare(whole(relay.clip(x, 0.0, 6.0), 2.0, 3))


def test_same_parameters_need_no_requantization() -> None:
    assert ops(compare(whole(relay.nn.max_pool2d(real(X, 2.0), (2, 2)), 2.0), 0)) == [
        "nn.max_pool2d"
    ]


def test_regions_without_rules_stay() -> None:
    before = module(whole(relay.nn.log_softmax(real(X, 2.0)), 2.0))
    assert ops(t.FakeQuantizationToInteger()(before)) == ops(before)
    with pytest.raises(TVMError, match=r"Found no rewrite rule for nn\.log_softmax"):
        t.FakeQuantizationToInteger(hard_fail=True)(before)
    before = module(whole(relay.topk(real(X, 2.0), 1, ret_type="both")[0], 2.0))
    assert ops(t.FakeQuantizationToInteger()(before)) == ops(before)
    with pytest.raises(TVMError, match="indices have no scale"):
        t.FakeQuantizationToInteger(hard_fail=True)(before)
    unknown = module(whole(relay.nn.bias_add(real(X, 2.0), var("b", 3, dtype="float32")), 2.0))
    assert ops(t.FakeQuantizationToInteger()(unknown)) == ops(unknown)


def test_what_other_parts_of_the_program_use_stays_real() -> None:
    x = relay.nn.relu(real(X, 2.0))
    before = module(relay.Tuple([whole(x, 2.0), x]))
    after = t.FakeQuantizationToInteger(hard_fail=True)(before)
    data = random_inputs(before)
    for a, b in zip(results(before, data), results(after, data), strict=True):
        assert (a == b).all()


def test_users_set_rules_and_name_optional_ones() -> None:
    def doubled(expr: Any, type_map: Any) -> Any:
        found = type_map[expr.args[0]]
        scale = relay.multiply(found.scale, c(2.0))
        return [expr.args[0], TensorAffineType(scale, found.zero_point, found.dtype)]

    before = module(whole(relay.nn.log_softmax(real(X, 2.0)), 4.0))
    with TempOpAttr("nn.log_softmax", "FTVMFakeQuantizationToInteger", None):
        register_fake_quantization_to_integer("nn.log_softmax", doubled, 11)
        assert ops(t.FakeQuantizationToInteger(hard_fail=True)(before)) == []
    with TempOpAttr("nn.log_softmax", "FTVMOptionalFakeQuantizationToInteger", None):
        register_optional_fake_quantization_to_integer("nn.log_softmax", doubled, 11)
        assert ops(t.FakeQuantizationToInteger()(before)) == ops(before)
        made = t.FakeQuantizationToInteger(optional_qnn_ops=["nn.log_softmax"])(before)
        assert ops(made) == []


def test_after_training_products_are_integers_too() -> None:
    before = module(relay.nn.relu(conv(real(X, 2.0), real(W, 0.5))))
    assert "qnn.conv2d" not in ops(t.FakeQuantizationToInteger()(before))
    after = t.FakeQuantizationToInteger(use_qat=True)(before)
    assert ops(after) == ["qnn.conv2d", "qnn.dequantize", "nn.relu"]
    data = random_inputs(before)
    np.testing.assert_allclose(results(after, data)[0], results(before, data)[0])


def test_affine_types_are_nodes() -> None:
    one = TensorAffineType(c(2.0), c(0), "int8", 1)
    assert (one.dtype, one.axis) == ("int8", 1)
    assert TupleAffineType([one]).types[0] is one


@pytest.mark.parametrize(
    "mean",
    [
        lambda x: relay.nn.avg_pool2d(x, (3, 3)),
        lambda x: relay.nn.global_avg_pool2d(x),
        lambda x: relay.nn.adaptive_avg_pool1d(relay.reshape(x, (1, 3, 36)), 4),
    ],
)
@pytest.mark.parametrize(("scale", "zero"), [(2.0, 5), (0.2, 5), (0.7, -3)])
def test_means_round_in_steps_of_the_result(mean: Any, scale: float, zero: int) -> None:
    compare(whole(mean(real(X, 2.0, 5)), scale, zero))


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("int8", 7), ("int32", 0)])
@pytest.mark.parametrize("constant", [False, True])
def test_a_bias_is_added_in_32_bits(dtype: str, zero: int, constant: bool) -> None:
    x = var("x", 4, 6, dtype=dtype)
    values = np.linspace(-90, 90, 6).astype("float32")
    bias = c(values) if constant else real(var("b", 6), 1.5, 1)
    compare(whole(relay.nn.bias_add(real(x, 2.0, zero), bias), 4.0))


def test_integers_that_stand_for_several_numbers() -> None:
    joined = relay.concatenate([real(X, 0.5, 1), real(X, 1.5, 2), real(X, 2.0, -3)], 1)
    compare(whole(joined, 1.5))
    compare(whole(relay.add(real(X, 0.5), real(X, 0.25, 3)), 0.5))


@pytest.mark.parametrize("method", ["linear", "nearest_neighbor", "cubic"])
def test_pictures_in_another_size(method: str) -> None:
    body = whole(relay.image.resize2d(real(X, 2.0, 5), (4, 9), method=method), 2.0, 5)
    if method != "cubic":
        compare(body)
        return
    before = module(body)  # cubic weights overshoot what integers of a type can hold
    assert ops(t.FakeQuantizationToInteger()(before)) == ops(before)
    with pytest.raises(TVMError, match=r"image\.resize2d in integers"):
        t.FakeQuantizationToInteger(hard_fail=True)(before)


def test_rules_refuse_in_their_own_way() -> None:
    def refuse(expr: Any, type_map: Any) -> Any:
        raise NotImplementedError("not today")

    before = module(whole(relay.exp(real(X, 0.1)), 1.0))
    with TempOpAttr("exp", "FTVMFakeQuantizationToInteger", refuse):
        after = t.FakeQuantizationToInteger(use_qat=True)(before)
        assert ops(after) == ops(before)
        with pytest.raises(NotImplementedError, match="not today"):
            t.FakeQuantizationToInteger(hard_fail=True)(before)


def test_windows_are_pooled_by_the_operator_for_integers() -> None:
    after = compare(whole(relay.nn.avg_pool2d(real(X, 2.0, 5), (3, 3)), 0.7, -3))
    assert ops(after) == ["qnn.avg_pool2d"]
    assert ops(compare(whole(relay.nn.global_avg_pool2d(real(X, 2.0)), 2.0))) == [
        "cast", "nn.global_avg_pool2d", "qnn.requantize",
    ]  # fmt: skip


def test_constants_are_added_to_sums_as_they_are() -> None:
    x, w = var("x", 2, 8), var("w", 4, 8)
    after = compare(whole(relay.nn.dense(real(x, 2.0, 3), real(w, 0.5)) + c(1.0), 2.0, 3))
    assert ops(after) == ["qnn.dense", "qnn.quantize", "add", "qnn.requantize"]
    assert after["main"].body.args[0].args[0].attrs.units is None


def test_sequences_divide_by_constants_as_multiplications() -> None:
    before = module(whole(real(X, 2.0, 3) / c(4.0), 2.0, 3))
    made = tvm.transform.Sequential([t.FakeQuantizationToInteger()])(before)
    assert ops(made) == ["qnn.quantize", "qnn.mul"]
    assert "qnn.dequantize" in ops(t.FakeQuantizationToInteger()(before))


def test_softmax_is_asked_for() -> None:
    before = module(whole(relay.nn.softmax(real(X, 2.0)), 0.1))
    assert "qnn.softmax" not in ops(t.FakeQuantizationToInteger()(before))
    assert ops(compare(whole(relay.nn.softmax(real(X, 2.0)), 0.1),
                       optional_qnn_ops=["nn.softmax"])) == ["qnn.softmax"]  # fmt: skip
