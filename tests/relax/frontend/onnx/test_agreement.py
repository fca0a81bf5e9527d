"""Extents that importing cannot compare: equal, repeated, or refused, when the program runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm import relax
from tvm.error import OpAttributeInvalid, OpAttributeRequired, ShapeError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
node = helper.make_node


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def model_of(nodes: Sequence[Any], shapes: dict[str, list[Any]], **options: Any) -> Any:
    sample = {name: floats(*(2 for _ in shape)) for name, shape in shapes.items()}
    return make_model(nodes, sample, ["y"], shapes=shapes, **options)


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div", "Max", "Less", "Pow"])
def test_two_symbols_are_broadcast_as_the_program_runs(op: str) -> None:
    model = model_of([node(op, ["a", "b"], ["y"])], {"a": ["m", 3], "b": ["n", 3]})
    sizes = [(4, 4), (1, 4), (4, 1), (1, 1), (0, 1), (1, 0), (0, 0)]
    check_sizes(model, [{"a": abs(floats(m, 3)), "b": abs(floats(n, 3))} for m, n in sizes])


def test_an_error_names_the_node_and_both_extents() -> None:
    model = model_of([node("Add", ["a", "b"], ["y"], name="joined")], {"a": ["m"], "b": ["n"]})
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises(ShapeError) as caught:
        vm["main"](floats(2), floats(3))
    text = str(caught.value)
    assert all(word in text for word in ("source=joined", "m == ", "n == ", "extent 0 is 3"))


def test_a_number_and_a_symbol() -> None:
    model = model_of([node("Mul", ["a", "b"], ["y"])], {"a": ["m", "n"], "b": [4]})
    check_sizes(model, [{"a": floats(m, n), "b": floats(4)} for m, n in ((2, 4), (3, 1), (0, 4))])


def test_three_operands() -> None:
    shapes: dict[str, list[Any]] = {"a": ["i", "j"], "b": ["k"], "c": ["l", 1]}
    model = model_of([node("Max", ["a", "b", "c"], ["y"])], shapes)
    runs = [((2, 3), (3,), (2, 1)), ((1, 3), (1,), (5, 1)), ((4, 1), (6,), (1, 1))]
    check_sizes(model, [{"a": floats(*a), "b": floats(*b), "c": floats(*c)} for a, b, c in runs])


def test_strides_up_and_down_again() -> None:
    """As in feature pyramids: halves of an extent, doubled, are one more or 1 to be repeated."""
    nodes = [
        node("MaxPool", ["x"], ["half"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("MaxPool", ["half"], ["less"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("Resize", ["less", "", "scales"], ["up"], mode="nearest",
             coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        node("Add", ["half", "up"], ["y"]),
    ]  # fmt: skip
    scales = {"scales": np.array([1, 1, 2, 2], "float32")}
    model = model_of(nodes, {"x": [1, 2, "h", "w"]}, weights=scales)
    check_sizes(model, [{"x": floats(1, 2, h, w)} for h, w in ((8, 12), (2, 8), (16, 1))])


def test_negative_and_unnamed_extents_are_unknown() -> None:
    model = model_of([node("Relu", ["x"], ["y"])], {"x": [-1, 3, None, ""]})
    check_sizes(model, [{"x": floats(*s)} for s in ((1, 3, 4, 5), (2, 3, 1, 7))])


def test_a_slice_to_a_large_number_is_to_the_end() -> None:
    bounds = {"start": np.array([0]), "end": np.array([1_000_000_000]), "axes": np.array([0])}
    nodes = [
        node("Slice", ["x", "start", "end", "axes"], ["whole"]),
        node("ReduceMean", ["x"], ["mean"], axes=[1]),
        node("Sub", ["whole", "mean"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["n", 5]}, weights=bounds)
    text = str(from_onnx(model))
    assert "fitting" not in text
    check_sizes(model, [{"x": floats(n, 5)} for n in (1, 4)])


def test_channels_that_are_symbols() -> None:
    weights = {"w": floats(4, 3, 3, 3), "s": floats(4), "z": abs(floats(4))}
    nodes = [
        node("Conv", ["x", "w"], ["c"]),
        node("BatchNormalization", ["c", "s", "s", "s", "z"], ["y"]),
    ]
    model = model_of(nodes, {"x": ["b", "c", "h", "w_"]}, weights=weights)
    check_sizes(model, [{"x": floats(2, 3, 8, 9)}, {"x": floats(1, 3, 5, 5)}], rtol=1e-4)


def test_concat_checks_the_other_axes() -> None:
    model = model_of(
        [node("Concat", ["a", "b"], ["y"], axis=1)], {"a": ["m", 2], "b": ["n", "k"]}
    )
    check_sizes(model, [{"a": floats(3, 2), "b": floats(3, 4)}])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises(ShapeError, match="source=Concat_0"):
        vm["main"](floats(3, 2), floats(4, 4))


def test_products_meet_and_repeat() -> None:
    model = model_of(
        [node("MatMul", ["a", "b"], ["y"])], {"a": ["p", "m", "k"], "b": ["q", "l", "n"]}
    )
    shapes = [((1, 2, 3), (4, 3, 5)), ((4, 2, 3), (1, 3, 5)), ((2, 1, 4), (2, 4, 1))]
    check_sizes(model, [{"a": floats(*a), "b": floats(*b)} for a, b in shapes], rtol=1e-4)


def test_what_gemm_adds_is_repeated() -> None:
    model = model_of(
        [node("Gemm", ["a", "b", "c"], ["y"], transB=1)],
        {"a": ["m", "k"], "b": ["n", "l"], "c": ["r", "s"]},
    )
    runs = [((2, 3), (4, 3), (2, 4)), ((2, 3), (4, 3), (1, 4)), ((2, 3), (4, 3), (2, 1))]
    check_sizes(
        model, [{"a": floats(*a), "b": floats(*b), "c": floats(*c)} for a, b, c in runs], rtol=1e-4
    )


def test_slopes_are_repeated() -> None:
    model = model_of([node("PRelu", ["x", "s"], ["y"])], {"x": ["m", "n"], "s": ["k"]})
    check_sizes(model, [{"x": floats(2, 3), "s": floats(3)}, {"x": floats(2, 3), "s": floats(1)}])


@pytest.mark.parametrize(("op", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_weights_and_states_of_recurrent_layers_fit_the_data(op: str, gates: int) -> None:
    fitting = {
        "x": ["steps", 3, 2], "w": [1, gates * 4, 2], "r": [1, gates * 4, 4], "b": [1, 8 * gates],
        "lengths": [3], "h": [1, 3, 4], "c": [1, 3, 4], "p": [1, 12],
    }  # fmt: skip
    names = list(fitting)[: 8 if op == "LSTM" else 6]
    layer = node(op, names, ["y"], hidden_size=4)

    def model(**changed: list[Any]) -> Any:
        shapes = {name: changed.get(name, fitting[name]) for name in names}
        sample = {name: floats(*(2 for _ in shape)) for name, shape in shapes.items()}
        sample["lengths"] = sample["lengths"].astype("int32")
        return make_model([layer], sample, ["y"], shapes=shapes)

    small = {"w": [1, 2, 2], "r": [1, 2, 2], "b": [1, 3], "lengths": [1], "h": [1, 3, 1]}
    small |= {"c": [1, 2, 4], "p": [1, 2]} if op == "LSTM" else {}
    for number, name in enumerate(names):
        if name in small:
            with pytest.raises(OpAttributeInvalid, match=rf"input {number} has to be of shape \("):
                from_onnx(model(**{name: small[name]}))
    vm = relax.VirtualMachine(
        tvm.compile(from_onnx(model(r=[1, "rows", "columns"])), "llvm"), tvm.cpu()
    )
    given = {name: np.ones([5 if e == "steps" else int(e) for e in fitting[name]], "float32")
             for name in names}  # fmt: skip
    given["lengths"] = np.full(3, 5, "int32")
    assert vm["main"](*given.values()).numpy().shape == (5, 1, 3, 4)
    with pytest.raises(ShapeError, match="columns"):
        vm["main"](*(given | {"r": np.ones((1, 2, 2), "float32")}).values())


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_recurrent_layer_without_weights_is_refused(missing: int) -> None:
    shapes: dict[str, list[Any]] = {"x": [5, 3, 2], "w": [1, 4, 2], "r": [1, 4, 4]}
    names = ["" if i == missing else name for i, name in enumerate(shapes)]
    model = model_of([node("RNN", names, ["y"], hidden_size=4)], shapes)
    with pytest.raises(OpAttributeRequired, match=f"input number {missing} is missing"):
        from_onnx(model)


def _refused(op: str, shapes: dict[str, list[Any]], wrong: dict[str, list[Any]], **attrs: Any
             ) -> None:  # fmt: skip
    """The fitting model is taken; each input of another shape is refused by its number."""

    def model(given: dict[str, list[Any]]) -> Any:
        sample = {name: floats(*(2 for _ in shape)) for name, shape in given.items()}
        for name in ("image", "block", "which"):
            if name in sample:
                sample[name] = sample[name].astype("int64")
        values = {name: sample.pop(name) for name in ("image", "block") if name in sample}
        constants = {"image": np.array([4, 4]), "block": np.array([2, 2])}
        return make_model([node(op, list(given), ["y"], **attrs)], sample, ["y"],
                          {name: constants[name] for name in values},
                          shapes={name: given[name] for name in sample}, opset=22)  # fmt: skip

    from_onnx(model(shapes))
    for name, extents in wrong.items():
        number = list(shapes).index(name)
        with pytest.raises(OpAttributeInvalid, match=rf"input {number} has to be"):
            from_onnx(model(shapes | {name: extents}))


def test_offsets_and_masks_fit_the_taps_of_a_deformed_convolution() -> None:
    shapes = {"x": [1, 4, 3, 3], "w": [2, 2, 2, 2], "offset": [1, 16, 2, 2], "b": [2],
              "mask": [1, 8, 2, 2]}  # fmt: skip
    wrong: dict[str, list[Any]] = {
        "x": [1, 2, 3, 3], "offset": [1, 8, 2, 2], "b": [3], "mask": [1, 4, 2, 2],
    }  # fmt: skip
    attrs = {"kernel_shape": [2, 2], "pads": [0] * 4, "group": 2, "offset_group": 2}
    _refused("DeformConv", shapes, wrong, **attrs)
    _refused("DeformConv", shapes, {"offset": [1, 16, 3, 2], "mask": [2, 8, 2, 2]}, **attrs)


def test_regions_have_their_numbers() -> None:
    shapes = {"x": [1, 2, 4, 4], "rois": [3, 4], "which": [3]}
    _refused("RoiAlign", shapes, {"rois": [3, 3], "which": [2]}, output_height=2, output_width=2)
    _refused("MaxRoiPool", {"x": [1, 2, 4, 4], "rois": [3, 5]}, {"rois": [3, 4]},
             pooled_shape=[2, 2])  # fmt: skip


def test_patches_are_as_many_as_the_image_has() -> None:
    shapes = {"x": [1, 8, 9], "image": [2], "block": [2]}
    _refused("Col2Im", shapes, {"x": [1, 8, 8]})


def test_each_picture_has_its_places() -> None:
    _refused("GridSample", {"x": [2, 1, 3, 4], "grid": [2, 5, 6, 2]}, {"grid": [1, 5, 6, 2]})
    _refused("GridSample", {"x": [2, 1, 3, 4], "grid": [2, 5, 6, 2]}, {"grid": [2, 5, 6, 3]})
