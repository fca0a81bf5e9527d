"""Operators of networks: types that follow, and numbers as the plain loops of numpy give them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.run import value_of
from tvm import relay
from tvm.topi import testing as ref

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(1)


def rand(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape).astype("float32")


def check(build: Callable[..., Any], arrays: Any, wanted: Any) -> None:
    found, inferred = value_of(build, arrays)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    assert inferred == relay.TensorType(np.shape(wanted), "float32")


def test_conv1d() -> None:
    x, w = rand(1, 3, 8), rand(4, 3, 3)
    want = ref.conv1d_ncw_python(x, w, 2, 1, 1)
    check(lambda a, b: relay.nn.conv1d(a, b, strides=2, padding=1), (x, w), want)


@pytest.mark.parametrize(
    ("strides", "padding", "dilation"), [((1, 1), (1, 1), (1, 1)), ((2, 1), (0, 0), (1, 2))]
)
def test_conv2d(strides: Any, padding: Any, dilation: Any) -> None:
    x, w = rand(2, 4, 7, 6), rand(3, 4, 3, 3)
    wide = ref.dilate_python(w, (1, 1, *dilation))
    want = ref.conv2d_nchw_python(x, wide, strides, padding)
    check(
        lambda a, b: relay.nn.conv2d(
            a, b, strides, padding, dilation, channels=3, kernel_size=(3, 3)
        ),
        (x, w), want,
    )  # fmt: skip


def test_conv2d_of_groups() -> None:
    x, w = rand(1, 4, 5, 5), rand(6, 2, 3, 3)
    want = ref.conv2d_nchw_python(x, w, 1, 1, groups=2)
    check(lambda a, b: relay.nn.conv2d(a, b, padding=1, groups=2), (x, w), want)


def test_conv2d_of_rows_first() -> None:
    x, w = rand(1, 5, 5, 4), rand(3, 3, 4, 2)
    want = ref.conv2d_nhwc_python(x, w, 1, 1)
    build = lambda a, b: relay.nn.conv2d(
        a, b, padding=1, data_layout="NHWC", kernel_layout="HWIO"
    )
    check(build, (x, w), want)


def test_depthwise_of_rows_first() -> None:
    x, w = rand(1, 5, 5, 4), rand(3, 3, 4, 1)
    want = ref.conv2d_nchw_python(
        x.transpose(0, 3, 1, 2), w.transpose(2, 3, 0, 1), 1, 1, groups=4
    ).transpose(0, 2, 3, 1)
    build = lambda a, b: relay.nn.conv2d(
        a, b, padding=1, groups=4, data_layout="NHWC", kernel_layout="HWOI"
    )
    check(build, (x, w), want)


def test_conv3d() -> None:
    x, w = rand(1, 2, 4, 5, 4), rand(3, 2, 3, 3, 3)
    want = ref.conv3d_ncdhw_python(x, w, 1, 1)
    check(lambda a, b: relay.nn.conv3d(a, b, padding=1), (x, w), want)


def test_transposed_convolutions() -> None:
    x, w = rand(1, 3, 4, 4), rand(3, 2, 3, 3)
    want = ref.conv2d_transpose_nchw_python(x, w, (2, 2), (1, 1), (1, 1))
    build = lambda a, b: relay.nn.conv2d_transpose(
        a, b, (2, 2), (1, 1), output_padding=(1, 1)
    )
    check(build, (x, w), want)
    x, w = rand(1, 3, 5), rand(3, 2, 3)
    want = ref.conv1d_transpose_ncw_python(x, w, 2, 1, 0)
    check(lambda a, b: relay.nn.conv1d_transpose(a, b, (2,), (1,)), (x, w), want)


def test_weights_get_their_types() -> None:
    x = relay.var("x", shape=(1, 10, 224, 224))
    w = relay.var("w")
    y = relay.nn.conv2d(x, w, kernel_size=(3, 3), padding=(1, 1), channels=2)
    func = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], y)))["main"]
    assert func.ret_type == relay.TensorType((1, 2, 224, 224), "float32")
    assert func.params[1].checked_type == relay.TensorType((2, 10, 3, 3), "float32")
    d = relay.var("d", shape=(4, 8))
    y = relay.nn.bias_add(relay.nn.dense(d, relay.var("dw"), units=5), relay.var("b"))
    func = relay.transform.InferType()(tvm.IRModule.from_expr(y))["main"]
    known = {p.name_hint: p.checked_type for p in func.params}
    assert known["dw"] == relay.TensorType((5, 8), "float32")
    assert known["b"] == relay.TensorType((5,), "float32")


def test_products() -> None:
    x, w, b = rand(2, 3), rand(4, 3), rand(4)
    check(lambda a, c, d: relay.nn.bias_add(relay.nn.dense(a, c), d), (x, w, b), x @ w.T + b)
    y = rand(3, 5)
    check(relay.nn.matmul, (x, y), x @ y)
    check(lambda a, c: relay.nn.matmul(a, c, transpose_a=True), (x.T.copy(), y), x @ y)
    p, q = rand(2, 3, 4), rand(2, 5, 4)
    check(relay.nn.batch_matmul, (p, q), p @ q.transpose(0, 2, 1))
    check(
        lambda a, c: relay.nn.batch_matmul(a, c, transpose_b=False),
        (p, q.transpose(0, 2, 1).copy()), p @ q.transpose(0, 2, 1),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling(kind: str) -> None:
    x = rand(1, 2, 7, 6)
    op = getattr(relay.nn, f"{kind}_pool2d")
    want = ref.poolnd_python(
        x, [3, 2], [2, 2], [1, 1], [1, 0], [1, 0], kind, count_include_pad=False
    )
    check(lambda a: op(a, (3, 2), (2, 2), padding=(1, 0)), (x,), want)
    middle = x.max((2, 3), keepdims=True) if kind == "max" else x.mean((2, 3), keepdims=True)
    check(getattr(relay.nn, f"global_{kind}_pool2d"), (x,), middle)
    adaptive = ref.adaptive_pool(x, (3, 2), kind, "NCHW")
    check(lambda a: getattr(relay.nn, f"adaptive_{kind}_pool2d")(a, (3, 2)), (x,), adaptive)


def test_pooling_along_one_and_three_axes() -> None:
    x = rand(1, 2, 9)
    want = ref.poolnd_python(x, [2], [2], [1], [0], [0], "max", ceil_mode=True)
    check(lambda a: relay.nn.max_pool1d(a, 2, 2, ceil_mode=True), (x,), want)
    x = rand(1, 1, 4, 4, 4)
    want = ref.poolnd_python(
        x, [2] * 3, [2] * 3, [1] * 3, [0] * 3, [0] * 3, "avg", count_include_pad=False
    )
    check(lambda a: relay.nn.avg_pool3d(a, (2, 2, 2), (2, 2, 2)), (x,), want)


def test_activations() -> None:
    x = rand(2, 3, 2, 2)
    check(relay.nn.relu, (x,), np.maximum(x, 0))
    check(lambda a: relay.nn.leaky_relu(a, 0.1), (x,), np.where(x > 0, x, x * 0.1))
    slope = rand(3)
    check(relay.nn.prelu, (x, slope), np.where(x > 0, x, x * slope[:, None, None]))
    e = np.exp(x - x.max(1, keepdims=True))
    want = e / e.sum(1, keepdims=True)
    check(lambda a: relay.nn.softmax(a, 1), (x,), want)
    check(lambda a: relay.nn.log_softmax(a, 1), (x,), np.log(want))
    check(lambda a: relay.nn.dropout(a), (x,), x)


def test_normalisations() -> None:
    x = rand(2, 3, 4, 5)
    g, b, m, v = rand(3), rand(3), rand(3), np.abs(rand(3)) + 0.5
    shape = (1, 3, 1, 1)
    want = (x - m.reshape(shape)) / np.sqrt(v.reshape(shape) + 1e-5)
    want = want * g.reshape(shape) + b.reshape(shape)
    check(lambda *a: relay.nn.batch_norm(*a)[0], (x, g, b, m, v), want)

    def norm(axes: Any) -> Any:
        spread = x.var(axes, keepdims=True)
        return (x - x.mean(axes, keepdims=True)) / np.sqrt(spread + 1e-5)

    affine = lambda y: y * g.reshape(shape) + b.reshape(shape)
    check(relay.nn.instance_norm, (x, g, b), affine(norm((2, 3))))
    h, c = rand(5), rand(5)
    check(relay.nn.layer_norm, (x, h, c), norm((3,)) * h + c)
    check(lambda *a: relay.nn.group_norm(*a, num_groups=1), (x, g, b), affine(norm((1, 2, 3))))
    want = x / np.sqrt(np.maximum((x * x).sum(1, keepdims=True), 1e-3))
    check(lambda a: relay.nn.l2_normalize(a, 1e-3, [1]), (x,), want)
    check(
        lambda a: relay.nn.lrn(a, 3, 1, 1.0, 0.1, 0.5), (x,), ref.lrn_python(x, 3, 1, 1.0, 0.1, 0.5)
    )


def test_losses() -> None:
    p, t = np.abs(rand(3, 4)) + 0.1, np.abs(rand(3, 4))
    check(relay.nn.cross_entropy, (p, t), -(np.log(p) * t).sum() / 3)
    check(relay.nn.cross_entropy_with_logits, (p, t), -(p * t).sum() / 3)


def test_borders_and_blocks() -> None:
    x = rand(1, 4, 2, 2)
    widths = ((0, 0), (0, 0), (1, 0), (0, 2))
    check(
        lambda a: relay.nn.pad(a, widths, 3.0), (x,), np.pad(x, widths, constant_values=3.0)
    )
    check(lambda a: relay.nn.pad(a, widths, pad_mode="edge"), (x,), np.pad(x, widths, "edge"))
    inner = ((0, 0), (0, 0), (1, 1), (1, 1))
    check(
        lambda a: relay.nn.mirror_pad(a, inner, "SYMMETRIC"), (x,), np.pad(x, inner, "symmetric")
    )
    check(lambda a: relay.nn.dilate(a, [1, 1, 2, 2]), (x,), ref.dilate_python(x, (1, 1, 2, 2)))
    check(
        lambda a: relay.nn.depth_to_space(a, 2), (x,), ref.depth_to_space_python(x, 2)
    )
    deep = ref.space_to_depth_python(x, 2)
    check(lambda a: relay.nn.space_to_depth(a, 2), (x,), deep)
    check(relay.nn.batch_flatten, (x,), x.reshape(1, 16))
    check(
        lambda a: relay.nn.upsampling(a, 2, 2), (x,), x.repeat(2, 2).repeat(2, 3)
    )
    check(
        lambda a: relay.image.resize2d(a, (4, 4), method="nearest_neighbor",
                                       coordinate_transformation_mode="asymmetric"),
        (x,), x.repeat(2, 2).repeat(2, 3),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda x: relay.nn.dense(x, relay.var("w", shape=(4, 9))), "the weight does not fit"),
        (lambda x: relay.add(x, relay.var("y", shape=(5,))), "the shapes do not fit"),
        (lambda x: relay.add(x, relay.var("y", shape=(3,), dtype="int32")), "data types do not"),
        (lambda x: relay.nn.softmax(x, 7), "axis 7 of a tensor with 2 dimensions"),
        (lambda x: relay.reshape(x, (4, -1)), "6 elements do not fill rows of 4"),
        (lambda x: relay.split(x, 4, 1).astuple(), "3 elements do not make 4 equal parts"),
        (lambda x: relay.transpose(x, (0, 0)), "name no order"),
        (lambda x: relay.squeeze(x, [0]), "an axis of extent 2 cannot go"),
        (lambda x: relay.concatenate([x, relay.var("y", shape=(4, 4))], 0), "of axis 1 differ"),
        (lambda x: relay.nn.conv2d(x, relay.var("w")), "2 dimensions for NCHW"),
    ],
)
def test_what_does_not_fit_is_refused(build: Callable[..., Any], text: str) -> None:
    x = relay.var("x", shape=(2, 3))
    with pytest.raises(tvm.error.DiagnosticError, match=text):
        relay.transform.InferType()(tvm.IRModule.from_expr(build(x)))


@pytest.mark.parametrize("tile", [2, 4])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_winograd_in_two_steps(tile: int, layout: str) -> None:
    x, w = rand(1, 3, 9, 8), rand(4, 3, 3, 3)
    want = ref.conv2d_nchw_python(x, w, 1, 1)
    last = layout == "NHWC"

    def build(a: Any, b: Any) -> Any:
        kernel = relay.nn.contrib_conv2d_winograd_weight_transform(b, tile)
        return relay.nn.contrib_conv2d_winograd_without_weight_transform(
            a, kernel if last else relay.transpose(kernel, (0, 1, 3, 2)), tile, padding=1,
            channels=4, kernel_size=(3, 3), data_layout=layout,
        )  # fmt: skip

    order = (0, 2, 3, 1) if last else (0, 1, 2, 3)
    check(build, (np.ascontiguousarray(x.transpose(order)), w), want.transpose(order))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"groups": 2}, r"groups\n  found: 2\n  legal: 1"),
        ({"kernel_size": (5, 5)}, r"kernel_size\n  found: \(5, 5\)"),
        ({"data_layout": "HWCN"}, r"legal: NCHW, NHWC"),
        ({"tile_size": 2}, r"does not fit tile_size=2\n.*\n  legal: a weight of 4 x 4"),
        ({"channels": 5}, r"channels 5 is not that of the weight\n.*\n  legal: channels=4"),
        ({"strides": (2, 2)}, r"strides\n  found: \(2, 2\)"),
    ],
)
def test_winograd_says_what_it_takes(given: dict[str, Any], wanted: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 9, 8)), relay.var("w", shape=(6, 6, 3, 4))
    build = relay.nn.contrib_conv2d_winograd_without_weight_transform
    with pytest.raises(tvm.error.TVMError, match=wanted):
        relay.transform.InferType()(
            tvm.IRModule.from_expr(build(x, w, **{"tile_size": 4, **given}))
        )


@pytest.mark.parametrize("depth", [3, 1, 2])
def test_winograd_of_volumes_in_two_steps(depth: int) -> None:
    x, w = rand(2, 2, 4, 5, 7), rand(3, 2, depth, 3, 3)
    padding = (0 if depth < 3 else 1, 1, 1)

    def build(a: Any, b: Any) -> Any:
        kernel = relay.nn.contrib_conv3d_winograd_weight_transform(b, 2)
        return relay.nn.contrib_conv3d_winograd_without_weight_transform(
            a, kernel, 2, padding=padding, channels=3, kernel_size=(depth, 3, 3)
        )

    check(build, (x, w), ref.conv3d_ncdhw_python(x, w, 1, padding))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"groups": 2}, r"groups\n  found: 2\n  legal: 1"),
        ({"data_layout": "NDHWC"}, r"data_layout\n  found: 'NDHWC'\n  legal: NCDHW"),
        ({"dilation": 2}, r"dilation\n  found: \(2, 2, 2\)\n  legal: 1 for all"),
        ({"tile_size": 7}, r"tile_size 7\n +found: a weight .*\n +legal: \(r, r, r or"),
    ],
)
def test_winograd_of_volumes_says_what_it_takes(given: dict[str, Any], wanted: str) -> None:
    x, w = relay.var("x", shape=(1, 3, 9, 8, 8)), relay.var("w", shape=(6, 6, 6, 4, 3))
    build = relay.nn.contrib_conv3d_winograd_without_weight_transform
    with pytest.raises(tvm.error.TVMError, match=wanted):
        relay.transform.InferType()(
            tvm.IRModule.from_expr(build(x, w, **{"tile_size": 4, **given}))
        )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("mode", ["DCR", "CDR"])
def test_blocks_before_and_behind_channels(layout: str, mode: str) -> None:
    x = rand(2, 12, 2, 3)
    last = layout == "NHWC"
    want = ref.depth_to_space_python(x, 2, mode=mode)
    given = np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if last else x
    check(
        lambda a: relay.nn.depth_to_space(a, 2, layout, mode), (given,),
        want.transpose(0, 2, 3, 1) if last else want,
    )  # fmt: skip


def test_grids_of_vectors_and_scalars() -> None:
    x, s = rand(3), np.float32(2)
    for indexing, want in (("ij", np.stack([x] * 1, 1)), ("xy", x[None])):
        check(
            lambda a, b, indexing=indexing: relay.meshgrid([a, b], indexing)[0], (x, s), want
        )


def test_slices_are_set_within_bounds_that_are_values() -> None:
    x, v = rand(3, 4), rand(2, 2)
    want = x.copy()
    want[1:3, 0:2] = v
    begin, end = relay.const([1, 0]), relay.const([3, 2])
    check(lambda a, b: relay.strided_set(a, b, begin, end), (x, v), want)


def test_cubic_upsampling_is_cubic_resizing() -> None:
    given = np.random.default_rng(0).uniform(-1, 1, (1, 2, 3, 4)).astype("float32")
    found, _ = value_of(lambda x: relay.nn.upsampling(x, 2, 2, "NCHW", "bicubic"), [given])
    wanted, _ = value_of(lambda x: relay.image.resize2d(
        x, (6, 8), layout="NCHW", method="cubic", coordinate_transformation_mode="asymmetric"
    ), [given])  # fmt: skip
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
