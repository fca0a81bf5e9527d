"""Control flow and functions: branches, loops, scans, bodies; against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tests.relax.frontend.onnx.models import Array, check, check_sizes, make_model, run_compiled
from tvm import relax
from tvm.error import OpAttributeInvalid, OpNotImplemented, TVMError
from tvm.relax.expr import Function, If
from tvm.relax.expr_functor import PyExprVisitor, visitor
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.graph import OpConversionError
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
node, F, I64, B = helper.make_node, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
RNG = np.random.default_rng(3)


def _info(name: str, kind: int = F, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _graph(nodes: Any, inputs: Any, outputs: Any, weights: Any = None) -> onnx.GraphProto:
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    return helper.make_graph(nodes, "inner", inputs, outputs, tensors)


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


@visitor
class _Branches(PyExprVisitor):
    """Counts the branches of a function."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def visit_if_(self, op: If) -> None:
        self.count += 1
        super().visit_if_(op)


def _branches(mod: tvm.IRModule) -> int:
    counter = _Branches()
    for func in mod.functions.values():
        if isinstance(func, Function):
            counter.visit_expr(func)
    return counter.count


# --- branches ---


def _if_model(known: bool) -> onnx.ModelProto:
    """Twice x, or x + w; w stands outside of the branches, x too."""
    then = _graph([node("Add", ["x", "x"], ["a"])], [], [_info("a")])
    other = _graph([node("Add", ["x", "w"], ["b"])], [], [_info("b")])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    inputs = {"x": np.ones((2, 3), "float32")}
    weights = {"w": np.full(3, 5, "float32")}
    if known:
        weights["c"] = np.array(True)
    else:
        inputs["c"] = np.array(True)
    return make_model(nodes, inputs, ["y"], weights)


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_is_taken_as_the_model_runs(condition: bool) -> None:
    model = _if_model(known=False)
    assert _branches(from_onnx(model)) == 1
    check(model, {"x": _floats(2, 3), "c": np.array(condition)})


def test_a_known_condition_leaves_one_branch() -> None:
    model = _if_model(known=True)
    assert _branches(from_onnx(model)) == 0
    check(model, {"x": _floats(2, 3)})


@pytest.mark.parametrize("condition", [True, False])
def test_branches_of_different_extents(condition: bool) -> None:
    then = _graph([node("Concat", ["x", "x"], ["a"], axis=0)], [], [_info("a")])
    other = _graph([node("Relu", ["x"], ["b"])], [], [_info("b")])
    nodes = [
        node("If", ["c"], ["z"], then_branch=then, else_branch=other),
        node("Add", ["z", "z"], ["y"]),
    ]
    inputs = {"x": _floats(2, 3), "c": np.array([condition])}
    check(make_model(nodes, inputs, ["y"]), inputs)


@pytest.mark.parametrize("condition", [True, False])
def test_branches_within_branches_with_two_outputs(condition: bool) -> None:
    deep = _graph([node("Neg", ["a"], ["d"])], [], [_info("d")])
    flat = _graph([node("Abs", ["a"], ["e"])], [], [_info("e")])
    then = _graph(
        [node("Exp", ["x"], ["a"]), node("If", ["k"], ["f"], then_branch=deep, else_branch=flat)],
        [], [_info("a"), _info("f")],
    )  # fmt: skip
    other = _graph(
        [node("Sin", ["x"], ["g"]), node("Cos", ["x"], ["h"])], [], [_info("g"), _info("h")]
    )
    nodes = [node("If", ["c"], ["y", "z"], then_branch=then, else_branch=other)]
    inputs = {"x": _floats(3), "c": np.array(condition), "k": np.array(not condition)}
    model = make_model(nodes, inputs, ["y", "z"])
    check(model, inputs)
    mod = from_onnx(model)
    got = Interpreter(mod).run("main", *inputs.values())
    for one, other_one in zip(got, run_compiled(model, inputs)):
        np.testing.assert_allclose(one, other_one, rtol=1e-5)


