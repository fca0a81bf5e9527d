"""Attributes and shapes that depend on extents, at several sizes, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tvm
from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm import relax
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
node = helper.make_node
I64, F32 = np.int64, np.float32


def floats(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("float32")


def run(
    nodes: list[Any], shape: list[Any], sizes: list[tuple[int, ...]], opset: int = 18,
    rtol: float = 1e-4, extra: dict[str, list[Any]] | None = None,
    functions: Sequence[Any] = (), **weights: Any,
) -> None:  # fmt: skip
    """Nodes from `x` to `y`, for inputs of these shapes; `extra` gives each run another input."""
    runs = [{"x": floats(*size)} for size in sizes]
    for name, values in (extra or {}).items():
        for one, value in zip(runs, values):
            one[name] = np.asarray(value)
    shapes: dict[str, list[Any]] = {"x": shape}
    constants = {name: np.asarray(value) for name, value in weights.items()}
    model = make_model(nodes, runs[0], ["y"], constants, opset, shapes,
                       {"own": 1} if functions else None, functions)  # fmt: skip
    check_sizes(model, runs, rtol)


@pytest.mark.covering(1)
@pytest.mark.parametrize("op", ["Conv", "MaxPool", "AveragePool"])
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_same_padding_of_symbolic_extents(op: str, mode: str) -> None:
    inputs = ["x", "w"] if op == "Conv" else ["x"]
    weights = {"w": floats(2, 3, 3, 4)} if op == "Conv" else {}
    nodes = [node(op, inputs, ["y"], auto_pad=mode, strides=[2, 3], kernel_shape=[3, 4])]
    run(nodes, ["n", 3, "h", "w_"], [(1, 3, 7, 8), (2, 3, 6, 9), (1, 3, 1, 4)], **weights)


def test_same_padding_of_steps_of_one() -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER")]
    run(nodes, ["n", 3, "h"], [(1, 3, 7), (2, 3, 1)], w=floats(4, 3, 4))


@pytest.mark.covering(1)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    ("kernel", "stride", "pads"), [(1, 2, [0, 0]), (2, 2, [1, 1]), (3, 3, [0, 1])]
)
def test_windows_rounded_up_that_start_behind_the_data(
    op: str, kernel: int, stride: int, pads: list[int]
) -> None:
    nodes = [
        node(op, ["x"], ["y"], kernel_shape=[kernel], strides=[stride], pads=pads, ceil_mode=1)
    ]
    run(nodes, ["n", 2, "w"], [(1, 2, w) for w in (3, 4, 5, 6)], 22)


def test_places_of_the_largest_in_windows_rounded_up() -> None:
    nodes = [node("MaxPool", ["x"], ["z", "y"], kernel_shape=[2, 3], strides=[2, 3],
                  pads=[1, 0, 1, 1], ceil_mode=1)]  # fmt: skip
    run(nodes, ["n", 2, "h", "w"], [(2, 2, h, w) for h, w in ((3, 3), (4, 6), (5, 8))])


def test_layer_norm_whose_scale_has_an_open_extent() -> None:
    nodes = [
        node("ReduceMax", ["x", "first"], ["s"], keepdims=0),
        node("LayerNormalization", ["x", "s"], ["y"], epsilon=0.1),
    ]
    run(nodes, ["m", "n"], [(5, 7), (4, 8), (6, 1)], 18, first=I64([0]))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pads_by_extents(mode: str) -> None:
    """To the next multiple of four, as patches want it."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Mod", ["s", "four"], ["r"]),
        node("Sub", ["four", "r"], ["d"]),
        node("Mod", ["d", "four"], ["after"]),
        node("Concat", ["none", "after"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"], mode=mode),
    ]
    run(nodes, ["m", "n"], [(5, 7), (4, 8), (6, 5)], 19, four=I64([4, 4]), none=I64([0, 0]))


@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_pads_that_the_model_computes(mode: str) -> None:
    nodes = [node("Pad", ["x", "pads"], ["y"], mode=mode)]
    pads = [I64([1, 2, 0, 3]), I64([0, 0, 0, 0]), I64([2, 0, 1, 1])]
    run(nodes, ["m", "n"], [(3, 4), (2, 2), (4, 3)], extra={"pads": pads})


def test_repetitions() -> None:
    nodes = [node("Shape", ["x"], ["s"]), node("Tile", ["x", "s"], ["y"])]
    run(nodes, ["m", "n"], [(2, 3), (1, 4), (3, 1)])
    nodes = [node("Tile", ["x", "t"], ["y"])]
    run(nodes, ["m", "n"], [(2, 3), (1, 4)], extra={"t": [I64([2, 1]), I64([0, 3])]})


@pytest.mark.parametrize("largest", [0, 1])
def test_a_number_of_largest_elements(largest: int) -> None:
    nodes = [
        node("Shape", ["x"], ["s"], start=1),
        node("Div", ["s", "two"], ["k"]),
        node("TopK", ["x", "k"], ["y", "places"], largest=largest),
    ]
    run(nodes, ["m", "n"], [(2, 6), (3, 9)], two=I64([2]))
    nodes = [node("TopK", ["x", "k"], ["y", "places"], largest=largest)]
    run(nodes, ["m", "n"], [(2, 6), (3, 9)], extra={"k": [I64([1]), I64([9])]})


def test_one_hot_of_a_depth_that_is_an_extent() -> None:
    nodes = [
        node("Shape", ["x"], ["s"], start=0, end=1),
        node("OneHot", ["places", "s", "values"], ["y"], axis=0),
    ]
    places = [I64([0, -1, 2]), I64([4, 1, 0])]
    values = np.array([2, 5], "float32")
    run(nodes, ["m", 2], [(3, 2), (5, 2)], extra={"places": places}, values=values)


def test_the_last_of_equal_elements() -> None:
    nodes = [node("ArgMax", ["x"], ["y"], axis=1, select_last_index=1)]
    run(nodes, ["m", "n"], [(2, 3), (1, 7)])


SCALES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("how", SCALES)
def test_resizing_by_a_broken_scale(mode: str, how: str) -> None:
    nodes = [node("Resize", ["x", "", "scales"], ["y"], mode=mode,
                  coordinate_transformation_mode=how)]  # fmt: skip
    scales = np.array([1, 1, 1.7, 0.6], "float32")
    run(nodes, ["n", 2, "h", "w"], [(1, 2, 5, 9), (2, 2, 8, 6)], scales=scales)


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_resizing_to_one_element_between_corners(mode: str) -> None:
    nodes = [
        node("Shape", ["x"], ["all"]),
        node("Sub", ["all", "less"], ["sizes"]),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode,
             coordinate_transformation_mode="align_corners"),
    ]  # fmt: skip
    shapes = [(1, 2, 5, 4), (2, 2, 3, 2), (1, 2, 4, 7)]
    run(nodes, ["n", 2, "h", "w"], shapes, less=I64([0, 0, 2, 1]))


