"""Calls as targets like them: the same numbers, in other operands and layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay, topi
from tvm.relay import transform
from tvm.relay.op.by_target.cuda import pad_to_tensorcore
from tvm.relay.testing import run_opt_pass
from tvm.relay.testing.temp_op_attr import TempOpAttr

pytestmark = pytest.mark.pure
RANDOM = np.random.default_rng(0)


def rewritten(func: relay.Function, target: str, op: str, rule: Any) -> relay.Function:
    """The function after the rule of an operator, which keeps its numbers."""
    alters = rule.__name__.endswith("alter_layout")
    name = "FTVMAlterOpLayout" if alters else "FTVMLegalize"

    def chosen(*args: Any) -> Any:
        return rule(*args)

    with tvm.target.Target(target), TempOpAttr(op, name, chosen):
        which = transform.AlterOpLayout() if alters else transform.Legalize()
        return run_opt_pass(func, which)


def numbers(func: relay.Function, given: Sequence[Any]) -> Any:
    mod = tvm.IRModule.from_expr(func)
    return relay.create_executor("graph", mod).evaluate()(*given).numpy()


def check(func: relay.Function, target: str, op: str, rule: Any) -> str:
    types = [p.type_annotation for p in func.params]
    given = [RANDOM.integers(-100, 100, [int(e) for e in t.shape]).astype(t.dtype) for t in types]
    new = rewritten(func, target, op, rule)
    np.testing.assert_array_equal(numbers(new, given), numbers(func, given))
    return str(new)


def dense(m: int, k: int, n: int, dtype: str = "float16") -> relay.Function:
    x = relay.var("x", shape=(m, k), dtype=dtype)
    w = relay.var("w", shape=(n, k), dtype=dtype)
    out = "int32" if dtype == "int8" else "float32"
    return relay.Function([x, w], relay.nn.dense(x, w, units=n, out_dtype=out))


@pytest.mark.parametrize(
    ("m", "k", "n", "widths"),
    [
        (7, 16, 32, [(0, 1), (0, 0)]),
        (8, 15, 31, [(0, 0), (0, 1)]),
        (16, 16, 16, None),
        (2, 16, 32, None),  # four times the work
    ],
)
def test_dense_for_tensor_cores(m: int, k: int, n: int, widths: Any) -> None:
    func = dense(m, k, n)
    text = check(func, "cuda", "nn.dense", topi.nn.dense_legalize)
    if widths is None:
        assert "nn.pad" not in text
    else:
        assert f"pad_width={[list(pair) for pair in widths]}" in text
        assert ("strided_slice" in text) == (m % 8 != 0 or n % 8 != 0)
    assert "nn.pad" not in check(func, "llvm", "nn.dense", topi.nn.dense_legalize)


def test_words_where_tiles_are_too_many() -> None:
    text = check(dense(3, 5, 6, "int8"), "cuda", "nn.dense", topi.nn.dense_legalize)
    assert "pad_width=[[0, 1], [0, 3]]" in text
    assert "pad_width=[[0, 2], [0, 3]]" in text
    assert pad_to_tensorcore(7, 16, 32, [(16, 16, 16), (8, 16, 32)]) == ((1, 0, 0), 1 / 7)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("right", [False, True])
def test_batches_for_tensor_cores(left: bool, right: bool) -> None:
    x = relay.var("x", shape=(3, 17, 7) if left else (3, 7, 17), dtype="float16")
    y = relay.var("y", shape=(3, 30, 17) if right else (3, 17, 30), dtype="float16")
    made = relay.nn.batch_matmul(x, y, "float32", transpose_a=left, transpose_b=right)
    func = relay.Function([x, y], made)
    text = check(func, "cuda", "nn.batch_matmul", topi.nn.batch_matmul_legalize)
    assert "strided_slice" in text


def conv2d(layout: str, kernel: str, dtype: str = "int8", **options: Any) -> relay.Function:
    sizes = dict(zip("NCHW", (2, 5, 9, 9))), dict(zip("OIHW", (6, 5, 3, 3)))
    x = relay.var("x", shape=[sizes[0][s] for s in layout], dtype=dtype)
    w = relay.var("w", shape=[sizes[1][s] for s in kernel], dtype=dtype)
    made = relay.nn.conv2d(
        x, w, channels=6, kernel_size=(3, 3), padding=(1, 2), strides=(2, 1), data_layout=layout,
        kernel_layout=kernel, out_dtype="int32" if dtype == "int8" else "float32", **options,
    )  # fmt: skip
    return relay.Function([x, w], made)


@pytest.mark.parametrize(("layout", "kernel"), [("NCHW", "OIHW"), ("NHWC", "HWIO")])
def test_signed_data_as_unsigned(layout: str, kernel: str) -> None:
    func = conv2d(layout, kernel)
    text = check(func, "llvm -mcpu=cascadelake", "nn.conv2d", topi.nn.conv2d_legalize)
    assert "uint8" in text
    padded = check(func, "cuda", "nn.conv2d", topi.nn.conv2d_legalize)
    assert "uint8" not in padded
    assert ("nn.pad" in padded) == (layout == "NCHW")


@pytest.mark.parametrize(("layout", "kernel"), [("NHWC", "HWIO"), ("HWNC", "HWOI")])
def test_convolutions_for_tensor_cores(layout: str, kernel: str) -> None:
    sizes = dict(zip("NHWC", (7, 4, 4, 60))), dict(zip("OIHW", (31, 60, 3, 3)))
    x = relay.var("x", shape=[sizes[0][s] for s in layout], dtype="float16")
    w = relay.var("w", shape=[sizes[1][s] for s in kernel], dtype="float16")
    made = relay.nn.conv2d(x, w, channels=31, kernel_size=(3, 3), data_layout=layout,
                           kernel_layout=kernel)  # fmt: skip
    func = relay.Function([x, w], made)
    new = str(rewritten(func, "cuda", "nn.conv2d", topi.nn.conv2d_legalize))
    image = "[0, 1], [0, 0], [0, 0]" if layout == "NHWC" else "[0, 0], [0, 0], [0, 1]"
    assert f"pad_width=[{image}, [0, 4]]" in new
    assert "channels=32" in new


def test_blocks_of_channels() -> None:
    func = conv2d("NCHW", "OIHW", "float32")
    text = check(func, "llvm -mcpu=core-avx2", "nn.conv2d", topi.nn.conv2d_alter_layout)
    assert 'dst_layout="OIHW5i6o"' in text
    assert 'src_layout="NCHW6c"' in text
    x, w = relay.var("x", shape=(1, 20, 9, 9)), relay.var("w", shape=(20, 1, 3, 3))
    each = relay.nn.conv2d(x, w, padding=(1, 1), groups=20, channels=20, kernel_size=(3, 3))
    text = check(relay.Function([x, w], each), "llvm -mcpu=core-avx2", "nn.conv2d",
                 topi.nn.conv2d_alter_layout)  # fmt: skip
    assert "nn.contrib_depthwise_conv2d_NCHWc" in text
    assert "OIHW1i5o" in text


@pytest.mark.parametrize(("mcpu", "block"), [("core-avx2", 16), ("skylake-avx512", 24)])
def test_panels_of_weights(mcpu: str, block: int) -> None:
    func = dense(32, 64, 48, "float32")
    text = check(func, f"llvm -mcpu={mcpu}", "nn.dense", topi.nn.dense_alter_layout)
    assert f'dst_layout="NC{block}n"' in text
    assert "nn.contrib_dense_pack" in text


def bytes_of(kind: str) -> relay.Function:
    x = relay.var("x", shape=(2, 8, 6, 6), dtype=kind)
    w = relay.var("w", shape=(16, 8, 3, 3), dtype="int8")
    made = relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3), out_dtype="int32")
    return relay.Function([x, w], made)


@pytest.mark.parametrize(
    ("target", "kind", "layout"),
    [
        ("llvm -mcpu=core-avx2", "uint8", "OIHW2i16o4i"),
        ("llvm -mcpu=skylake-avx512", "int8", "OIHW8i16o"),
        ("llvm -keys=arm_cpu,cpu -mtriple=armv7l-linux-gnueabihf", "uint8", "OIHW1o"),
    ],
)
def test_blocks_of_bytes(target: str, kind: str, layout: str) -> None:
    rule = topi.nn.conv2d_alter_layout
    assert f'kernel_layout="{layout}"' in check(bytes_of(kind), target, "nn.conv2d", rule)


def test_columns_in_fours() -> None:
    x = relay.var("x", shape=(3, 8), dtype="uint8")
    w = relay.var("w", shape=(16, 8), dtype="int8")
    func = relay.Function([x, w], relay.nn.dense(x, w, out_dtype="int32"))
    text = check(func, "llvm -mcpu=skylake-avx512", "nn.dense", topi.nn.dense_alter_layout)
    assert 'weight_layout="NC16n4c"' in text


def test_any_batch() -> None:
    x = relay.var("x", shape=(relay.Any(), 8, 6, 6))
    w = relay.var("w", shape=(16, 8, 3, 3))
    func = relay.Function([x, w], relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3)))
    made = rewritten(func, "llvm -mcpu=core-avx2", "nn.conv2d", topi.nn.conv2d_alter_layout)
    assert 'data_layout="NCHW8c"' in str(made)


def test_weights_as_matrices() -> None:
    x, w = relay.var("x", shape=(1, 6, 6, 4)), relay.var("w", shape=(3, 3, 4, 8))
    func = relay.Function([x, w], relay.nn.conv2d(
        x, w, channels=8, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"
    ))  # fmt: skip
    target = "llvm -keys=arm_cpu,cpu -mtriple=aarch64-linux-gnu"
    text = check(func, target, "nn.conv2d", topi.nn.conv2d_alter_layout)
    assert "gemm_weight_transform(%w, tile_N=16, tile_K=4)" in text


def test_rules_of_targets_are_there() -> None:
    func = conv2d("NCHW", "OIHW", "float32")
    mod = tvm.IRModule.from_expr(func)
    with tvm.target.Target("llvm -mcpu=core-avx2"):
        assert "contrib_conv2d_NCHWc" in str(run_opt_pass(func, transform.AlterOpLayout()))
    with tvm.transform.PassContext(opt_level=3):
        optimized, _ = relay.optimize(mod, "llvm -mcpu=core-avx2")
        kept = relay.build(mod, "llvm -mcpu=core-avx2").get_graph_json()
    assert "contrib_conv2d_NCHWc" in str(optimized)
    assert "NCHWc" not in kept


def test_older_homes_of_the_rules() -> None:
    from tvm.topi.cuda import conv3d_winograd, tensorcore_alter_op
    from tvm.topi.x86 import conv2d_alter_op, dense_alter_op, utils

    assert dense_alter_op._alter_dense_layout.__name__ == "dense_alter_layout"
    assert conv2d_alter_op._alter_conv2d_layout.__name__ == "conv2d_alter_layout"
    assert tensorcore_alter_op._dense_legalize.__name__ == "dense_legalize"
    with tvm.target.Target("llvm -mcpu=skylake-avx512"):
        assert utils.get_simd_32bit_lanes() == topi.x86.get_simd_32bit_lanes() == 16
    planes = tvm.te.placeholder((1, 4, 16, 5, 5))
    assert conv3d_winograd._infer_tile_size(planes, None) == 4
