"""Parts of operators that have public names of their own, each against numpy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from tests.topi.nn.reference import conv_reference, conv_transpose_reference
from tests.topi.numerics import close, evaluate, floats
from tvm import te, tir, topi
from tvm.tir.interp import evaluate as number
from tvm.topi import utils
from tvm.topi.image import resize

pytestmark = pytest.mark.pure


def part(module: str) -> Any:
    """A module whose package shows the function of the same name."""
    return import_module(f"tvm.topi.{module}")


adaptive_pool_python = part("testing.adaptive_pool_python")
grid_sample_python = part("testing.grid_sample_python")
poolnd_python = part("testing.poolnd_python")
resize_python = part("testing.resize_python")


@pytest.mark.parametrize(
    ("ours", "numpy", "tolerance"),
    [("fast_exp", np.exp, 1e-6), ("fast_tanh", np.tanh, 1e-5), ("fast_erf", None, 1e-5)],
)
def test_polynomials(ours: str, numpy: Any, tolerance: float) -> None:
    x = np.linspace(-6, 6, 97).astype("float32")
    if numpy is None:
        from scipy.special import erf as numpy
    close(evaluate(getattr(topi, ours), x), numpy(x.astype("float64")).astype("float32"),
          rtol=tolerance, atol=tolerance)  # fmt: skip
    wide = x.astype("float64")
    close(evaluate(getattr(topi, ours), wide), numpy(wide), rtol=1e-12, atol=1e-12)


def test_convolutions_in_any_layout() -> None:
    x, w = floats(2, 4, 9), floats(6, 4, 3, seed=1)
    wanted = conv_reference(x, w, 2, ((1,), (1,)), 1, 1)
    close(evaluate(lambda a, b: topi.nn.conv1d(a, b, 2, 1), x, w), wanted, atol=1e-4)
    image, kernel = floats(1, 3, 6, 5), floats(4, 3, 3, 3, seed=1)
    wanted = conv_reference(image, kernel, 1, ((1, 1), (1, 1)), 1, 1)
    close(evaluate(lambda a, b: topi.nn.conv2d(a, b, 1, 1, 1), image, kernel), wanted, atol=1e-4)
    last = [np.ascontiguousarray(a) for a in (image.transpose(0, 2, 3, 1),
                                              kernel.transpose(2, 3, 1, 0))]  # fmt: skip
    found = evaluate(lambda a, b: topi.nn.conv2d(a, b, 1, 1, 1, "NHWC", "HWIO"), *last)
    close(found, wanted.transpose(0, 2, 3, 1), atol=1e-4)


def test_transposed_convolutions_by_spread_data_and_mirrored_kernels() -> None:
    for dims, preprocess, declaration in (
        (2, topi.nn.conv2d_transpose_nchw_preprocess, topi.nn.declaration_conv2d_transpose_impl),
        (3, topi.nn.conv3d_transpose_ncdhw_preprocess, topi.nn.declaration_conv3d_transpose_impl),
    ):
        x, w = floats(1, 3, *(3,) * dims), floats(3, 2, *(2,) * dims, seed=1)
        options = ((2,) * dims, (0,) * dims, "float32", (0,) * dims)
        wanted = conv_transpose_reference(x, w, 2)
        close(evaluate(lambda a, b, f=declaration, o=options: f(a, b, *o), x, w), wanted, atol=1e-4)
        spread, mirrored = evaluate(lambda a, b, f=preprocess, o=options: list(f(a, b, *o)), x, w)
        none = ((0,) * dims, (0,) * dims)
        close(conv_reference(spread, mirrored, 1, none, 1, 1), wanted, atol=1e-4)


def test_padded_shape() -> None:
    x = te.placeholder((2, te.size_var("n")), name="x")
    found = topi.nn.get_padded_shape(x, (1, 2), (0, 3))
    assert found[0] == 3
    assert number(found[1], {x.shape[1]: 4}) == 9


@pytest.mark.parametrize("fast", [False, True])
def test_softmax_by_either_power(fast: bool) -> None:
    x = floats(3, 4)
    power = np.exp(x - x.max(1, keepdims=True))
    common = part("nn.softmax").softmax_common
    found = evaluate(lambda a: common(a, 1, fast), x)
    close(found, power / power.sum(1, keepdims=True), rtol=1e-5)


def test_binary_search_finds_the_place() -> None:
    search = part("searchsorted").binary_search
    row, out = tir.decl_buffer((5,), "int32", "row"), tir.decl_buffer((1,), "int32", "out")
    for value, right, wanted in ((4, False, 1), (4, True, 3), (9, False, 5)):
        stmt = search(lambda place: tir.BufferStore(out, place, [0]), tir.const(0), tir.const(5),
                      row, tir.const(value), right, "int32")  # fmt: skip
        result = np.zeros(1, "int32")
        tir.interp.run(tir.PrimFunc([row, out], stmt), np.int32([1, 4, 4, 6, 8]), result)
        assert result[0] == wanted


def test_scores_above_a_threshold_are_counted() -> None:
    search = part("vision.nms_util").binary_search
    scores, out = tir.decl_buffer((2, 4), name="s"), tir.decl_buffer((2,), "int32", "out")
    row = tir.Var("row", "int32")
    stmt = search(lambda _: tir.Evaluate(0), row, tir.const(4), scores,
                  tir.const(0.5, "float32"), out)  # fmt: skip
    loop = tir.For(row, 0, 2, tir.ForKind.SERIAL, stmt)
    values, found = np.float32([[0.9, 0.8, 0.5, 0.1], [0.4, 0.3, 0.2, 0.1]]), np.zeros(2, "int32")
    tir.interp.run(tir.PrimFunc([scores, out], loop), values, found)
    close(found, (values > 0.5).sum(1).astype("int32"))


def test_indices_and_pixels_by_layout() -> None:
    assert resize.get_1d_indices("ncx") == ("n", "c", "x", None, None)
    assert resize.get_1d_indices("nxc", "NWC") == ("n", "c", "x", None, None)
    assert resize.get_2d_indices("nyxc", "NHWC") == ("n", "c", "y", "x", None, None)
    assert resize.get_2d_indices("ncyxi", "NCHW4c") == ("n", "c", "y", "x", "i", None)
    assert resize.get_3d_indices("nzyxc", "NDHWC") == ("n", "c", "z", "y", "x", None)
    x = floats(1, 2, 3, 4, 5)
    edge = [1, 9, -1, 9]  # outside: the nearest element

    def pixel(data: te.Tensor) -> te.Tensor:
        return te.compute((1,), lambda i: resize.get_3d_pixel(
            data, "NCDHW", 3, 4, 5, 0, *map(tir.const, edge), 0))  # fmt: skip

    assert evaluate(pixel, x)[0] == x[0, 1, 2, 0, 4]
    flat = floats(1, 2, 4, 5)
    found = evaluate(lambda d: te.compute((1,), lambda i: resize.get_2d_pixel(
        d, "NCHW", 4, 5, 0, 1, tir.const(-3), tir.const(7), 0, None, None)), flat)  # fmt: skip
    assert found[0] == flat[0, 1, 0, 4]
    line = floats(1, 2, 5)
    found = evaluate(lambda d: te.compute((1,), lambda i: resize.get_1d_pixel(
        d, "NCW", 5, 0, 1, tir.const(7), 0, None, None)), line)  # fmt: skip
    assert found[0] == line[0, 1, 4]


@pytest.mark.parametrize(
    ("method", "wanted"),
    [("round", 2), ("round_prefer_floor", 2), ("round_prefer_ceil", 3), ("floor", 2), ("ceil", 3)],
)
def test_closest_place(method: str, wanted: int) -> None:
    at = tir.Var("x", "float32")
    assert number(resize.get_closest_index(at, method, None), {at: 2.5}) == wanted


def test_places_of_slices() -> None:
    i = tir.Var("i", "int32")
    for begin, end, step in ((1, 8, 3), (7, 0, -2)):
        inside = utils.within_index(begin, end, step, i)
        place = utils.make_idx(tir.const(begin), tir.const(end), tir.const(step), tir.const(9), i)
        taken = list(range(begin, end, step))
        assert [k for k in range(9) if number(inside, {i: k})] == sorted(taken)
        assert [int(number(place, {i: k})) for k in taken] == list(range(len(taken)))
    assert utils.ravel_index([1, 2, 3], [2, 3, 4]) == 23
    assert number(utils.simplify(i + 1 - i), {}) == 1
    with pytest.raises(utils.InvalidShapeError):
        raise utils.InvalidShapeError("shape")


def test_references_agree_with_numpy() -> None:
    x = floats(1, 2, 6, 6)
    halves = x.reshape(1, 2, 2, 3, 2, 3).mean((3, 5))
    pool = adaptive_pool_python.adaptive_pool_channel_first
    close(pool(x, (2, 2), "avg", np.mean), halves)
    pool = adaptive_pool_python.adaptive_pool_channel_last
    close(pool(x.transpose(0, 2, 3, 1), (2, 2), "avg", np.mean), halves.transpose(0, 2, 3, 1))
    padded = poolnd_python.pad_tensor(x, 0, [0, 0, 1, 1], [0, 0, 0, 2], "float32")
    close(padded, np.pad(x, [(0, 0), (0, 0), (1, 0), (1, 2)]))
    window = poolnd_python.get_slice(2, x, (1, 2), (2, 3), (2, 1), (1, 1))
    close(x[tuple(window)], x[:, :, 2:4, 2:5])


@pytest.mark.parametrize("dims", [2, 3])
def test_a_grid_of_the_pixels_gives_the_picture(dims: int) -> None:
    x = floats(1, 2, *range(3, 3 + dims))
    lines = [np.linspace(-1, 1, n) for n in x.shape[2:]]
    grid = np.stack(np.meshgrid(*lines, indexing="ij")[::-1])[None].astype("float32")
    samples = {2: grid_sample_python.grid_sample_2d, 3: grid_sample_python.grid_sample_3d}
    layout = "NCHW" if dims == 2 else "NCDHW"
    close(samples[dims](x, grid, layout=layout), x, atol=1e-5)


def test_volumes_twice_as_large() -> None:
    x = floats(2, 3, 2)
    twice = resize_python.resize3d_nearest(x, (2, 2, 2), "asymmetric")
    close(twice, x.repeat(2, 0).repeat(2, 1).repeat(2, 2))
    volume = floats(1, 2, 2, 3, 2)
    whole = resize_python.resize3d_ncdhw(volume, (2, 2, 2), "nearest_neighbor", "asymmetric")
    close(whole, volume.repeat(2, 2).repeat(2, 3).repeat(2, 4))
    ends = np.ix_(*([0, -1],) * 3)
    for method in (resize_python.resize3d_linear, resize_python.resize3d_cubic):
        close(method(x, (2, 2, 2), "align_corners")[ends], x[ends], atol=1e-5)


@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric"])
def test_places_of_resized_rows(mode: str) -> None:
    def element(i: Any) -> Any:
        return resize.get_inx(i, 5, 8, mode)

    found = evaluate(lambda _: te.compute((8,), element), floats(8))
    wanted = [resize_python.get_inx(x, 5, 8, mode) for x in range(8)]
    close(found, np.float32(wanted), atol=1e-6)


def test_whole_places_of_resized_rows() -> None:
    places = [resize_python.get_index(x, 4, 8, "asymmetric") for x in range(8)]
    assert places == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [resize_python.get_index(x, 5, 3, "align_corners") for x in range(3)] == [0, 2, 4]


def test_regions_of_constant_pictures() -> None:
    common = part("testing.roi_align_python").roi_align_common
    picture = np.full((1, 2, 6, 6), 3.0, "float32")
    regions = np.array([[0, 1, 1, 4, 4]], "float32")
    out = np.zeros((1, 2, 2, 2), "float32")
    common(picture, out, regions, 2, 2, 2, 1.0, 2, True, False, 6, 6, "NCHW")
    close(out, np.full((1, 2, 2, 2), 3.0))


def test_boxes_that_stay() -> None:
    util = part("vision.nms_util")
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]], "float32")
    scores = np.array([[0.9, 0.8, 0.7], [0.9, 0.5, 0.1]], "float32")  # of two classes, sorted
    order = np.array([[0, 1, 2], [2, 1, 0]], "int32")
    valid = np.array([3, 2], "int32")
    chosen, count = evaluate(
        lambda *a: util.run_all_class_nms(*a, tir.const(3), tir.const(0.5, "float32")),
        boxes, scores, order, valid,
    )  # fmt: skip
    assert count.tolist() == [2, 2]  # the second box of the first class covers the first
    assert chosen[0, :2].tolist() == [0, 2]
    assert chosen[1, :2].tolist() == [2, 1]
    offsets = np.array([0, 2], "int64")
    rows = evaluate(
        lambda *a: util.collect_selected_indices(2, *a), chosen, count, offsets
    )
    assert rows[:4].tolist() == [[0, 0, 0], [0, 0, 2], [0, 1, 2], [0, 1, 1]]
    places, marks = evaluate(
        util.collect_selected_indices_and_scores, chosen, scores, count, offsets,
        np.array([4], "int64"),
    )  # fmt: skip
    assert places[0, :4].tolist() == [[0, 0], [0, 2], [1, 2], [1, 1]]
    close(marks[0, :2], scores[0, :2])
