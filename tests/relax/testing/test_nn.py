"""Small models made in tests."""

import numpy as np
import pytest

from tvm import relax, tir, topi
from tvm.ir import assert_structural_equal
from tvm.relax import interp
from tvm.relax.testing import nn
from tvm.relax.transform import Gradient
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def _built(model, shape, dtype="float32"):
    bb = relax.BlockBuilder()
    with bb.function("main"):
        made = model()
        data = nn.Placeholder(shape, dtype, name="data")
        bb.emit_func_output(made(data), [data, *made.parameters()])
    return bb.get()


def test_sequential():
    mod = _built(lambda: nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3, bias=False),
                                       nn.LogSoftmax()), (2, 6))  # fmt: skip
    names = [param.name_hint for param in mod["main"].params]
    assert names == ["data", "linear_weight", "linear_bias", "linear_weight1"]
    rng = np.random.default_rng(0)
    x, w, b, v = (rng.standard_normal(s).astype("float32") for s in ((2, 6), (6, 4), (4,), (4, 3)))
    hidden = np.maximum(x @ w + b, 0) @ v
    expected = hidden - np.log(np.exp(hidden).sum(1, keepdims=True))
    np.testing.assert_allclose(np.asarray(interp.run(mod, x, w, b, v)), expected, rtol=1e-4)
    zeros = nn.init_params(mod)
    assert [tensor.shape for tensor in zeros] == [(6, 4), (4,), (4, 3)]
    assert all(not tensor.numpy().any() for tensor in zeros)


def test_symbolic_batch():
    mod = _built(lambda: nn.Linear(6, 4), (tir.Var("n", "int64"), 6))

    @I.ir_module
    class Expected:
        @R.function
        def main(
            data: R.Tensor(("n", 6), "float32"),
            weight: R.Tensor((6, 4), "float32"),
            bias: R.Tensor((4,), "float32"),
        ) -> R.Tensor(("n", 4), "float32"):
            n = T.int64()
            gv: R.Tensor((n, 4), "float32") = R.matmul(data, weight)
            gv1: R.Tensor((n, 4), "float32") = R.add(gv, bias)
            return gv1

    assert_structural_equal(mod, Expected)


def test_emit_te_and_lists_of_parameters():
    class Sum(nn.Module):
        def __init__(self):
            self.parts = [nn.Parameter((2,)), {"more": nn.Parameter((2,))}]
            self.name = "sum"

        def forward(self, input):
            return nn.emit_te(topi.add, nn.emit_te(topi.add, input, self.parts[0]),
                              self.parts[1]["more"])  # fmt: skip

    mod = _built(Sum, (2,))
    assert [p.name_hint for p in mod["main"].params] == ["data", "param", "param1"]
    ones = np.ones(2, "float32")
    assert np.asarray(interp.run(mod, ones, ones, ones)).tolist() == [3, 3]


def test_subroutines():
    class Act(nn.Module):
        define_subroutine = True

        def forward(self, input):
            return nn.emit(relax.op.nn.relu(input))

    class Dense(nn.Linear):
        define_subroutine = True

        def forward(self, input):
            return nn.emit(relax.op.add(relax.op.matmul(input, self.weight), self.bias))

    mod = _built(lambda: nn.Sequential(Dense(4, 4), Act(), Dense(4, 4)), (2, 4))
    names = sorted(var.name_hint for var in mod.get_global_vars())
    assert names == ["act", "dense", "main"]
    calls = [b.value.op for b in mod["main"].body.blocks[0].bindings]
    assert [call.name_hint for call in calls] == ["dense", "act", "dense"]
    assert relax.analysis.well_formed(mod)


