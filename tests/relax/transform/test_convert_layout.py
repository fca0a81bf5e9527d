"""Layout conversion: expected modules, split layouts, what keeps its layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure

ONES, FOUR = (relax.const(np.ones(n, "float32")) for n in (26, 4))
NHWC = {"relax.nn.conv2d": ["NHWC", "OHWI"]}


@I.ir_module
class ConvBias:
    @R.function
    def main(
        x: R.Tensor((2, 3, 28, 28), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        bias: R.Tensor((1, 4, 1, 1), "float32"),
    ):
        with R.dataflow():
            gv = R.nn.conv2d(x, w, out_dtype="float32")
            gv1 = R.add(gv, bias)
            gv2 = R.nn.relu(gv1)
            R.output(gv2)
        return gv2


@I.ir_module
class ConvBiasExpected:
    @R.function
    def main(
        x: R.Tensor((2, 3, 28, 28), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        bias: R.Tensor((1, 4, 1, 1), "float32"),
    ):
        with R.dataflow():
            lv = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv1 = R.permute_dims(w, axes=[0, 2, 3, 1])
            gv = R.nn.conv2d(
                lv, lv1, data_layout="NHWC", kernel_layout="OHWI", out_layout="NHWC",
                out_dtype="float32",
            )
            lv2 = R.permute_dims(bias, axes=[0, 2, 3, 1])
            gv1 = R.add(gv, lv2)
            lv3 = R.nn.relu(gv1)
            gv2 = R.permute_dims(lv3, axes=[0, 3, 1, 2])
            R.output(gv2)
        return gv2


def test_followers_take_the_layout() -> None:
    after = relax.transform.ConvertLayout(NHWC)(ConvBias)
    assert_structural_equal(after, ConvBiasExpected)
    assert relax.analysis.well_formed(after)


@I.ir_module
class Split:
    @R.function
    def main(x: R.Tensor((2, 4, 8, 8), "float32"), w: R.Tensor((8, 4, 3, 3), "float32")):
        with R.dataflow():
            gv = R.nn.conv2d(x, w)
            gv1 = R.nn.avg_pool2d(gv, pool_size=(2, 2))
            gv2 = R.nn.softmax(gv1, axis=1)
            R.output(gv2)
        return gv2


@I.ir_module
class SplitExpected:
    @R.function
    def main(x: R.Tensor((2, 4, 8, 8), "float32"), w: R.Tensor((8, 4, 3, 3), "float32")):
        with R.dataflow():
            lv = R.layout_transform(
                x, index_map=T.index_map(
                    lambda i0, i1, i2, i3: (i0, i1 // 4, i2, i3, i1 % 4), index_dtype="int32"
                ),
            )
            lv1 = R.layout_transform(
                w, index_map=T.index_map(
                    lambda i0, i1, i2, i3: (i0 // 4, i1, i2, i3, i0 % 4), index_dtype="int32"
                ),
            )
            gv = R.nn.conv2d(
                lv, lv1, data_layout="NCHW4c", kernel_layout="OIHW4o", out_layout="NCHW4c"
            )
            gv1 = R.nn.avg_pool2d(
                gv, pool_size=(2, 2), layout="NCHW4c", out_layout="NCHW4c"
            )
            lv2 = R.layout_transform(
                gv1, index_map=T.index_map(
                    lambda i0, i1, i2, i3, i4: (i0, i1 * 4 + i4, i2, i3), index_dtype="int32"
                ),
            )
            gv2 = R.nn.softmax(lv2, axis=1)
            R.output(gv2)
        return gv2


def test_split_channels() -> None:
    wanted = {"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}
    after = relax.transform.ConvertLayout(wanted)(Split)
    assert_structural_equal(after, SplitExpected)
    odd = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW3c", "OIHW3o"]})(Split)
    assert_structural_equal(odd, Split)  # four channels are no multiple of three


@I.ir_module
class Many:
    @R.function
    def main(
        x: R.Tensor(("n", 4, 8, 8), "float32"),
        w: R.Tensor((4, 4, 3, 3), "float32"),
        b: R.Tensor((4, 1, 1), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            gv = R.nn.conv2d(x, w, padding=1)
            total = R.sum(gv, axis=[1], keepdims=True)
            mean = R.mean(gv, axis=[-1])
            new = R.expand_dims(mean, axis=[1])
            parts = R.split(gv, 2, axis=1)
            left = parts[0]
            pair = (left, parts[1])
            both = R.concat(pair, axis=-3)
            cut = R.strided_slice(both, axes=[1], begin=[0], end=[2])
            turned = R.permute_dims(cut, axes=[0, 2, 3, 1])
            biased = R.add(both, b)
            cast = R.match_cast(biased, R.Tensor((n, 4, 8, 8), "float32"))
            flat = R.reshape(cast, (n, 256))
            gone = R.squeeze(total, axis=[1])
            scaled = R.multiply(R.const(2.0), gv)
            same = scaled
            R.output(new, turned, flat, gone, same, pair)
        return (new, turned, flat, gone, same, pair)


@pytest.mark.parametrize(
    "layouts", [["NHWC", "OHWI"], ["NHWC", "HWIO"], ["NHWC", "OHWI", "NCHW"], ["NCHW2c", "OIHW2o"]]
)
def test_the_meaning_stays(layouts: list[str]) -> None:
    after = relax.transform.ConvertLayout({"relax.nn.conv2d": layouts})(Many)
    assert relax.analysis.well_formed(after)
    rng = np.random.default_rng(0)
    arrays = [
        rng.uniform(-1, 1, s).astype("float32") for s in ((3, 4, 8, 8), (4, 4, 3, 3), (4, 1, 1))
    ]
    found, wanted = interp.run(after, *arrays), interp.run(Many, *arrays)
    for a, b in zip(_flat(found), _flat(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def _flat(value: Any) -> list[Any]:
    return [value] if not isinstance(value, tuple) else [x for part in value for x in _flat(part)]


def test_what_is_not_asked_for_stays() -> None:
    after = relax.transform.ConvertLayout({"relax.nn.conv3d": ["NDHWC", "ODHWI"]})(ConvBias)
    assert_structural_equal(after, ConvBias)


def test_tensors_of_unknown_dimensions_stay() -> None:
    x = relax.Var("x", relax.TensorStructInfo(None, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.nn.relu(bb.emit(relax.op.nn.relu(x))))
        bb.emit_func_output(out)
    mod = bb.get()
    assert_structural_equal(relax.transform.ConvertLayout(NHWC)(mod), mod)


def test_resize_takes_a_desired_layout() -> None:
    n = tir.Var("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((n, 3, 4, 4), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.image.resize2d(x, (8, 8)))
        bb.emit_func_output(out)
    after = relax.transform.ConvertLayout({"relax.image.resize2d": ["NHWC"]})(bb.get())
    assert relax.analysis.well_formed(after)
    assert 'layout="NHWC"' in after.script()


@pytest.mark.parametrize(("layouts", "words"), [([], "no layouts"), (["NXHW", "OIHW"], "NCHW")])
def test_layouts_are_checked(layouts: list[str], words: str) -> None:
    with pytest.raises(TVMError, match=words):
        relax.transform.ConvertLayout({"relax.nn.conv2d": layouts})(IRModule(ConvBias.functions))


@I.ir_module
class Reductions:
    @R.function
    def main(x: R.Tensor((2, 8, 6, 6), "float32"), w: R.Tensor((4, 8, 3, 3), "float32"),
             k: R.Tensor((2, 4, 4, 4), "float32")):
        N, C, H, W = T.int64(), T.int64(), T.int64(), T.int64()
        with R.dataflow():
            g = R.nn.conv2d(x, w)
            space = R.sum(g, axis=[2, -1])
            channels = R.max(g, axis=[1, -2])
            batch = R.mean(g, axis=[0])
            kept = R.sum(g, axis=[3], keepdims=True)
            kept_channels = R.sum(g, axis=[1], keepdims=True)
            every = R.sum(g)
            both = R.concat((g, R.nn.relu(g)), axis=1)
            fma = R.ewise_fma(g, k, k)
            cast = R.match_cast(g, R.Tensor((N, C, H, W), "float32"))
            relu = R.nn.relu(cast)
            R.output(space, channels, batch, kept, kept_channels, every, both, fma, relu)
        return (space, channels, batch, kept, kept_channels, every, both, fma, relu)


def axes_of(mod: IRModule, name: str) -> list[list[int]]:
    calls = [b.value for b in mod["main"].body.blocks[0].bindings if hasattr(b.value, "op")]
    return [list(c.attrs.axis or ()) for c in calls if c.op.name == name]


def numbers(mod: IRModule) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = ((2, 8, 6, 6), (4, 8, 3, 3), (2, 4, 4, 4))
    return _flat(interp.run(mod, *(rng.uniform(-1, 1, s).astype("float32") for s in shapes)))


@pytest.mark.parametrize("layouts", [["NHWC", "OHWI"], ["NCHW4c", "OIHW4o"]])
def test_reductions_and_casts_in_other_layouts(layouts: list[str]) -> None:
    after = relax.transform.ConvertLayout({"relax.nn.conv2d": layouts})(Reductions)
    assert relax.analysis.well_formed(after)
    for a, b in zip(numbers(after), numbers(Reductions), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    split = layouts[0] != "NHWC"
    # all parts of a split dimension go with it
    assert axes_of(after, "relax.max") == [[1, 2, 4] if split else [1, 3]]
    sums = [[2, 3], [3], [1, 4], [0, 1, 2, 3, 4]] if split else [[1, 2], [2], [3], [0, 1, 2, 3]]
    assert axes_of(after, "relax.sum") == sums
    text = after.script()
    assert ("R.match_cast(g," in text) is not split
    assert "R.concat((g," in text
    assert "R.ewise_fma(g," not in text  # k is in another layout


@pytest.mark.parametrize(
    "build",
    [
        lambda y: relax.op.clip(y, 0, 1),
        lambda y: relax.op.nn.leakyrelu(y),
        lambda y: relax.op.nn.softplus(y),
        lambda y: relax.op.nn.log_softmax(y, axis=1),
        lambda y: relax.op.nn.pad(y, [0, 0, 0, 0, 1, 1, 1, 1]),
        lambda y: relax.op.cumsum(y, axis=1),
        lambda y: relax.op.argmax(y, axis=1),
        lambda y: relax.op.sort(y, axis=1),
        lambda y: relax.op.topk(y, 1, 1, "values"),
        lambda y: relax.op.flip(y, axis=1),
        lambda y: relax.op.repeat(y, 2, axis=1),
        lambda y: relax.op.tile(y, [1, 2, 1, 1]),
        lambda y: relax.op.broadcast_to(y, (2, 4, 26, 26)),
        lambda y: relax.op.take(y, relax.const([0, 1], "int64"), axis=1),
        lambda y: relax.op.zeros_like(y),
        lambda y: relax.op.tril(y),
        lambda y: relax.op.quantize(y, relax.const(0.5), relax.const(0, "int8"), axis=1),
        lambda y: relax.op.collapse_sum_to(y, (1, 4, 1, 1)),
        lambda y: relax.op.where(relax.op.less(y, relax.const(0.0)), y, y),
        lambda y: relax.op.matmul(y, y),
        lambda y: relax.op.nn.conv2d_transpose(y, relax.const(np.ones((4, 2, 2, 2), "float32"))),
    ],
)
def test_operators_without_a_rule_get_what_the_program_knows(build: Any) -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3, 28, 28), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((4, 3, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = bb.emit(relax.op.nn.conv2d(x, w))
            z = bb.normalize(build(y))
            out = bb.emit_output(z)
        bb.emit_func_output(out)
    after = relax.transform.ConvertLayout(NHWC)(bb.get())
    values = [b.value for b in after["main"].body.blocks[0].bindings]
    last = values[-1]
    assert last.op.name == z.op.name
    assert_structural_equal(last.attrs, z.attrs)


@pytest.mark.parametrize(
    ("build", "moved"),
    [
        (lambda y: relax.op.nn.layer_norm(y, ONES, ONES, axes=[-1]), False),
        (lambda y: relax.op.nn.layer_norm(y, FOUR, FOUR, axes=[1]), True),
        (lambda y: relax.op.concat([y, relax.op.ones((2, 4, 26, 26), "float32")], 1), False),
        (lambda y: relax.op.concat([y, relax.op.ones((2, 3, 26, 26), "float32")], 1), True),
        (lambda y: relax.op.max(y, 1, keepdims=True), False),
        (lambda y: relax.op.nn.prelu(y, FOUR, 1), True),
    ],
)
def test_operators_with_a_rule_take_split_layouts(build: Any, moved: bool) -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 4, 28, 28), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((4, 4, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            y = bb.emit(relax.op.nn.conv2d(x, w))
            out = bb.emit_output(build(y))
        bb.emit_func_output(out)
    after = relax.transform.ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]})(bb.get())
    assert relax.analysis.well_formed(after)
    bindings = after["main"].body.blocks[0].bindings
    back = bindings[-1].value.op.name == "relax.layout_transform"
    assert back is not moved


def test_the_way_back_takes_the_place_of_an_alias() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 4, 28, 28), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((4, 4, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit(relax.op.nn.conv2d(x, w)))
        bb.emit_func_output(out)
    bindings = relax.transform.ConvertLayout(NHWC)(bb.get())["main"].body.blocks[0].bindings
    assert [b.value.op.name for b in bindings[2:]] == ["relax.nn.conv2d", "relax.permute_dims"]


def test_only_operators_that_take_a_layout_can_be_asked_for_one() -> None:
    wanted = NHWC | {"relax.nn.relu": ["NHWC"]}
    with pytest.raises(TVMError, match=r"relax\.nn\.relu takes no desired layout"):
        relax.transform.ConvertLayout(wanted)(ConvBias)


def test_transposed_convolutions_take_a_desired_layout() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3, 8, 8), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((3, 4, 3, 3), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.nn.conv2d_transpose(x, w))
        bb.emit_func_output(out)
    wanted = {"relax.nn.conv2d_transpose": ["NHWC", "HWIO"]}
    assert 'data_layout="NHWC"' in relax.transform.ConvertLayout(wanted)(bb.get()).script()