def test_a_branch_that_cannot_be_is_a_check() -> None:
    """As exporters write it where a dimension is dropped if it is 1: the layer takes only that."""
    squeezed = _graph([node("Squeeze", ["x", "last"], ["a"])], [], [_info("a")])
    kept = _graph([node("Identity", ["x"], ["b"])], [], [_info("b")])
    nodes = [
        node("Shape", ["x"], ["s"], start=2), node("Squeeze", ["s"], ["e"]),
        node("Equal", ["e", "one"], ["c"]),
        node("If", ["c"], ["y"], then_branch=squeezed, else_branch=kept),
        node("Transpose", ["y"], ["z"], name="turned", perm=[1, 0]),
    ]  # fmt: skip
    weights = {"last": np.array([-1]), "one": np.array(1)}
    model = make_model(nodes, {"x": _floats(3, 4, 1)}, ["z"], weights,
                       shapes={"x": ["n", 4, "m"]})  # fmt: skip
    mod = from_onnx(model)
    assert _branches(mod) == 0
    assert relax.analysis.well_formed(mod)
    assert not mod["main"].is_pure  # a check is an effect
    executable = tvm.compile(mod, "llvm")
    assert "main" in executable.artefact.profile_calls  # native code
    run = relax.VirtualMachine(executable, tvm.cpu())["main"]
    x = _floats(3, 4, 1)
    np.testing.assert_array_equal(run(x).numpy(), x[..., 0].T)
    with pytest.raises(AssertionError, match="turned"):
        run(_floats(3, 4, 2))


