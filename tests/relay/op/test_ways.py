"""Names and levels of an operator's ways on targets."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm import relay, te
from tvm.relay.backend import te_compiler
from tvm.relay.op.strategy.ways import SUFFIXES, group_way, ways_of
from tvm.relay.testing import run_infer_type

pytestmark = pytest.mark.pure
ARM = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu"


def named(call: Any, target: str) -> str:
    """The ways of a call, in order: `name level`."""
    typed = run_infer_type(call)
    inputs = [te.placeholder(a.checked_type.shape, a.checked_type.dtype) for a in typed.args]
    goal = tvm.target.Target(target)
    found = te_compiler.get_valid_implementations(
        typed.op, typed.attrs, inputs, typed.checked_type, goal
    )
    return ", ".join(f"{way.name} {way.plevel}" for way in found)


def conv(
    layout: str = "NCHW", channels: int = 16, filters: int = 32, window: int = 3,
    dtype: str = "float32", groups: int = 1, **more: Any,
) -> Any:  # fmt: skip
    x = (1, channels, 8, 8) if layout == "NCHW" else (1, 8, 8, channels)
    w = (filters, channels // groups, window, window)
    kernel = "OIHW"
    if layout == "NHWC":
        kernel = "HWOI" if groups > 1 else "HWIO"
        w = (window, window, *((filters, 1) if groups > 1 else (channels, filters)))
    return relay.nn.conv2d(
        relay.var("x", shape=x, dtype=dtype), relay.var("w", shape=w, dtype=dtype),
        channels=filters, kernel_size=(window, window), groups=groups, data_layout=layout,
        kernel_layout=kernel, out_dtype="int32" if "int" in dtype else "", **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "options", "names"),
    [
        ("llvm", {}, "conv2d_nchw.x86 10"),
        (ARM, {}, "conv2d_nchw_spatial_pack.arm_cpu 10, conv2d_nchw.x86 10, "
                  "conv2d_nchw_winograd.arm_cpu 5"),
        (ARM, {"window": 5}, "conv2d_nchw_spatial_pack.arm_cpu 10, conv2d_nchw.x86 10"),
        (ARM, {"dtype": "int8", "channels": 64}, "conv2d_nchw_int8.arm_cpu 15"),
        (ARM, {"layout": "NHWC"},
         "conv2d_NHWC_hybrid.arm_cpu 10, conv2d_nhwc_spatial_pack.arm_cpu 5"),
        (f"{ARM} -mattr=+sve", {"layout": "NHWC"},
         "conv2d_NHWC_hybrid_SVE.arm_cpu 5, conv2d_NHWC_hybrid.arm_cpu 10, "
         "conv2d_nhwc_spatial_pack.arm_cpu 5"),
        (f"{ARM} -mattr=+v8.2a,+dotprod", {"layout": "NHWC", "dtype": "int8"},
         "conv2d_NHWC_quantized_native.arm_cpu 10"),
        (ARM, {"layout": "NHWC", "dtype": "uint8"},
         "conv2d_NHWC_quantized_interleaved.arm_cpu 10"),
        ("cuda", {}, "conv2d_nchw.cuda 10, conv2d_nchw_winograd.cuda 5"),
        ("cuda", {"strides": (2, 2)}, "conv2d_nchw.cuda 10"),
        ("cuda", {"dtype": "int8", "window": 1}, "conv2d_nchw_int8.cuda 10"),
        ("opencl", {"dtype": "int8", "window": 1}, "conv2d_nchw.cuda 10"),
        ("cuda", {"layout": "NHWC"}, "conv2d_nhwc.gpu 10, conv2d_nhwc_winograd_direct.cuda 5"),
        ("opencl -device=mali", {}, "conv2d_nchw_spatial_pack.mali 10, "
                                    "conv2d_nchw_winograd.mali 5"),
        ("opencl -device=adreno", {}, "conv2d_nchw_winograd.image2d 5, conv2d_nchwc.image2d 10"),
        ("opencl -device=adreno", {"filters": 3}, "conv2d_nchw.cuda 10"),
        ("opencl -device=intel_graphics", {},
         "conv2d_nchw.intel_graphics 10, conv2d_NCHWc.intel_graphics 5"),
        ("hexagon", {}, "conv2d_nchw.hexagon 10"),
    ],
)  # fmt: skip
def test_convolutions(target: str, options: dict[str, Any], names: str) -> None:
    assert named(conv(**options), target) == names


@pytest.mark.parametrize(
    ("target", "layout", "names"),
    [
        ("llvm", "NCHW", "depthwise_conv2d_nchw.x86 10"),
        ("llvm", "NHWC", "depthwise_conv2d_nhwc.generic 10"),
        (ARM, "NCHW", "depthwise_conv2d_nchw.arm_cpu 10, depthwise_conv2d_nchw.x86 10"),
        (ARM, "NHWC", "depthwise_conv2d_nhwc.arm_cpu 10"),
        ("c -device=arm_cpu -mcpu=cortex-m7", "NHWC", "depthwise_conv2d_nhwc_dsp.arm_cpu 10"),
        ("c -device=arm_cpu -mcpu=cortex-m3", "NHWC", "depthwise_conv2d_nhwc.generic 10"),
        ("opencl -device=bifrost", "NHWC", "depthwise_conv2d_nchw.bifrost 10"),
        ("cuda", "NHWC", "depthwise_conv2d_nhwc.cuda 10"),
    ],
)
def test_filters_of_one_channel(target: str, layout: str, names: str) -> None:
    assert named(conv(layout, 16, 16, groups=16, dtype="int8"), target) == names


def dense(rows: int, dtype: str = "float32") -> Any:
    operands = [relay.var(n, shape=(r, 32), dtype=dtype) for n, r in (("x", rows), ("w", 64))]
    return relay.nn.dense(*operands, out_dtype="int32" if dtype == "int8" else dtype)


def test_products_of_matrices() -> None:
    assert named(dense(4), "llvm") == "dense_nopack.x86 5, dense_pack.x86 10"
    assert named(dense(4), "cuda") == "dense_small_batch.gpu 10"
    assert named(dense(32), "cuda") == "dense_small_batch.gpu 10, dense_large_batch.gpu 5"
    assert named(dense(4), "rocm") == "dense_large_batch.gpu 5"
    assert named(dense(4, "int8"), "vulkan") == "dense_int8.cuda 10"
    assert named(dense(4, "int8"), "c -device=arm_cpu -mcpu=cortex-m55") == "dense_dsp.arm_cpu 10"
    three = [relay.var(n, shape=(2, 4, 8), dtype="int8") for n in "ab"]
    product = relay.nn.batch_matmul(*three, out_dtype="int32")
    assert named(product, "cuda") == "batch_matmul_int8.cuda 10"
    assert named(product, "llvm") == "batch_matmul.x86 10"


X = relay.var("x", shape=(1, 4, 8, 8))


def test_others_by_the_first_key_that_is_known() -> None:
    assert named(relay.nn.max_pool2d(X), ARM) == "pool.arm_cpu 10"
    assert named(relay.nn.global_avg_pool2d(X), ARM) == "adaptive_pool.cpu 10"
    assert named(relay.nn.softmax(X), "vulkan") == "softmax.cuda 10"
    assert named(relay.argsort(X), "rocm") == "argsort.rocm 10"
    assert named(relay.nn.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1))), "cuda") == "pad.generic 10"
    assert named(relay.exp(X), "rocm") == "injective.gpu 10"
    assert named(relay.sum(X, 1), "hexagon") == "reduce.hexagon 10"
    up = relay.nn.conv2d_transpose(X, relay.var("w", shape=(4, 4, 3, 3)), channels=4,
                                   kernel_size=(3, 3))  # fmt: skip
    assert named(up, "opencl -device=adreno") == "conv2d_transpose_nchwc.image2d 10"
    assert named(up, "llvm") == "conv2d_transpose_nchw.x86 10"


def test_tables_are_of_operators_and_others_have_none() -> None:
    for name in SUFFIXES:
        assert relay.op.get(name) is not None
    assert ways_of(relay.op.get("concatenate"), None, [], tvm.target.Target("llvm")) is None
    assert group_way(0, tvm.target.Target("llvm")) == "injective.cpu"
