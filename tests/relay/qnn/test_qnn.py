"""Operators on quantized tensors: exact integers, as numpy computes them."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import RNG, module, ops, random_inputs, results, same_numbers
from tvm import relay
from tvm.error import DiagnosticError, TVMError
from tvm.relay import qnn
from tvm.relay.qnn.op.canonicalizations import create_integer_lookup_table, run_const_expr
from tvm.relay.qnn.op.legalizations import get_scalar_from_constant, helper_align_up
from tvm.relay.qnn.op.requantize_config import current_requantize_config

pytestmark = pytest.mark.pure
HALF, ONE, ZERO = relay.const(0.5), relay.const(1.0), relay.const(0)


def run(body: Any, *arrays: Any) -> Any:
    return results(module(body), list(arrays))[0]


def var(name: str, *shape: int, dtype: str = "int8") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def vector(values: Any, dtype: str = "float32") -> Any:
    return relay.const(np.array(values, dtype))


def test_quantize_rounds_and_cuts() -> None:
    x = var("x", 4, dtype="float32")
    body = qnn.op.quantize(x, HALF, relay.const(127), out_dtype="uint8")
    found = run(body, np.array([-80, -63.5, 1, 100], "float32"))
    assert found.tolist() == [0, 0, 129, 255]
    assert str(found.dtype) == "uint8"
    text = module(body).astext(False)
    assert 'qnn.quantize(%x, 0.5f /* ty=float32 */, 127 /* ty=int32 */, out_dtype="uint8")' in text


def test_channels_have_their_own_scales() -> None:
    x = var("x", 2, 2, dtype="float32")
    scales, zeros = vector([1.0, 0.5]), vector([0, 10], "int32")
    body = qnn.op.quantize(x, scales, zeros, axis=0)
    assert run(body, np.ones((2, 2), "float32")).tolist() == [[1, 1], [12, 12]]
    back = qnn.op.dequantize(var("y", 2, 2), scales, zeros, axis=1)
    assert run(back, np.full((2, 2), 12, "int8")).tolist() == [[12, 1], [12, 1]]


@pytest.mark.parametrize("compute", ["int64", "float32", "float64"])
def test_requantize_rounds_halves(compute: str) -> None:
    x = var("x", 4, dtype="int32")
    data = np.array([-3, -1, 1, 3], "int32")

    def to(rounding: str) -> list[int]:
        made = qnn.op.requantize(
            x, HALF, ZERO, ONE, ZERO, rounding=rounding, compute_dtype=compute
        )
        found: list[int] = run(made, data).tolist()
        return found

    assert to("UPWARD") == [-1, 0, 1, 2]
    assert to("TONEAREST") == [-2, -1, 1, 2]


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("factor", [1.0, 1.7, 3.0, 900.25, 2.0**20])
@pytest.mark.parametrize("out_dtype", ["int8", "int32"])
def test_requantize_of_the_greatest_numbers(rounding: str, factor: float, out_dtype: str) -> None:
    """Products of all 32 bits saturate, whatever the factor; one for all channels, or for each."""
    numbers = [-(2**31), -(2**31) + 1, -(2**30), -70000, -3, 0, 1, 65535, 2**30, 2**31 - 1]
    data = np.array([numbers, numbers], "int32")
    low, high = np.iinfo(out_dtype).min, np.iinfo(out_dtype).max
    for factors in ([factor], [factor, 0.75]):
        scale = factors[0] if len(factors) == 1 else np.array(factors, "float32")
        x = relay.var("x", shape=data.shape, dtype="int32")
        body = qnn.op.requantize(
            x, relay.const(scale), relay.const(5), ONE, ZERO, axis=0, rounding=rounding,
            out_dtype=out_dtype, compute_dtype="int64",
        )  # fmt: skip
        got = np.asarray(run(body, data))
        each = np.resize(np.array(factors, "float32"), 2)
        for row, by in enumerate(each):
            exact = [(n - 5) * Fraction(float(by)) for n in numbers]
            if rounding == "UPWARD":
                whole = [math.floor(v + Fraction(1, 2)) for v in exact]
            else:
                whole = [int(v + Fraction(1 if v >= 0 else -1, 2)) for v in exact]
            expected = [min(max(n, low), high) for n in whole]
            assert got[row].tolist() == expected


def test_requantize_is_exact_where_numpy_is() -> None:
    x = var("x", 3, 50, dtype="int32")
    factors = np.array([0.37, 1.25, 0.0031], "float32")
    body = qnn.op.requantize(x, relay.const(factors), ZERO, ONE, relay.const(3), axis=0)
    data = RNG.integers(-2000, 2000, (3, 50)).astype("int32")
    wanted = np.floor(data * factors.astype("float64")[:, None] + 0.5) + 3
    assert run(body, data).tolist() == np.clip(wanted, -128, 127).astype("int8").tolist()


def test_the_scope_says_how_to_round() -> None:
    x = var("x", 2, dtype="int32")
    body = qnn.op.requantize(x, HALF, ZERO, ONE, ZERO)
    data = np.array([-3, 3], "int32")
    with qnn.op.requantize_config(rounding="TONEAREST"):
        assert current_requantize_config().rounding == "TONEAREST"
        assert run(body, data).tolist() == [-2, 2]
    assert run(body, data).tolist() == [-1, 2]
    with pytest.raises(TVMError, match="UPWARD, TONEAREST"):
        qnn.op.requantize_config(rounding="DOWN")
    with pytest.raises(TVMError, match="rounding, compute_dtype"):
        qnn.op.requantize_config(round="UPWARD")


@pytest.mark.parametrize("zeros", [(0, 0), (5, 1), (-3, 0)])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolution(zeros: tuple[int, int], layout: str) -> None:
    nchw = layout == "NCHW"
    x = var("x", *((1, 2, 5, 5) if nchw else (1, 5, 5, 2)))
    w = var("w", *((3, 2, 3, 3) if nchw else (3, 3, 2, 3)))
    body = qnn.op.conv2d(
        x, w, relay.const(zeros[0]), relay.const(zeros[1]), HALF, HALF, (3, 3), 3,
        padding=(1, 1), data_layout=layout, kernel_layout="OIHW" if nchw else "HWIO",
    )  # fmt: skip
    mod = module(body)
    a, b = random_inputs(mod, -128, 127)
    wide = [a.astype("int64") - zeros[0], b.astype("int64") - zeros[1]]
    if not nchw:
        wide = [wide[0].transpose(0, 3, 1, 2), wide[1].transpose(3, 2, 0, 1)]
    padded = np.pad(wide[0], ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    wanted = np.einsum("nchwij,ocij->nohw", windows, wide[1])
    found = results(mod, [a, b])[0]
    assert (found == (wanted if nchw else wanted.transpose(0, 2, 3, 1))).all()


def test_depthwise_and_transposed_convolutions() -> None:
    x, w = var("x", 1, 2, 5, 5), var("w", 2, 1, 3, 3)
    z = (relay.const(2), relay.const(1))
    deep = qnn.op.conv2d(x, w, *z, HALF, HALF, (3, 3), 2, groups=2)
    turned = qnn.op.conv2d_transpose(x, w, *z, HALF, HALF, channels=1, kernel_size=(3, 3))
    real = [relay.cast(v, "int32") - zero for v, zero in zip((x, w), z)]
    for made, plain in (
        (deep, relay.nn.conv2d(*real, channels=2, kernel_size=(3, 3), groups=2)),
        (turned, relay.nn.conv2d_transpose(*real, channels=1, kernel_size=(3, 3))),
    ):
        mod = module(made, x, w)
        data = random_inputs(mod, -128, 127)
        assert (results(mod, data)[0] == results(module(plain, x, w), data)[0]).all()


def test_dense_and_batch_matmul() -> None:
    x, w = var("x", 2, 4), var("w", 3, 4)
    zeros = vector([0, 1, -2], "int32")
    made = qnn.op.dense(x, w, relay.const(1), zeros, HALF, vector([0.1, 0.2, 0.3]), 3)
    mod = module(made)
    a, b = random_inputs(mod, -128, 127)
    wanted = (a.astype("int32") - 1) @ (b.astype("int32") - np.array([[0], [1], [-2]])).T
    assert (results(mod, [a, b])[0] == wanted).all()
    x, y = var("x", 2, 3, 4), var("y", 2, 5, 4)
    mod = module(qnn.op.batch_matmul(x, y, relay.const(1), relay.const(2), HALF, HALF))
    a, b = random_inputs(mod, -128, 127)
    wanted = (a.astype("int32") - 1) @ (b.astype("int32") - 2).transpose(0, 2, 1)
    assert (results(mod, [a, b])[0] == wanted).all()


@pytest.mark.parametrize("name", ["add", "subtract", "mul"])
def test_two_operands(name: str) -> None:
    x, y = var("x", 2, 40, dtype="uint8"), var("y", 40, dtype="uint8")
    s = [0.02, 0.03, 0.05]
    z = [10, 20, 30]
    params = [p for scale, zero in zip(s, z) for p in (relay.const(scale), relay.const(zero))]
    mod = module(getattr(qnn.op, name)(x, y, *params))
    a, b = (RNG.integers(0, 255, shape).astype("uint8") for shape in ((2, 40), (40,)))
    real = [(v.astype("float64") - zero) * scale for v, scale, zero in zip((a, b), s, z)]
    function = {"add": np.add, "subtract": np.subtract, "mul": np.multiply}[name]
    wanted = np.clip(function(*real) / s[2] + z[2], 0, 255)
    found = results(mod, [a, b])[0]
    # each operand is rounded to the result's scale before they meet
    assert np.abs(found.astype("float64") - wanted).max() <= 1.5


def test_add_with_one_scale_is_exact() -> None:
    x, y = var("x", 4, dtype="uint8"), var("y", 4, dtype="uint8")
    scale, zero = relay.const(0.00784314), relay.const(127)
    body = qnn.op.add(x, y, scale, zero, scale, zero, scale, zero)
    data = np.array([140, 153, 165, 178], "uint8"), np.array([204, 178, 165, 140], "uint8")
    assert run(body, *data).tolist() == [217, 204, 203, 191]


def test_concatenate_brings_all_to_one_scale() -> None:
    x, y = var("x", 3), var("y", 2)
    body = qnn.op.concatenate((x, y), (HALF, ONE), (relay.const(1), relay.const(2)), ONE, ZERO, 0)
    found = run(body, np.array([3, 5, 7], "int8"), np.array([1, 2], "int8"))
    assert found.tolist() == [1, 2, 3, -1, 0]
    with pytest.raises(ValueError, match="non-empty"):
        qnn.op.concatenate((), (), (), ONE, ZERO, 0)


FUNCTIONS = {
    "tanh": np.tanh, "exp": np.exp, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "log": np.log, "abs": np.abs,
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "erf": None,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_functions_and_their_tables(name: str, dtype: str) -> None:
    x = var("x", 64, dtype=dtype)
    zero = 5
    params = (relay.const(0.05), relay.const(zero), relay.const(0.02), relay.const(3))
    mod = module(getattr(qnn.op, name)(x, *params))
    data = np.arange(zero + 1, zero + 65).astype(dtype)
    table = qnn.transform.Legalize()(mod)
    assert ops(table) == ["reinterpret", "take"]
    found, quick = results(mod, [data])[0], results(table, [data])[0]
    assert np.abs(found.astype(int) - quick.astype(int)).max() <= 1
    func = FUNCTIONS[name]
    if func is not None:
        real = func((data.astype("float32") - zero) * 0.05)
        info = np.iinfo(dtype)
        wanted = np.clip(np.round(real / 0.02) + 3, info.min, info.max)
        assert np.abs(quick - wanted).max() <= 1


def test_leaky_relu_softmax_and_pooling() -> None:
    x = var("x", 3, dtype="uint8")
    same = (relay.const(0.1), relay.const(100))
    found = run(qnn.op.leaky_relu(x, 0.1, *same, *same), np.array([90, 50, 120], "uint8"))
    assert found.tolist() == [99, 95, 120]
    body = qnn.op.softmax(x, *same, relay.const(1 / 256), ZERO)
    data = np.array([90, 100, 110], "uint8")
    weights = np.exp(data * 0.1) / np.exp(data * 0.1).sum() * 256
    assert np.abs(run(body, data) - weights).max() <= 1
    image = var("x", 1, 4, 4, 1)
    body = qnn.op.avg_pool2d(image, ONE, ZERO, ONE, ZERO, (2, 2), (2, 2), (0, 0), (1, 1))
    found = run(body, np.arange(16).reshape(1, 4, 4, 1).astype("int8"))
    assert found.reshape(-1).tolist() == [2, 4, 10, 12]


def test_simulations_stay_real() -> None:
    x = var("x", 4, dtype="float32")
    data = np.array([90, 50, 1.3, -120], "float32")
    body = qnn.op.simulated_quantize(x, HALF, ZERO)
    assert run(body, data).tolist() == [127, 100, 3, -128]
    back = qnn.op.simulated_dequantize(body, HALF, ZERO)
    assert run(back, data).tolist() == [63.5, 50, 1.5, -64]
    assert run(qnn.op.simulated_quantize(x, HALF, ZERO, out_dtype="disable"), data)[0] == 90
    with pytest.raises(ValueError, match="int8, uint8"):
        qnn.op.simulated_quantize(x, HALF, ZERO, out_dtype="float16")


def test_compiled_programs_agree() -> None:
    pytest.importorskip("llvmlite")
    x, w = var("x", 1, 3, 6, 6, dtype="uint8"), var("w", 4, 3, 3, 3)
    made = qnn.op.conv2d(x, w, relay.const(3), ZERO, HALF, HALF, (3, 3), 4)
    made = qnn.op.requantize(made, relay.const(0.25), ZERO, relay.const(9.0), relay.const(2))
    mod = module(made, x, w)
    data = random_inputs(mod, -128, 127)
    run_it = relay.create_executor("graph", mod).evaluate()
    assert (run_it(*data).numpy() == results(mod, data)[0]).all()


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=skylake-avx512", "cuda",
                                    "llvm -device=arm_cpu"])  # fmt: skip
def test_forms_for_targets_mean_the_same(target: str) -> None:
    x, w = var("x", 1, 3, 6, 6), var("w", 4, 3, 3, 3)
    before = module(qnn.op.conv2d(x, w, relay.const(3), relay.const(1), HALF, HALF, (3, 3), 4))
    with tvm.target.Target(target):
        after = qnn.transform.Legalize()(before)
    same_numbers(before, after)
    if target == "llvm -mcpu=skylake-avx512":
        assert "uint8" in after.astext(False)


def test_constants_fold_when_asked() -> None:
    expr = qnn.op.quantize(vector([1.0, 2.0]), HALF, ZERO)
    kept = relay.transform.FoldConstantExpr(expr, tvm.IRModule())
    folded = relay.transform.FoldConstantExpr(expr, tvm.IRModule(), fold_qnn=True)
    assert isinstance(kept, relay.Call)
    assert folded.data.numpy().tolist() == [2, 4]  # type: ignore[attr-defined]


def test_helpers() -> None:
    assert run_const_expr(relay.const(2.0) * relay.const(3.0)).item() == 6
    assert get_scalar_from_constant(relay.const(4)) == 4
    assert helper_align_up(13, 4) == 16
    table = create_integer_lookup_table(np.negative, ONE, ZERO, ONE, ZERO, in_dtype="int8",
                                        out_dtype="int8")  # fmt: skip
    assert table[:3].tolist() == [0, -1, -2]
    assert table[255] == 1
    with pytest.raises(TVMError, match="not constant"):
        run_const_expr(relay.var("x", shape=()))
    with pytest.raises(ValueError, match="constant scalar"):
        get_scalar_from_constant(vector([1, 2]))
    with pytest.raises(ValueError, match="int8, uint8"):
        create_integer_lookup_table(np.abs, ONE, ZERO, ONE, ZERO, in_dtype="int32")


def test_types_that_do_not_fit() -> None:
    real = var("x", 4, dtype="float32")
    for body, text in (
        (qnn.op.quantize(real, HALF, ZERO, out_dtype="float32"), "int8, uint8"),
        (qnn.op.quantize(var("x", 4), HALF, ZERO), "floats"),
        (qnn.op.dequantize(real, HALF, ZERO), "int8, uint8"),
        (qnn.op.requantize(real, HALF, ZERO, ONE, ZERO), "int32"),
        (qnn.op.quantize(real, relay.const(1), ZERO), "float32"),
        (qnn.op.quantize(real, vector([1.0, 2.0]), ZERO), r"\(4,\)"),
        (qnn.op.conv2d(var("x", 1, 1, 3, 3, dtype="float32"), var("w", 1, 1, 3, 3), ZERO, ZERO,
                       HALF, HALF, (3, 3), 1), "int8, uint8, int16"),
    ):  # fmt: skip
        with pytest.raises(DiagnosticError, match=text):
            module(body)


def test_the_operators_are_found_in_both_places() -> None:
    names = [n for n in vars(qnn.op.qnn)["__all__"] if n != "op"]
    assert {"conv2d", "dense", "requantize", "leaky_relu", "requantize_config"} <= set(names)
    for name in names:
        assert getattr(relay.qnn, name) is getattr(relay.qnn.op, name)


@pytest.mark.parametrize(("rounding", "is_one_operator"), [("UPWARD", True), ("TONEAREST", False)])
def test_one_factor_is_multiplied_in_fixed_point(rounding: str, is_one_operator: bool) -> None:
    x = relay.var("x", shape=(2, 4), dtype="int32")
    ends = relay.const(0.75), relay.const(0), relay.const(2.0), relay.const(0)
    whole = relay.qnn.requantize(x, *ends, rounding=rounding, out_dtype="int8")
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], whole)))
    text = relay.qnn.transform.CanonicalizeOps()(mod).astext()
    # 0.375 = 1610612736 / 2**31 / 2
    assert ("multiplier=1610612736, shift=-1" in text) == is_one_operator
    assert ("right_shift" in text) != is_one_operator


@pytest.mark.parametrize("layout", ["NC", "NC32n4c"])
def test_dense_whose_weight_lies_in_blocks(layout: str) -> None:
    rng = np.random.default_rng(0)
    data = rng.integers(0, 255, (3, 8)).astype("uint8")
    weight = rng.integers(-128, 127, (64, 8)).astype("int8")
    zeros = rng.integers(-3, 3, 64).astype("int32")
    blocks = weight
    if layout != "NC":
        blocks = weight.reshape(2, 32, 2, 4).transpose(0, 2, 1, 3).copy()
    x = relay.var("x", shape=data.shape, dtype="uint8")
    w = relay.var("w", shape=blocks.shape, dtype="int8")
    made = relay.qnn.op.contrib_dense_pack(
        x, w, relay.const(7), relay.const(zeros), relay.const(0.5),
        relay.const(np.ones(64, "float32")), layout, units=64,
    )  # fmt: skip
    run = relay.create_executor("graph", tvm.IRModule.from_expr(relay.Function([x, w], made)))
    wanted = (data.astype("int32") - 7) @ (weight.astype("int32") - zeros[:, None]).T
    np.testing.assert_array_equal(run.evaluate()(data, blocks).numpy(), wanted)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_numbers_far_outside_are_cut(dtype: str) -> None:
    x = np.array([1e20, np.inf, -1e20, -np.inf, 3e9, -3e9, 2.2e9, 10, 1.1e9, -1.1e9], "float32")
    call = qnn.op.quantize(
        var("x", 10, dtype="float32"), relay.const(0.5), relay.const(3), out_dtype=dtype
    )
    found = run(call, x)
    info = np.iinfo(dtype)
    wanted = np.clip(np.nan_to_num(x.astype("float64")) * 2 + 3, info.min, info.max)
    np.testing.assert_allclose(found, wanted, rtol=0 if dtype != "int32" else 1e-7)


@pytest.mark.parametrize("zero", [0, 3])
def test_legalized_operands_lose_their_zero_points(zero: int) -> None:
    x, w = var("x", 1, 2, 5, 5), var("w", 3, 2, 3, 3)
    body = qnn.op.conv2d(
        x, w, relay.const(zero), ZERO, HALF, HALF, channels=3, kernel_size=(3, 3)
    )
    with tvm.target.Target("llvm"):
        names = ops(qnn.transform.Legalize()(module(body)))
    assert sorted(names) == ["cast"] * 4 + ["nn.conv2d"] + ["subtract"] * 2
