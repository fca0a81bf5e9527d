"""Convolutions in other layouts, and what stands around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import equal, module, ops, same_numbers
from tvm import relay
from tvm.error import TVMError
from tvm.ir.op import Op
from tvm.relay import transform as t
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.transform.infer_layout_utils import InferCorrectLayoutOutput

pytestmark = pytest.mark.pure
move = relay.layout_transform


def nhwc_conv(x: Any, w: Any, channels: int = 8) -> Any:
    return relay.nn.conv2d(x, w, channels=channels, kernel_size=(3, 3), padding=(1, 1),
                           data_layout="NHWC", kernel_layout="HWIO")  # fmt: skip


def nchw_conv(x: Any, w: Any, channels: int = 8) -> Any:
    return relay.nn.conv2d(x, w, channels=channels, kernel_size=(3, 3), padding=(1, 1))


X = relay.var("x", shape=(1, 6, 6, 4))
W = relay.var("w", shape=(3, 3, 4, 8))
XC = relay.var("x", shape=(1, 4, 6, 6))
WC = relay.var("w", shape=(8, 4, 3, 3))
VECTOR = relay.const(np.linspace(0.5, 2, 8, dtype="float32"))
NCHW = {"nn.conv2d": ["NCHW", "default"]}
NHWC = {"nn.conv2d": ["NHWC", "default"]}


def test_neighbours_follow_and_others_see_the_old_layout() -> None:
    b = relay.var("b", shape=(8,))
    y = relay.nn.relu(relay.nn.bias_add(nhwc_conv(X, W), b, axis=3))
    y = relay.nn.max_pool2d(y, (2, 2), (2, 2), layout="NHWC")
    before = module(relay.nn.batch_flatten(y), X, W, b)
    alone = t.ConvertLayout(NCHW)(before)
    same_numbers(before, alone)
    assert "nn.bias_add" in str(alone)  # it wants NHWC; a sequence makes an addition of it before
    with tvm.transform.PassContext(opt_level=3):
        after = tvm.transform.Sequential([t.ConvertLayout(NCHW)])(before)
    y = nchw_conv(move(X, "NHWC", "NCHW"), move(W, "HWIO", "OIHW"))
    y = relay.nn.relu(y + move(relay.expand_dims(b, 0, 3), "NHWC", "NCHW"))
    y = move(relay.nn.max_pool2d(y, (2, 2), (2, 2)), "NCHW", "NHWC")
    equal(after, relay.nn.batch_flatten(y), X, W, b)
    same_numbers(before, after)


def test_single_elements_fit_every_layout_and_vectors_get_its_rank() -> None:
    one, many = relay.var("o", shape=(1,)), relay.var("m", shape=(8, 1, 1))
    before = module(nchw_conv(XC, WC) + one + many, XC, WC, one, many)
    y = nchw_conv(XC, WC) + one + relay.expand_dims(many, 0)
    equal(t.AlterOpLayout()(before), y, XC, WC, one, many)


def test_images_are_resized_in_layouts_of_whole_axes() -> None:
    before = module(relay.image.resize2d(nchw_conv(XC, WC), (3, 3)), XC, WC)
    for layout, kernel, wanted in (("NHWC", "default", "NHWC"), ("NCHW4c", "OIHW4i4o", "NCHW")):
        after = t.ConvertLayout({"nn.conv2d": [layout, kernel]})(before)
        assert f'layout="{wanted}"' in str(after) or wanted == "NCHW"
        same_numbers(before, after)


def test_what_is_in_the_layout_stays() -> None:
    before = module(relay.nn.relu(nchw_conv(XC, WC)), XC, WC)
    equal(t.ConvertLayout(NCHW)(before), before["main"].body, XC, WC)


@pytest.mark.parametrize(
    "then",
    [
        lambda y: relay.concatenate([y, relay.exp(y)], 1),
        lambda y: relay.mean(y, axis=[2, 3]),
        lambda y: relay.sum(y, axis=1, keepdims=True),
        lambda y: relay.nn.pad(y, ((0, 0), (0, 0), (1, 1), (2, 0))),
        lambda y: relay.transpose(y, [0, 2, 3, 1]),
        lambda y: relay.split(y, 2, 1)[1],
        lambda y: relay.squeeze(relay.nn.global_avg_pool2d(y), [0]),
        lambda y: relay.strided_slice(y, [0, 4], [1, 8]),
        lambda y: relay.strided_slice(y, [4, 1], [8, -1], axes=[1, -1]),
        lambda y: relay.nn.group_norm(y, VECTOR, VECTOR, 2),
        lambda y: relay.qnn.op.quantize(y, VECTOR, relay.const(3), axis=1),
        lambda y: relay.image.resize2d(y, (3, 3)),
        lambda y: relay.nn.softmax(y, 1),
        lambda y: relay.add(y, relay.const(1.0)),
        lambda y: relay.where(relay.greater(y, relay.const(0.0)), y, relay.zeros_like(y)),
    ],
)
def test_numbers_stay(then: Any) -> None:
    before = module(then(nchw_conv(XC, WC)), XC, WC)
    same_numbers(before, t.ConvertLayout(NHWC)(before))
    blocked = t.ConvertLayout({"nn.conv2d": ["NCHW4c", "OIHW4i4o"]})(before)
    assert "nn.contrib_conv2d_NCHWc" in ops(blocked)
    same_numbers(before, blocked)


def test_axes_move_with_the_layout() -> None:
    before = module(relay.mean(nchw_conv(XC, WC), axis=[2, 3]), XC, WC)
    after = t.ConvertLayout(NHWC)(before)
    assert after["main"].body.attrs.axis == (1, 2)
    assert ops(after) == ["layout_transform", "layout_transform", "nn.conv2d", "mean"]


def test_named_axes_and_scales_move_with_the_layout() -> None:
    y = nchw_conv(XC, WC)
    sliced = module(relay.strided_slice(y, [2, 0], [8, 3], axes=[1, 3]), XC, WC)
    assert list(t.ConvertLayout(NHWC)(sliced)["main"].body.args[0].attrs.axes) == [3, 2]
    normed = module(relay.nn.layer_norm(y, VECTOR, VECTOR, axis=1), XC, WC)
    after = t.ConvertLayout(NHWC)(normed)
    assert after["main"].body.args[0].attrs.axis == 3
    same_numbers(normed, after)


@pytest.mark.parametrize(
    "then",
    [
        lambda y: relay.nn.upsampling(y, 2, 2),
        lambda y: relay.nn.prelu(y, VECTOR),
        lambda y: relay.qnn.op.quantize(y, relay.const(0.5), relay.const(1)),
        lambda y: relay.vision.roi_align(y, relay.const(np.zeros((2, 5), "float32")), 3, 1.0),
    ],
    ids=["upsampling", "prelu", "quantize", "roi_align"],
)
def test_layouts_are_not_taken_over_by_all(then: Any) -> None:
    after = t.ConvertLayout(NHWC)(module(then(nchw_conv(XC, WC)), XC, WC))
    assert ops(after)[-2] == "layout_transform"


@pytest.mark.parametrize(
    ("then", "moved"),
    [
        (lambda y: relay.topk(y, 2, 2, "values"), lambda y: relay.topk(y, 2, 3, "values")),
        (
            lambda y: relay.nn.l2_normalize(y, 1e-3, [1, -1]),
            lambda y: relay.nn.l2_normalize(y, 1e-3, [2, 1]),
        ),
        (
            lambda y: relay.slice_like(y, relay.strided_slice(y, [0, 1], [1, 4]), axes=[1, 2]),
            lambda y: relay.slice_like(
                y, relay.strided_slice(y, [0, 0, 1, 0], [1, 8, 4, 6], [1, 1, 1, 1]), axes=[2, 3]
            ),
        ),
    ],
    ids=["topk", "l2_normalize", "slice_like"],
)
def test_options_with_axes_move_with_the_layout(then: Any, moved: Any) -> None:
    before = module(then(nhwc_conv(X, W)), X, W)
    after = t.ConvertLayout(NCHW)(before)
    y = nchw_conv(move(X, "NHWC", "NCHW"), move(W, "HWIO", "OIHW"))
    equal(after, move(moved(y), "NCHW", "NHWC"), X, W)
    same_numbers(before, after)


def test_both_results_of_topk_follow() -> None:
    before = module(relay.topk(nhwc_conv(X, W), 2, 3).astuple(), X, W)
    after = t.ConvertLayout(NCHW)(before)
    assert ops(after).count("layout_transform") == 4
    same_numbers(before, after)


def test_slices_like_tensors_of_other_layouts_stay() -> None:
    z = relay.var("z", shape=(1, 2, 2, 8))
    before = module(relay.slice_like(nhwc_conv(X, W), z, axes=[1, 2]), X, W, z)
    assert "axes=[1, 2]" in str(t.ConvertLayout(NCHW)(before))


def test_some_convolutions_are_left_alone() -> None:
    w = relay.var("v", shape=(8, 8, 3, 3))
    before = module(nchw_conv(nchw_conv(XC, WC), w), XC, WC, w)
    config = t.LayoutConfig(skip_layers=[0])
    with config:
        after = t.ConvertLayout(NHWC)(before)
    layouts = [e.attrs.data_layout for e in _convolutions(after)]
    assert layouts == ["NCHW", "NHWC"]
    assert t.LayoutConfig.current is None
    config.reset()
    assert config.check_skip() is False
    same_numbers(before, after)


def _convolutions(mod: Any) -> list[Any]:
    from tvm.relay.traverse import post_order

    return [
        e for e in post_order(mod["main"].body)
        if isinstance(e, relay.Call) and e.op is Op.get("nn.conv2d")
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["image.resize2d", "vision.roi_align", "vision.roi_pool"])
def test_what_has_a_layout_of_its_own_can_be_asked_to_move(name: str) -> None:
    rois = relay.var("rois", shape=(2, 5))
    image, nhwc = relay.var("x", shape=(1, 3, 8, 8)), {"layout": "NHWC"}
    made: Any = {
        "image.resize2d": lambda x, **o: relay.image.resize2d(x, (4, 4), **o),
        "vision.roi_align": lambda x, **o: relay.vision.roi_align(x, rois, (2, 2), 0.5, **o),
        "vision.roi_pool": lambda x, **o: relay.vision.roi_pool(x, rois, (2, 2), 0.5, **o),
    }[name]
    params = [image] if name.startswith("image") else [image, rois]
    after = t.ConvertLayout({name: ["NHWC", "default"]})(module(made(image), *params))
    moved = relay.layout_transform(made(relay.layout_transform(image, "NCHW", "NHWC"), **nhwc),
                                   "NHWC", "NCHW")  # fmt: skip
    equal(after, moved, *params)


def test_alter_moves_operands_where_the_new_call_wants_them() -> None:
    def alter(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
        assert [int(e) for e in tinfos[0].shape] == [1, 4, 6, 6]
        options = dict(attrs)
        options["data_layout"], options["kernel_layout"] = "NCHW4c", "OIHW4i"
        return relay.nn.conv2d(*inputs, **options)

    b = relay.var("b", shape=(8, 1, 1))
    before = module(relay.nn.relu(nchw_conv(XC, WC) + b), XC, WC, b)
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter):
        after = t.AlterOpLayout()(before)
    y = relay.nn.conv2d(move(XC, "NCHW", "NCHW4c"), move(WC, "OIHW", "OIHW4i"), channels=8,
                        kernel_size=(3, 3), padding=(1, 1), data_layout="NCHW4c",
                        kernel_layout="OIHW4i")  # fmt: skip
    bias = move(relay.expand_dims(b, 0, 1), "NCHW", "NCHW4c")
    equal(after, move(relay.nn.relu(y + bias), "NCHW4c", "NCHW"), XC, WC, b)
    same_numbers(before, after)


def test_alter_may_change_operands_alone_or_nothing() -> None:
    before = module(nchw_conv(XC, WC), XC, WC)

    def twice(attrs: Any, inputs: Any, tinfos: Any, out_type: Any) -> Any:
        data, weight = inputs
        return relay.nn.conv2d(data, weight * relay.const(2.0), **attrs)

    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", twice):
        after = t.AlterOpLayout()(before)
    equal(after, nchw_conv(XC, WC * relay.const(2.0)), XC, WC)
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda *_: None):
        equal(t.AlterOpLayout()(before), before["main"].body, XC, WC)


def test_users_set_rules() -> None:
    seen: list[Any] = []

    def rule(attrs: Any, new: Any, old: Any, types: Any) -> Any:
        seen.append([None if new is None else [one.name for one in new], old[0].name])
        layout = (old if new is None else new)[0]
        return InferCorrectLayoutOutput([layout], [layout], attrs)

    before = module(relay.nn.log_softmax(nchw_conv(XC, WC), 1), XC, WC)
    with TempOpAttr("nn.log_softmax", "FInferCorrectLayout", rule):
        after = t.ConvertLayout(NHWC)(before)
    assert seen == [[None, "NCHW"], [["NHWC"], "NCHW"]]
    assert ops(after)[-1] == "layout_transform"


def test_errors_say_what_is_legal() -> None:
    before = module(nchw_conv(XC, WC), XC, WC)
    with pytest.raises(ValueError, match="Layout HWCN is not yet supported"):
        t.ConvertLayout({"nn.conv2d": ["HWCN", "default"]})(before)
    with pytest.raises(ValueError, match="one of the data and one of the weight"):
        t.ConvertLayout({"nn.conv2d": ["NHWC"]})(before)
    with (
        TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", lambda a, i, t, o: relay.Tuple(i)),
        pytest.raises(TVMError, match="is no call"),
    ):
        t.AlterOpLayout()(before)