def test_a_check_in_a_loop_makes_the_loop_and_its_caller_impure() -> None:
    turned = _graph([node("Transpose", ["v"], ["t"], name="turned", perm=[0, 1])], [], [_info("t")])
    kept = _graph([node("Identity", ["v"], ["k"])], [], [_info("k")])
    body = _graph(
        [
            node("Less", ["i", "limit"], ["small"]),
            node("If", ["small"], ["same"], then_branch=kept, else_branch=turned),
            node("Add", ["same", "x"], ["new"]),
            node("Identity", ["c"], ["go"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new")],
        {"limit": np.array(3, "int64")},
    )
    inputs = {"x": _floats(3), "m": np.array(2, "int64"), "c0": np.array(True)}
    model = make_model([node("Loop", ["m", "c0", "x"], ["y"], body=body)], inputs, ["y"], {})
    mod = from_onnx(model)
    assert relax.analysis.well_formed(mod)
    pure = {var.name_hint: func.is_pure for var, func in mod.functions.items()}
    assert len(pure) == 2
    assert not any(pure.values()), mod
    run = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["main"]
    np.testing.assert_allclose(run(*inputs.values()).numpy(), 3 * inputs["x"], rtol=1e-6)
    with pytest.raises(AssertionError, match="turned"):
        run(inputs["x"], np.array(5, "int64"), np.array(True))


# --- loops ---


def _power_loop(weights: dict[str, Array], inputs: dict[str, Array]) -> onnx.ModelProto:
    """v = v * x while its sum is below a limit; each v is collected."""
    body = _graph(
        [
            node("Mul", ["v", "x"], ["new"]),
            node("ReduceSum", ["new"], ["total"], keepdims=0),
            node("Less", ["total", "limit"], ["go"]),
            node("Cast", ["i"], ["f"], to=F),
            node("Add", ["new", "f"], ["seen"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new", F, [3]), _info("seen", F, [3])],
        {"limit": np.float32(1000)},
    )
    nodes = [node("Loop", ["m", "c0", "x"], ["y", "rows"], body=body)]
    return make_model(nodes, inputs, ["y", "rows"], weights)


@pytest.mark.parametrize("count", [0, 1, 3, 40])
def test_a_loop_ends_by_its_count_or_its_condition(count: int) -> None:
    inputs = {
        "x": np.array([1.5, 2, 0.5], "float32"), "m": np.array(count, "int64"),
        "c0": np.array(True),
    }  # fmt: skip
    model = _power_loop({}, inputs)
    check(model, inputs)
    got = Interpreter(from_onnx(model)).run("main", *inputs.values())
    np.testing.assert_allclose(got[0], run_compiled(model, inputs)[0], rtol=1e-5)


def test_a_loop_without_a_count() -> None:
    inputs = {"x": np.array([1.5, 2, 0.5], "float32"), "c0": np.array(True)}
    model = _power_loop({}, {**inputs, "m": np.array(0, "int64")})
    model.graph.node[0].input[0] = ""
    del model.graph.input[2]
    check(model, inputs)


def test_a_loop_that_starts_if_an_extent_allows() -> None:
    """As frameworks write recurrent layers: while the turn is below an extent of the data."""
    x = np.arange(6, dtype="float32").reshape(3, 2)
    nodes = [
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node("Squeeze", ["shape"], ["rows"]),
        node("Less", ["zero", "rows"], ["first"]),
        node("Loop", ["", "first", "zero", "none"], ["turns", "total"], body=_rows()),
    ]
    weights = {"zero": np.array(0), "none": np.zeros(2, "float32"), "one": np.array(1)}
    shapes = {"x": ["rows", 2]}
    model = make_model(nodes, {"x": x}, ["turns", "total"], weights, shapes=shapes)
    check_sizes(model, [{"x": x}, {"x": x[:1]}, {"x": x[:0]}])


def _rows() -> onnx.GraphProto:
    """A graph that adds the row of its turn, and goes on while there are more."""
    nodes = [
        node("Gather", ["x", "at"], ["row"], axis=0), node("Add", ["sum", "row"], ["more"]),
        node("Add", ["at", "one"], ["next"]), node("Less", ["next", "rows"], ["go"]),
    ]  # fmt: skip
    given = [_info("turn", I64, []), _info("was", B, []), _info("at", I64, []),
             _info("sum", F, [2])]  # fmt: skip
    found = [_info("go", B, []), _info("next", I64, []), _info("more", F, [2])]
    return helper.make_graph(nodes, "rows", given, found)


def test_a_loop_that_never_starts() -> None:
    inputs = {"x": _floats(3), "m": np.array(5, "int64"), "c0": np.array(False)}
    model = _power_loop({}, inputs)
    check(model, inputs)


def _counting_loop(count: int) -> onnx.ModelProto:
    """v = v + i + w, for a known number of turns."""
    body = _graph(
        [
            node("Cast", ["i"], ["f"], to=F),
            node("Add", ["v", "f"], ["a"]),
            node("Add", ["a", "w"], ["new"]),
            node("Identity", ["c"], ["go"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new")],
    )
    weights = {"m": np.array(count, "int64"), "c0": np.array(True), "w": np.ones(3, "float32")}
    nodes = [node("Loop", ["m", "c0", "x"], ["y"], body=body)]
    return make_model(nodes, {"x": np.zeros(3, "float32")}, ["y"], weights)


@pytest.mark.parametrize(("count", "functions"), [(4, 0), (1000, 1)])
def test_few_turns_are_written_out(count: int, functions: int) -> None:
    """Many are a function that ends by calling itself."""
    model = _counting_loop(count)
    mod = from_onnx(model)
    made = [v.name_hint for v, f in mod.functions.items() if isinstance(f, Function)]
    assert len(made) == 1 + functions, made
    check(model, {"x": _floats(3)})


def _stacking_loop(known: bool) -> onnx.ModelProto:
    """Collects v * i for m turns; v is halved."""
    body = _graph(
        [
            node("Cast", ["i"], ["f"], to=F), node("Mul", ["v", "f"], ["row"]),
            node("Mul", ["v", "half"], ["new"]), node("Identity", ["c"], ["go"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new"), _info("row", F, [3])],
        {"half": np.float32(0.5)},
    )  # fmt: skip
    weights = {"m": np.array(600, "int64")} if known else {}
    inputs = {"x": np.zeros(3, "float32"), **({} if known else {"m": np.array(0, "int64")})}
    nodes = [node("Loop", ["m", "", "x"], ["y", "rows"], body=body)]
    return make_model(nodes, inputs, ["y", "rows"], weights)


def test_rows_are_written_into_place() -> None:
    """Where it is known how many there are, or told before the first turn."""
    model = _stacking_loop(known=True)
    check(model, {"x": _floats(3)})
    assert "call_tir_inplace" in str(from_onnx(model))
    for count in (0, 1, 9, -1):
        check(_stacking_loop(known=False), {"x": _floats(3), "m": np.array(count, "int64")})


def test_many_turns_are_quick_to_start() -> None:
    """A hundred thousand turns are one loop of native code."""
    model = _counting_loop(100_000)
    machine = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    found = machine["main"](np.zeros(3, "float32")).numpy()
    wanted = np.float32(0)
    for i in range(100_000):
        wanted = wanted + np.float32(i) + np.float32(1)
    np.testing.assert_array_equal(found, np.full(3, wanted))


def test_state_that_grows() -> None:
    body = _graph(
        [node("Concat", ["v", "row"], ["new"], axis=0), node("Identity", ["c"], ["go"])],
        [_info("i", I64, []), _info("c", B, []), _info("v", F, [None, 2])],
        [_info("go", B, []), _info("new", F, [None, 2])],
    )
    inputs = {"v0": _floats(1, 2), "row": _floats(1, 2), "m": np.array(5, "int64")}
    nodes = [node("Loop", ["m", "", "v0"], ["y"], body=body)]
    check(make_model(nodes, inputs, ["y"]), inputs)


def test_slices_by_the_number_of_the_turn() -> None:
    body = _graph(
        [
            node("Unsqueeze", ["i", "zero"], ["start"]),
            node("Add", ["start", "one"], ["end"]),
            node("Slice", ["x", "start", "end"], ["row"]),
            node("Add", ["v", "row"], ["new"]),
            node("Identity", ["c"], ["go"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new")],
        {"zero": np.array([0]), "one": np.array([1])},
    )
    inputs = {"x": _floats(6, 2), "v0": np.zeros((1, 2), "float32"), "m": np.array(5, "int64")}
    nodes = [node("Loop", ["m", "", "v0"], ["y"], body=body)]
    check(make_model(nodes, inputs, ["y"]), inputs)


def test_loops_within_loops() -> None:
    inner = _graph(
        [node("Add", ["u", "x"], ["unew"]), node("Identity", ["c2"], ["go2"])],
        [_info("j", I64, []), _info("c2", B, []), _info("u")],
        [_info("go2", B, []), _info("unew")],
    )
    outer = _graph(
        [
            node("Loop", ["n", "", "v"], ["summed"], body=inner),
            node("Mul", ["summed", "half"], ["new"]),
            node("Identity", ["c"], ["go"]),
        ],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new"), _info("summed")],
        {"half": np.float32(0.5)},
    )
    inputs = {"x": _floats(3), "m": np.array(3, "int64"), "n": np.array(20, "int64")}
    nodes = [node("Loop", ["m", "", "x"], ["y", "seen"], body=outer)]
    check(make_model(nodes, inputs, ["y", "seen"]), inputs)


def test_state_may_not_change_its_type() -> None:
    body = _graph(
        [node("Cast", ["v"], ["new"], to=TensorProto.DOUBLE), node("Identity", ["c"], ["go"])],
        [_info("i", I64, []), _info("c", B, []), _info("v")],
        [_info("go", B, []), _info("new")],
    )
    inputs = {"x": _floats(3), "m": np.array(3, "int64")}
    model = make_model([node("Loop", ["m", "", "x"], ["y"], body=body)], inputs, ["y"])
    with pytest.raises(OpAttributeInvalid, match="one type and one rank in all turns"):
        from_onnx(model)


# --- scans ---


def _scan(inputs: dict[str, Array], shapes: Any = None, **attrs: Any) -> onnx.ModelProto:
    body = _graph(
        [node("Add", ["s", "row"], ["new"]), node("Mul", ["new", "scale"], ["out"])],
        [_info("s"), _info("row")], [_info("new"), _info("out")],
    )  # fmt: skip
    nodes = [node("Scan", ["s0", "x"], ["y", "rows"], body=body, num_scan_inputs=1, **attrs)]
    weights = {"scale": np.float32(2)}
    return make_model(nodes, inputs, ["y", "rows"], weights, shapes=shapes)


@pytest.mark.parametrize(
    "attrs",
    [
        {}, {"scan_input_directions": [1]}, {"scan_output_directions": [1]},
        {"scan_input_axes": [1], "scan_output_axes": [-1]},
    ],
)  # fmt: skip
def test_scan(attrs: dict[str, Any]) -> None:
    inputs = {"s0": np.zeros(3, "float32"), "x": _floats(3, 3)}
    check(_scan(inputs, **attrs), inputs)


@pytest.mark.parametrize("rows", [1, 5])
def test_scan_over_an_unknown_number_of_rows(rows: int) -> None:
    inputs = {"s0": np.zeros(3, "float32"), "x": _floats(rows, 3)}
    model = _scan(inputs, {"x": ["n", 3]})
    check(model, inputs)


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_scan_whose_rows_are_told_by_a_turn(rows: int) -> None:
    inputs = {"s0": np.zeros((1, 3), "float32"), "x": _floats(rows, 1, 3)}
    model = _scan(inputs, {"s0": ["a", "b"], "x": ["n", "c", "d"]})
    mod = from_onnx(model)
    last, seen = Interpreter(mod).run("main", *inputs.values())
    wanted = np.cumsum(inputs["x"], 0)
    np.testing.assert_allclose(last, wanted[-1] if rows else inputs["s0"], rtol=1e-6)
    np.testing.assert_allclose(seen.reshape(wanted.shape), 2 * wanted, rtol=1e-6)


def test_turns_that_collect_values_of_other_shapes_are_refused_when_they_run() -> None:
    """As many elements do not make (3, 2) what (2, 3) is."""
    nodes = [
        node("Add", ["i", "two"], ["a"]), node("Sub", ["three", "i"], ["b"]),
        node("Unsqueeze", ["a", "front"], ["a1"]), node("Unsqueeze", ["b", "front"], ["b1"]),
        node("Concat", ["a1", "b1"], ["shape"], axis=0), node("Reshape", ["x", "shape"], ["y"]),
        node("Identity", ["go"], ["on"]),
    ]  # fmt: skip
    weights = {"two": np.int64(2), "three": np.int64(3), "front": np.int64([0])}
    body = _graph(
        nodes, [_info("i", I64, []), _info("go", B, [])],
        [_info("on", B, []), _info("y")], {k: np.asarray(v) for k, v in weights.items()},
    )  # fmt: skip
    loop = node("Loop", ["n", "go_on"], ["out"], body=body)
    inputs = {"n": np.asarray(np.int64(1)), "x": _floats(6)}
    model = make_model([loop], inputs, ["out"], weights={"go_on": np.asarray(True)})
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), target="llvm"), tvm.cpu())
    found = vm["main"](*inputs.values()).numpy()
    np.testing.assert_array_equal(found, inputs["x"].reshape(1, 2, 3))
    with pytest.raises(AssertionError, match="the shape of the first turn's"):
        vm["main"](np.asarray(np.int64(2)), inputs["x"])


# --- functions ---


def _scaled_sum() -> onnx.FunctionProto:
    body = [
        helper.make_node("Add", ["a", "b"], ["t"]),
        helper.make_node("LeakyRelu", ["t"], ["c"]),
    ]
    body[1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    return helper.make_function(
        "own", "Sum2", ["a", "b"], ["c"], body, [helper.make_opsetid("", 17)], ["slope"]
    )


def test_functions_of_the_model() -> None:
    inputs = {"x": _floats(2, 3)}
    nodes = [
        node("Sum2", ["x", "x"], ["z"], domain="own", slope=0.25),
        node("Sum2", ["z", "x"], ["y"], domain="own", slope=0.5),
    ]
    model = make_model(nodes, inputs, ["y"], domains={"own": 1}, functions=[_scaled_sum()])
    check(model, inputs)
    blocks = from_onnx(model)["main"].body.blocks
    slopes = [float(b.value.attrs["alpha"]) for b in blocks[0].bindings
              if getattr(b.value, "op", None) == tvm.ir.Op.get("relax.nn.leakyrelu")]  # fmt: skip
    assert slopes == [0.25, 0.5]


def test_a_function_that_calls_itself_is_refused() -> None:
    call = helper.make_node("Again", ["a"], ["b"], domain="own")
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    again = helper.make_function("own", "Again", ["a"], ["b"], [call], imports)
    inputs = {"x": _floats(2)}
    model = make_model(
        [node("Again", ["x"], ["y"], domain="own")], inputs, ["y"], domains={"own": 1}
    )
    model.functions.append(again)
    with pytest.raises(OpConversionError, match="function 'Again' calls itself"):
        from_onnx(model)


def test_unknown_operators_within_graphs_and_functions_are_listed() -> None:
    then = _graph([node("Nothing", ["x"], ["a"], name="inside")], [], [_info("a")])
    other = _graph([node("Relu", ["x"], ["b"])], [], [_info("b")])
    inputs = {"x": _floats(2), "c": np.array(True)}
    graph = _if_model(known=False)
    model = make_model([node("Relu", ["x"], ["y"])], inputs, ["y"])
    model.graph.node[0].CopyFrom(node("If", ["c"], ["y"], then_branch=then, else_branch=other))
    with pytest.raises(OpNotImplemented, match=r"Nothing \(inside\)"):
        from_onnx(model)
    assert graph.graph.node[0].op_type == "If"


def test_operators_that_are_refused_say_why() -> None:
    domain = "ai.onnx.preview.training"
    slope = node("Gradient", ["x"], ["y"], name="slope", domain=domain)
    model = make_model([slope], {"x": _floats(2)}, ["y"], domains={domain: 1})
    with pytest.raises(OpNotImplemented, match="Gradient differentiates a module"):
        from_onnx(model)


def test_a_graph_reads_only_what_was_made() -> None:
    then = _graph([node("Neg", ["nowhere"], ["a"])], [], [_info("a")])
    other = _graph([node("Neg", ["x"], ["b"])], [], [_info("b")])
    inputs = {"x": _floats(2), "c": np.array(True)}
    model = make_model([node("Relu", ["x"], ["y"])], inputs, ["y"])
    model.graph.node[0].CopyFrom(node("If", ["c"], ["y"], then_branch=then, else_branch=other))
    with pytest.raises(TVMError, match="no node or input gives the value 'nowhere'"):
        from_onnx(model)


def test_attention_by_its_body() -> None:
    inputs = {name: _floats(1, 2, 4, 8) for name in ("q", "k", "v")}
    nodes = [node("Attention", ["q", "k", "v"], ["y"], is_causal=1)]
    check(make_model(nodes, inputs, ["y"], opset=23), inputs, rtol=1e-4)


def test_optional_values() -> None:
    nodes = [
        node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["c"]),
        node("OptionalGetElement", ["o"], ["z"]),
        node("If", ["c"], ["y"], then_branch=_graph([node("Neg", ["z"], ["a"])], [], [_info("a")]),
             else_branch=_graph([node("Abs", ["x"], ["b"])], [], [_info("b")])),
    ]  # fmt: skip
    inputs = {"x": _floats(3)}
    model = make_model(nodes, inputs, ["y"], opset=18)
    np.testing.assert_array_equal(run_compiled(model, inputs)[0], -inputs["x"])
    assert _branches(from_onnx(model)) == 0


def test_loops_stand_in_the_printed_module() -> None:
    text = str(from_onnx(_counting_loop(1000)))
    assert "Loop_0_repeat" in text
    assert relax.analysis.well_formed(from_onnx(_counting_loop(1000)))
    again = tvm.script.from_source(from_onnx(_counting_loop(1000)).script(show_meta=True))
    tvm.ir.assert_structural_equal(again, from_onnx(_counting_loop(1000)))
