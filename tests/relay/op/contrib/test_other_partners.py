"""What Arm's Compute Library, BNNS, CLML and CMSIS-NN take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.op.test_partner_tables import composites, module, v
from tvm import relay
from tvm.relay.op.contrib import arm_compute_lib, bnns, clml, cmsisnn, subgraphs
from tvm.relay.op.contrib.register import get_pattern_table

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def const(*shape: int, dtype: str = "float32") -> Any:
    return relay.const((RNG.standard_normal(shape) * 4).astype(dtype))


def same(before: Any, after: Any, *args: Any) -> None:
    have = relay.create_executor("graph", mod=after).evaluate()(*args).numpy()
    want = relay.create_executor("graph", mod=before).evaluate()(*args).numpy()
    np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)


def conv(layout: str, x: Any, k: Any, **options: Any) -> Any:
    kernel = "OHWI" if layout == "NHWC" else "OIHW"
    return relay.nn.conv2d(x, k, data_layout=layout, kernel_layout=kernel, **options)


def test_arm_compute_lib() -> None:
    x = v("x", 1, 8, 8, 4)
    y = relay.nn.relu(relay.nn.bias_add(conv("NHWC", x, const(6, 3, 3, 4)), const(6), axis=3))
    y = relay.sqrt(relay.nn.avg_pool2d(relay.power(y, relay.const(2.0)), (2, 2), layout="NHWC"))
    before = module(relay.maximum(y, relay.nn.relu(y)))
    after = arm_compute_lib.partition_for_arm_compute_lib(before)
    assert sorted(composites(after)) == ["arm_compute_lib.conv2d", "arm_compute_lib.l2_pool2d"]
    kinds = [str(f) for f in after.functions.values() if "Compiler" in f.attrs]
    assert any("maximum(" in text for text in kinds)
    same(before, after, RNG.standard_normal((1, 8, 8, 4)).astype("float32"))


@pytest.mark.parametrize(
    ("body", "taken"),
    [
        (conv("NHWC", v("x", 2, 8, 8, 4), const(6, 3, 3, 4)), False),
        (conv("NHWC", v("x", 1, 8, 8, 4), const(6, 3, 3, 4), dilation=(2, 2)), False),
        (conv("NCHW", v("x", 1, 4, 8, 8), const(6, 4, 3, 3)), False),
        (conv("NHWC", v("x", 1, 8, 8, 4), v("k", 6, 3, 3, 4)), False),
        (relay.nn.conv2d(v("x", 1, 8, 8, 4), const(3, 3, 4, 1), groups=4, channels=4,
                         kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWOI"), True),
        (relay.nn.dense(v("x", 2, 4), const(3, 4)), True),
    ],
)  # fmt: skip
def test_limits_of_arm_compute_lib(body: Any, taken: bool) -> None:
    found = composites(arm_compute_lib.partition_for_arm_compute_lib(module(body)))
    assert bool(found) is taken


def test_layouts_of_arm_compute_lib() -> None:
    before = module(conv("NCHW", v("x", 1, 4, 8, 8), const(6, 4, 3, 3)))
    after = arm_compute_lib.preprocess_module(before)
    assert 'data_layout="NHWC", kernel_layout="OHWI"' in str(after)
    same(before, after, RNG.standard_normal((1, 4, 8, 8)).astype("float32"))
    depthwise = relay.nn.conv2d(v("x", 1, 4, 8, 8), const(4, 1, 3, 3), groups=4)
    assert 'kernel_layout="IHWO"' in str(arm_compute_lib.preprocess_module(module(depthwise)))
    assert relay.op.get("nn.conv2d").get_attr("FTVMConvertOpLayout") is not None


def test_concatenation_of_arm_compute_lib() -> None:
    body = relay.concatenate([v("a", 1, 2, 2, 3), v("b", 1, 2, 2, 3)], 3)
    part = arm_compute_lib.partition_for_arm_compute_lib
    assert composites(part(module(body))) == []
    assert composites(part(module(body), disabled_ops=[])) == ["arm_compute_lib.concatenate"]


def test_bnns() -> None:
    x = v("x", 1, 4, 8, 8)
    y = relay.sigmoid(relay.nn.bias_add(conv("NCHW", x, const(6, 4, 3, 3)), const(6)))
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(y, (2, 2)))
    y = relay.add(relay.nn.dense(y, const(5, 150)), const(5))
    scaled = relay.multiply(y, relay.const(np.float32(0.70710677)))
    y = (relay.const(0.5) + relay.erf(scaled) * relay.const(0.5)) * y
    before = module(y)
    after = bnns.partition_for_bnns(before)
    assert sorted(composites(after)) == ["bnns.conv2d_bias_sigmoid", "bnns.dense_bias_gelu"]
    assert sum("nn.max_pool2d" in str(f) and "Compiler" in f.attrs
               for f in after.functions.values()) == 1  # fmt: skip
    same(before, after, RNG.standard_normal((1, 4, 8, 8)).astype("float32"))
    half = conv("NCHW", v("x", 1, 4, 8, 8, dtype="float16"), const(6, 4, 3, 3, dtype="float16"))
    assert composites(bnns.partition_for_bnns(module(relay.nn.relu(half)))) == []


def test_clml() -> None:
    x = v("x", 1, 4, 8, 8)
    y = relay.nn.bias_add(conv("NCHW", x, const(6, 4, 3, 3)), const(6))
    positive = relay.const(np.abs(RNG.standard_normal(6)).astype("float32") + 1)
    y = relay.nn.batch_norm(y, const(6), const(6), const(6), positive)[0]
    y = relay.nn.dropout(relay.nn.relu(y))
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), const(5, 6))
    before = module(relay.nn.softmax(y))
    after = clml.partition_for_clml(before)
    assert sorted(composites(after)) == [
        "clml.batch_flatten", "clml.conv2d", "clml.dense1d", "clml.global_avg_pool2d",
        "clml.softmax",
    ]  # fmt: skip
    assert "batch_norm" not in str(after), "it is in the weights"
    same(before, after, RNG.standard_normal((1, 4, 8, 8)).astype("float32"))
    assert (clml.clml_sdk_version(), clml.is_clml_runtime_enabled()) == (2, False)


def quantized_conv(x: Any, scale: Any, zero: int = 0) -> Any:
    kernel = relay.const(RNG.integers(-9, 9, (3, 3, 4, 6)).astype("int8"))
    y = relay.qnn.op.conv2d(
        x, kernel, relay.const(zero), relay.const(0), relay.const(0.5), scale,
        kernel_size=(3, 3), channels=6, data_layout="NHWC", kernel_layout="HWIO",
    )  # fmt: skip
    y = relay.nn.bias_add(y, relay.const(np.arange(6, dtype="int32")), axis=3)
    made = relay.qnn.op.requantize(y, relay.const(0.25), relay.const(0), relay.const(3.0),
                                   relay.const(-4), out_dtype="int8")  # fmt: skip
    return relay.clip(made, -100, 100)


def test_cmsisnn() -> None:
    x = v("x", 1, 8, 8, 4, dtype="int8")
    y = quantized_conv(x, relay.const(0.5), zero=3)
    y = relay.nn.max_pool2d(y, (2, 2), layout="NHWC")
    before = module(relay.cast(relay.nn.avg_pool2d(relay.cast(y, "int32"), (2, 2),
                                                   layout="NHWC"), "int8"))  # fmt: skip
    after = cmsisnn.partition_for_cmsisnn(before, mod_name="net")
    assert sorted(composites(after)) == [
        "cmsis-nn.qnn_avg_pool2d", "cmsis-nn.qnn_conv2d", "cmsis-nn.qnn_max_pool2d",
    ]  # fmt: skip
    assert any(var.name_hint.startswith("tvmgen_net_cmsis_nn_main") for var in after.functions)
    same(before, after, RNG.integers(-9, 9, (1, 8, 8, 4)).astype("int8"))
    real = relay.nn.softmax(relay.qnn.op.dequantize(v("s", 1, 5, dtype="int8"),
                                                    relay.const(0.1), relay.const(0)))  # fmt: skip
    for scale, taken in ((1 / 256, True), (1 / 128, False)):
        out = relay.qnn.op.quantize(real, relay.const(scale), relay.const(-128))
        assert bool(composites(cmsisnn.partition_for_cmsisnn(module(out)))) is taken


@pytest.mark.parametrize(
    ("dtype", "total", "zero", "groups", "bias", "taken"),
    [
        ("int8", "int32", 3, 1, False, True),
        ("int8", "int64", 3, 1, False, False),
        ("int8", "int32", 3, 2, False, True),
        ("int8", "int32", 3, 8, False, False),  # a depthwise kernel adds a bias
        ("int8", "int32", 3, 8, True, True),
        ("int16", "int64", 0, 1, True, True),
        ("int16", "int32", 0, 1, True, False),
        ("int16", "int64", 3, 1, True, False),
    ],
)
@pytest.mark.parametrize("layout", ["HWIO", "OIHW"])
def test_convolutions_of_cmsisnn(
    dtype: str, total: str, zero: int, groups: int, bias: bool, taken: bool, layout: str
) -> None:
    sizes = {"H": 3, "W": 3, "I": 8 // groups, "O": 8}
    kernel = relay.const(np.ones([sizes[axis] for axis in layout], "int8"))
    y = relay.qnn.op.conv2d(
        v("x", 1, 8, 8, 8, dtype=dtype), kernel, relay.const(zero), relay.const(0),
        relay.const(0.5), relay.const(0.25), kernel_size=(3, 3), channels=8, groups=groups,
        data_layout="NHWC", kernel_layout=layout, out_dtype=total,
    )  # fmt: skip
    if bias:
        y = relay.nn.bias_add(y, relay.const(np.ones(8), total), axis=3)
    out = relay.qnn.op.requantize(y, relay.const(0.5), relay.const(0), relay.const(3.0),
                                  relay.const(0), out_dtype=dtype)  # fmt: skip
    assert bool(composites(cmsisnn.partition_for_cmsisnn(module(out)))) is taken


def test_the_compute_library_takes_single_products() -> None:
    """A weight that is no constant fits no pattern, and is taken as an operator."""
    x, w = v("x", 2, 3), v("w", 4, 3)
    after = arm_compute_lib.partition_for_arm_compute_lib(module(relay.nn.dense(x, w)))
    assert any("arm_compute_lib" in var.name_hint for var in after.functions)
    names = [row[0] for row in arm_compute_lib.arm_compute_lib_pattern_table(["concatenate"])]
    assert names[-1] == "arm_compute_lib.concatenate"


def test_all_are_known_by_name() -> None:
    for name in ("arm_compute_lib", "bnns", "clml", "cmsis-nn"):
        assert all(row[0].startswith(f"{name}.") for row in get_pattern_table(name))


def test_an_attribute_for_a_while() -> None:
    op = relay.op.get("exp")
    with subgraphs.OpAttrContext("exp", "FTest", 3):
        assert op.get_attr("FTest") == 3
    assert op.get_attr("FTest") is None


def test_pruned_functions_are_back() -> None:
    x = v("x", 2, 3)
    mod = arm_compute_lib.partition_for_arm_compute_lib(module(relay.maximum(x, x) + x))
    assert len(mod.functions) > 1
    back = subgraphs.pruned(mod, "arm_compute_lib", lambda func: False)
    assert [var.name_hint for var in back.functions] == ["main"]
    kept = subgraphs.pruned(mod, "arm_compute_lib", lambda func: True)
    assert tvm.ir.structural_equal(kept, mod)