def test_resizing_to_the_extents_of_another() -> None:
    nodes = [
        node("Shape", ["other"], ["s"], start=2),
        node("Shape", ["x"], ["b"], end=2),
        node("Concat", ["b", "s"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear"),
    ]
    others = [floats(1, 1, 7, 3), floats(1, 1, 4, 10)]
    runs = [{"x": floats(2, 3, 5, 6), "other": o} for o in others]
    shapes: dict[str, list[Any]] = {"x": ["n", "c", "h", "w"], "other": [1, 1, "p", "q"]}
    check_sizes(make_model(nodes, runs[0], ["y"], {}, 18, shapes), runs, 1e-4)


def test_scales_that_are_ratios_of_extents() -> None:
    """As exporters write a resize to a size: a ratio of floats, rounded down again."""
    cast = dict(to=TensorProto.FLOAT)
    nodes = [
        node("Shape", ["x"], ["s"], start=2),
        node("Cast", ["s"], ["f"], **cast),
        node("Cast", ["asked"], ["g"], **cast),
        node("Div", ["g", "f"], ["ratio"]),
        node("Concat", ["ones", "ratio"], ["scales"], axis=0),
        node("Resize", ["x", "", "scales"], ["y"], mode="linear",
             coordinate_transformation_mode="pytorch_half_pixel"),
    ]  # fmt: skip
    run(nodes, ["n", 2, "h", "w"], [(1, 2, 5, 9), (1, 2, 11, 3)], asked=I64([7, 9]),
        ones=np.ones(2, "float32"))  # fmt: skip


def test_scales_that_the_model_computes() -> None:
    nodes = [node("Resize", ["x", "", "scales"], ["y"], mode="linear")]
    scales = [np.array([1, 2.5, 1.5], "float32"), np.array([1, 1, 0.5], "float32")]
    run(nodes, ["n", "h", "w"], [(1, 5, 9), (2, 3, 4)], extra={"scales": scales})


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_a_ratio_that_is_kept(policy: str) -> None:
    nodes = [node("Resize", ["x", "", "", "asked"], ["y"], mode="linear", axes=[2, 3],
                  keep_aspect_ratio_policy=policy)]  # fmt: skip
    run(nodes, ["n", 1, "h", "w"], [(1, 1, 5, 9), (2, 1, 8, 3)], asked=I64([6, 7]))


def test_shape_arithmetic_in_floats() -> None:
    """floor(extent * 0.3) + 1, and half an extent, as sizes of slices."""
    cast = dict(to=TensorProto.FLOAT)
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Cast", ["s"], ["f"], **cast),
        node("Mul", ["f", "part"], ["p"]),
        node("Floor", ["p"], ["q"]),
        node("Cast", ["q"], ["e"], to=TensorProto.INT64),
        node("Add", ["e", "one"], ["end"]),
        node("Slice", ["x", "zero", "end"], ["y"]),
    ]
    part = np.array([0.3, 0.5], "float32")
    run(nodes, ["m", "n"], [(7, 5), (20, 8), (1, 1)], part=part, one=I64([1, 1]), zero=I64([0, 0]))


def test_choices_by_extents() -> None:
    """Where, Equal and Max on a shape; an int32 shape as data."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Equal", ["s", "three"], ["same"]),
        node("Where", ["same", "one", "s"], ["chosen"]),
        node("Max", ["chosen", "two"], ["asked"]),
        node("Expand", ["column", "asked"], ["wide"]),
        node("Cast", ["s"], ["i"], to=TensorProto.INT32),
        node("Cast", ["i"], ["j"], to=TensorProto.FLOAT),
        node("ReduceSum", ["j"], ["sum"], keepdims=0),
        node("Add", ["wide", "sum"], ["y"]),
    ]
    run(nodes, ["m", "n"], [(3, 5), (4, 3), (1, 1)], three=I64([3]), one=I64([1]), two=I64([2]),
        column=floats(1, 1))  # fmt: skip


def test_moved_shapes() -> None:
    """A shape that is split, put into another and turned round."""
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Split", ["s"], ["a", "b"], axis=0, num_outputs=2),
        node("ScatterND", ["ones", "at", "b"], ["t"]),
        node("Reshape", ["t", "square"], ["u"]),
        node("Transpose", ["u"], ["v"]),
        node("Reshape", ["v", "flat"], ["w"]),
        node("ConstantOfShape", ["w"], ["c"]),
        node("ReduceSum", ["x"], ["total"], keepdims=0),
        node("Add", ["c", "total"], ["y"]),
    ]
    run(nodes, ["m", "n", "k", "l"], [(1, 2, 3, 4), (2, 1, 1, 5)], ones=np.ones(4, I64),
        at=I64([[1], [2]]), square=I64([2, 2]), flat=I64([4]))  # fmt: skip


def test_a_count_of_elements() -> None:
    nodes = [
        node("Size", ["x"], ["c"]),
        node("Reshape", ["c", "row"], ["r"]),
        node("Reshape", ["x", "r"], ["y"]),
    ]
    run(nodes, ["m", "n"], [(2, 3), (4, 1)], row=I64([1]))


def test_nodes_in_any_order() -> None:
    nodes = [node("Relu", ["b"], ["y"]), node("Neg", ["a"], ["b"]), node("Exp", ["x"], ["a"])]
    run(nodes, ["m"], [(3,), (5,)])


def test_nodes_whose_inputs_need_one_another_in_any_order() -> None:
    nodes = [
        node("Mul", ["a", "b"], ["y"]), node("Sigmoid", ["a"], ["b"]),
        node("Add", ["c", "d"], ["a"]), node("Neg", ["c"], ["d"]), node("Exp", ["x"], ["c"]),
    ]  # fmt: skip
    run(nodes, ["m"], [(3,), (5,)])
    run(nodes[::-1], ["m"], [(3,), (5,)])


def test_branches_of_different_ranks() -> None:
    """As exporters write a squeeze of an extent that may be 1; all that comes behind forks."""
    squeezed = helper.make_graph([node("Squeeze", ["x", "first"], ["s"])], "one", [], [
        helper.make_empty_tensor_value_info("s")])  # fmt: skip
    kept = helper.make_graph([node("Identity", ["x"], ["t"])], "more", [], [
        helper.make_empty_tensor_value_info("t")])  # fmt: skip
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Equal", ["n", "one"], ["is_one"]),
        node("If", ["is_one"], ["z"], then_branch=squeezed, else_branch=kept),
        node("Add", ["z", "z"], ["two"]),
        node("ReduceSum", ["two", "last"], ["y"], keepdims=0),
    ]
    run(nodes, ["m", "n"], [(1, 3), (2, 3)], first=I64([0]), one=I64([1]), last=I64([-1]))


@pytest.mark.covering(1)
@pytest.mark.parametrize(("op", "options"), [
    ("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}),
])  # fmt: skip
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_planes_are_halved_as_keras_does(op: str, options: Any, mode: str) -> None:
    nodes = [node(op, ["x"], ["y"], auto_pad=mode, strides=[2, 2], kernel_shape=[2, 2], **options)]
    sizes = [(1, 2, 4, 5), (2, 2, 5, 4), (1, 2, 1, 3), (1, 2, 7, 1)]
    run(nodes, ["n", 2, "h", "w"], sizes)
    run(nodes, ["n", 2, 5, "w"], [(1, 2, 5, 4), (2, 2, 5, 7)])


def test_pools_that_halve_copy_nothing() -> None:
    pool = node("MaxPool", ["x"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2], kernel_shape=[2, 2])
    model = make_model([pool], {"x": floats(1, 2, 4, 4)}, ["y"], {}, 18, {"x": [1, 2, "h", "w"]})
    assert "R.nn.max_pool2d" in from_onnx(model).script()
    assert "call_tir" not in from_onnx(model).script()


POOLS = [("MaxPool", {}), ("AveragePool", {}), ("AveragePool", {"count_include_pad": 1}),
         ("LpPool", {})]  # fmt: skip


@pytest.mark.covering(1)
@pytest.mark.parametrize(("op", "options"), POOLS)
@pytest.mark.parametrize("strides", [[2, 2], [3, 1], [1, 3]])
def test_pools_over_planes_smaller_than_their_window(op: str, options: Any, strides: Any) -> None:
    """Runtimes divide towards zero: there is one window, of what there is, for strides above 1."""
    pool = node(op, ["x"], ["y"], kernel_shape=[3, 3], strides=strides, **options)
    for size in ((1, 2, 2, 4), (1, 2, 4, 2), (1, 2, 3, 3)):
        run([pool], list(size), [size])
    small = [(1, 2, 3 - (strides[0] > 1), 4), (2, 2, 5, 3 - (strides[1] > 1))]
    run([pool], ["n", 2, "h", "w"], [*small, (1, 2, 3, 3), (2, 2, 4, 5), (1, 2, 7, 8)])


@pytest.mark.parametrize(("op", "options"), POOLS)
def test_halves_of_open_planes_of_one_row(op: str, options: Any) -> None:
    pool = node(op, ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], **options)
    run([pool], ["n", 2, "h", "w"], [(1, 2, 1, 1), (2, 2, 1, 5), (1, 2, 4, 1), (1, 2, 5, 6)])


@pytest.mark.parametrize(("op", "options"), POOLS)
def test_open_planes_have_to_hold_a_window(op: str, options: Any) -> None:
    """But for less than a step."""
    pool = node(op, ["x"], ["y"], "pool", kernel_shape=[3, 3], strides=[2, 2], **options)
    model = make_model([pool], {"x": floats(1, 2, 4, 4)}, ["y"], {}, 18, {"x": [1, 2, "h", "w"]})
    machine = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises(TVMError, match=r"source=pool.*expects extent 1"):
        machine["main"](tvm.runtime.tensor(floats(1, 2, 1, 4)))


def _convolved(extents: list[Any], **options: Any) -> Any:
    conv = node("Conv", ["x", "w"], ["y"], "conv", **options)
    given = {"x": floats(1, 2, 4, 4)}
    return make_model([conv], given, ["y"], {"w": floats(3, 2, 3, 3)}, 18, {"x": extents})


@pytest.mark.parametrize("options", [{}, {"strides": [2, 2]}, {"auto_pad": "VALID"}])
def test_planes_smaller_than_a_kernel_are_refused(options: Any) -> None:
    with pytest.raises(TVMError, match=r"extent 3 of input 0(.|\n)*3, which holds one kernel"):
        from_onnx(_convolved([1, 2, 4, 2], **options))
    mod = from_onnx(_convolved([1, 2, "h", "w"], **options))
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    assert machine["main"](tvm.runtime.tensor(floats(1, 2, 3, 3))).shape == (1, 3, 1, 1)
    with pytest.raises(TVMError, match=r"source=conv.*expects extent 2"):
        machine["main"](tvm.runtime.tensor(floats(1, 2, 2, 4)))


@pytest.mark.parametrize("options", [
    {}, {"pads": [1, 0, 1, 2]}, {"auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER", "strides": [2, 1]}, {"dilations": [1, 2]}, {"auto_pad": "VALID"},
])  # fmt: skip
def test_kernels_of_open_extents(options: Any) -> None:
    conv = node("Conv", ["x", "w"], ["y"], **options)
    runs = [{"x": floats(1, 2, 8, 9), "w": floats(3, 2, *kernel)}
            for kernel in ((3, 3), (2, 4), (1, 1))]  # fmt: skip
    open_ = {"x": [1, 2, "h", "w"], "w": [3, 2, "a", "b"]}
    check_sizes(make_model([conv], runs[0], ["y"], {}, 18, open_), runs, 1e-4)


@pytest.mark.parametrize("sizes", [["m", "n"], ["m", 1, "n"], [1, "m"]])
def test_a_squeeze_of_all_that_is_one(sizes: list[Any]) -> None:
    """Open extents may be 1: what comes behind sees each of the ranks."""
    nodes = [
        node("Squeeze", ["x"], ["s"]),
        node("Mul", ["s", "two"], ["t"]),
        node("ReduceSum", ["t"], ["y"], keepdims=1),
    ]
    shapes = [(1, 3), (2, 3), (3, 1), (1, 1)]
    given = [tuple(dict(zip("mn", s)).get(d, d) for d in sizes) for s in shapes]
    run(nodes, sizes, given, two=F32(2))


@pytest.mark.parametrize("op", ["Squeeze", "Unsqueeze"])
@pytest.mark.parametrize("dims", [[1, 3, 1, 2], [1, "n", 1, 2]])
def test_axes_of_one_that_the_model_computes(op: str, dims: list[Any]) -> None:
    nodes = [node(op, ["x", "axes"], ["s"]), node("Mul", ["s", "two"], ["y"])]
    axes = [[0, 2], [-2, 0], [2, -4]] if op == "Squeeze" else [[0, 1], [-1, 2], [5, 0]]
    sizes = [(1, 3, 1, 2)] * 3
    run(nodes, dims, sizes, extra={"axes": [np.array(a, I64) for a in axes]}, two=F32(2))


def test_a_scalar_with_axes_that_the_model_computes() -> None:
    nodes = [node("Unsqueeze", ["x", "axes"], ["y"])]
    run(nodes, [], [(), ()], extra={"axes": [np.array(a, I64) for a in ([0, 1], [1, 0])]})


def test_slices_along_axes_and_in_steps_that_the_model_computes() -> None:
    nodes = [node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])]
    far = 2**62
    given = {
        "starts": [[1, 0], [-1, 2], [far, 1]], "ends": [[far, 2], [-far, far], [0, -far]],
        "axes": [[0, 1], [-1, 0], [2, 1]], "steps": [[1, 1], [-1, 2], [-2, -1]],
    }  # fmt: skip
    extra: dict[str, list[Any]] = {
        name: [np.array(value, I64) for value in values] for name, values in given.items()
    }
    run(nodes, ["n", 3, 4], [(3, 3, 4), (4, 3, 4), (2, 3, 4)], extra=extra)


def test_steps_backward_between_bounds_that_the_model_computes() -> None:
    nodes = [node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])]
    extra: dict[str, list[Any]] = {
        "starts": [np.array([n], I64) for n in (3, -1)],
        "ends": [np.array([n], I64) for n in (0, -9)],
    }
    run(nodes, [2, 4], [(2, 4), (2, 4)], extra=extra, axes=np.array([1]), steps=np.array([-2]))


def graph(nodes: Sequence[Any], output: str, inputs: Sequence[Any] = ()) -> Any:
    return helper.make_graph(list(nodes), "within", list(inputs), [
        helper.make_empty_tensor_value_info(output)])  # fmt: skip


def squeezed_or_not(source: str, target: str, condition: str) -> Any:
    """Without the first axis, or with it."""
    return node("If", [condition], [target],
                then_branch=graph([node("Squeeze", [source, "first"], ["s"])], "s"),
                else_branch=graph([node("Identity", [source], ["t"])], "t"))  # fmt: skip


IS_ONE = [node("Shape", ["x"], ["n"], start=0, end=1), node("Equal", ["n", "one"], ["is_one"])]
LAST = node("ReduceSum", ["z", "last"], ["y"], keepdims=0)
NUMBERS = {"first": I64([0]), "one": I64([1]), "last": I64([-1])}


def test_ranks_that_differ_in_a_branch_of_a_branch() -> None:
    """With values of outside, and nodes of the branch behind the inner one."""
    inner = [squeezed_or_not("x", "a", "is_one"), node("Mul", ["a", "x"], ["b"]),
             node("ReduceMax", ["b", "last"], ["c"], keepdims=1)]  # fmt: skip
    nodes = [
        *IS_ONE, node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("Greater", ["sum", "zero"], ["up"]),
        node("If", ["up"], ["z"], then_branch=graph(inner, "c"),
             else_branch=graph([squeezed_or_not("x", "d", "is_one")], "d")),
        LAST,
    ]  # fmt: skip
    run(nodes, ["m", "n"], [(1, 3), (2, 3), (3, 1), (1, 4)], zero=F32(0), **NUMBERS)


def test_ranks_that_differ_in_the_body_of_a_loop() -> None:
    """What the body gives has one rank again."""
    body = helper.make_graph(
        [squeezed_or_not("x", "a", "is_one"), node("Add", ["a", "a"], ["b"]),
         node("ReduceSum", ["b"], ["c"], keepdims=0), node("Add", ["v", "c"], ["w"]),
         node("Identity", ["go"], ["on"])],
        "body",
        [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("go", 9, []),
         helper.make_tensor_value_info("v", 1, [])],
        [helper.make_empty_tensor_value_info("on"), helper.make_empty_tensor_value_info("w")],
    )  # fmt: skip
    nodes = [
        *IS_ONE, node("Squeeze", ["n"], ["count"]),
        node("Loop", ["count", "", "start"], ["y"], body=body),
    ]  # fmt: skip
    run(nodes, ["m", "n"], [(1, 3), (2, 3), (4, 1)], start=F32(0), **NUMBERS)


def test_ranks_that_differ_in_a_function() -> None:
    squeeze = helper.make_function(
        "own", "Squeezed", ["x", "is_one", "first"], ["z"],
        [squeezed_or_not("x", "a", "is_one"), node("Neg", ["a"], ["z"])],
        [helper.make_opsetid("", 18)],
    )  # fmt: skip
    call = node("Squeezed", ["x", "is_one", "first"], ["z"], domain="own")
    run([*IS_ONE, call, LAST], ["m", "n"], [(1, 3), (2, 3)], functions=[squeeze], **NUMBERS)


@pytest.mark.parametrize("given", ["known", "input"])
def test_indices_from_the_end_of_open_extents(given: str) -> None:
    """The last rows, elements and places, wherever they are."""
    nodes = [
        node("Gather", ["x", "last"], ["a"], axis=1),  # (n, 2)
        node("GatherElements", ["x", "own"], ["b"], axis=1),  # (1, 2)
        node("GatherND", ["x", "pairs"], ["c"]),  # (2)
        node("ScatterND", ["x", "pairs", "two"], ["d"]),
        node("ScatterElements", ["d", "own", "b"], ["e"], axis=1),
        node("Gather", ["e", "first"], ["f"], axis=0),
        node("Mul", ["a", "b"], ["ab"]), node("Mul", ["ab", "c"], ["abc"]),
        node("ReduceSum", ["f"], ["g"]), node("Add", ["abc", "g"], ["y"]),
    ]  # fmt: skip
    indices = {"last": np.array([-1, 0], I64), "own": np.array([[-2, 1]], I64),
               "pairs": np.array([[-1, 0], [0, -2]], I64)}  # fmt: skip
    sizes = [(2, 3), (3, 2), (5, 4)]
    known = indices if given == "known" else {}
    extra = {} if known else {key: [value] * len(sizes) for key, value in indices.items()}
    run(nodes, ["n", "m"], sizes, extra=extra, two=np.array([3, 5], F32),
        first=np.array([0, 0, -1]), **known)  # fmt: skip


OPEN = [
    (node("TopK", ["x", "n"], ["y", "i"], axis=0), ["y", "i"], np.array([2])),
    (node("Tile", ["x", "n"], ["y"]), ["y"], np.array([1, 2])),
    (node("Pad", ["x", "n"], ["y"]), ["y"], np.array([0, 1, 2, 0])),
    (node("Split", ["x", "n"], ["y", "i"]), ["y", "i"], np.array([1, 2])),
    (node("Resize", ["x", "", "n"], ["y"]), ["y"], np.array([2, 1], "float32")),
]


@pytest.mark.parametrize(("made", "outputs", "numbers"), OPEN)
def test_lists_of_sizes_of_open_length(made: Any, outputs: list[str], numbers: Array) -> None:
    """How many there are follows from the rank or the outputs; it is checked as it runs."""
    inputs = {"x": floats(3, 4), "n": numbers}
    model = make_model([made], inputs, outputs, opset=18, shapes={"x": ["a", "b"], "n": ["k"]})
    check_sizes(model, [inputs])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises((TVMError, ValueError)):
        vm["main"](inputs["x"], np.concatenate([numbers, numbers, numbers]))


def test_an_axis_that_running_tells() -> None:
    shapes = {"x": ["a", "b"], "axis": []}
    inputs = {"x": floats(3, 4), "axis": np.array(1)}
    model = make_model([node("CumSum", ["x", "axis"], ["y"])], inputs, ["y"], shapes=shapes)
    check_sizes(model, [{"x": floats(3, 4), "axis": np.array(axis)} for axis in (0, 1, -1, -2)])
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises((TVMError, ValueError)):
        vm["main"](inputs["x"], np.array(2))