def test_checkpoints_are_for_gradients():
    def twice(x):
        return nn.emit(relax.op.add(x, x))

    def build(emit_sum):
        bb = relax.BlockBuilder()
        x = nn.Placeholder((3,), name="x")
        with bb.function("main", [x]):
            with bb.dataflow():
                out = bb.emit_output(relax.op.sum(emit_sum(x)))
            bb.emit_func_output(out)
        return bb.get()

    squares = [lambda x: nn.emit(relax.op.multiply(x, x))] * 3
    plain = build(lambda x: twice(twice(x)))
    marked = build(lambda x: nn.emit_checkpoint(twice, nn.emit_checkpoint(twice, x)))
    nested = build(lambda x: nn.emit(nn.checkpoint(twice, x)))
    chain = build(lambda x: nn.emit_checkpoint_sequential(squares, 3, x))
    values = [b.value for b in marked["main"].body.blocks[0].bindings]
    ops = [value.op.name.removeprefix("relax.") for value in values]
    assert ops == [*["grad.start_checkpoint", "add", "grad.end_checkpoint"] * 2, "sum"]
    count = sum("checkpoint" in str(b.value) for b in chain["main"].body.blocks[0].bindings)
    assert count == 4  # the last of the three segments is none
    x = np.float32([1, 2, 3])
    for mod, expected in [(plain, [4, 4, 4]), (marked, [4, 4, 4]), (nested, [2, 2, 2]),
                          (chain, 8 * x**7)]:  # fmt: skip
        (gradient,) = interp.run(Gradient("main")(mod), x, name="main_adjoint")[1]
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=1e-5)


def test_what_is_refused():
    with pytest.raises(TypeError, match="shape of Placeholder is expected to be a list"):
        nn.Placeholder(3)
    with pytest.raises(RuntimeError, match="no open function"):
        nn.emit(relax.const(1))
    with pytest.raises(TypeError, match="define forward"):
        _built(nn.Module, (2,))
    bb = relax.BlockBuilder()
    weight = nn.Parameter((tir.Var("n", "int64"),))
    with bb.function("main", [weight]):
        bb.emit_func_output(weight)
    with pytest.raises(TypeError, match="extents are numbers"):
        nn.init_params(bb.get())


def test_marks_have_names_and_steps_are_bound():
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            end = nn.emit_checkpoint_sequential([relax.op.exp] * 5, 2, x)
            out = bb.emit_output(end)
        bb.emit_func_output(out)
    bindings = bb.get()["main"].body.blocks[0].bindings
    ops = [b.value.op.name.split(".")[-1] for b in bindings[:-1]]
    start, stop = "start_checkpoint", "end_checkpoint"
    assert ops == [start, "exp", "exp", stop, start, "exp", "exp", stop, "exp"]
    assert bindings[0].var.name_hint == "x_scp"
    assert bindings[3].var.name_hint == f"{bindings[2].var.name_hint}_ecp"
    assert isinstance(bindings[-1].value, relax.Var)


def test_only_variables_are_marked():
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            two = relax.const(2.0, "float32")
            out = bb.emit_output(nn.emit_checkpoint(relax.op.multiply, x, two))
        bb.emit_func_output(out)
    text = str(bb.get()["main"])
    assert text.count("start_checkpoint") == 1


def test_modules_hold_anything_and_nest_as_functions() -> None:
    class Layer(nn.Module):
        define_subroutine = True

        def __init__(self) -> None:
            self.k = relax.const(2.0)
            self.w = nn.Parameter((4,), "float32", name="w")
            self.more = {"v": [nn.Parameter((4,), "float32", name="v")]}

        def forward(self, x):
            return relax.op.abs(relax.op.add(relax.op.multiply(x, self.w), self.k))

    class Outer(nn.Module):
        define_subroutine = True

        def __init__(self) -> None:
            self.first, self.second = Layer(), Layer()

        def forward(self, x):
            return self.second(self.first(x))

    model, bb = Outer(), relax.BlockBuilder()
    assert len(model.parameters()) == 4
    x = nn.Placeholder((4,), "float32", name="x")
    with bb.function("main"):
        with bb.dataflow():
            y = bb.emit_output(model(x))
        bb.emit_func_output(y, [x, *model.parameters()])
    names = [var.name_hint for var in bb.get().get_global_vars()]
    assert sorted(names) == ["layer", "main", "outer"]


def test_marks_of_positions_stand_before_those_of_names():
    bb = relax.BlockBuilder()
    with bb.function("main"):
        x, y = nn.Placeholder((2,), name="x"), nn.Placeholder((2,), name="y")
        with bb.dataflow():
            out = bb.emit_output(nn.emit_checkpoint(lambda a, b: relax.op.add(a, b), x, b=y))
        bb.emit_func_output(out, [x, y])
    names = [b.var.name_hint for b in bb.get()["main"].body.blocks[0].bindings]
    assert names == ["x_scp", "y_scp", "lv", "lv_ecp", "gv"]
