"""Composite operators in terms of simpler ones, for inference and for training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import arguments, calls
from tvm import relax
from tvm.ir import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp
from tvm.relax.transform import DecomposeOpsForInference, DecomposeOpsForTraining
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Norm:
    @R.function
    def main(
        x: R.Tensor((2, 4, 3, 3), "float32"),
        gamma: R.Tensor((4,), "float32"),
        beta: R.Tensor((4,), "float32"),
        mean: R.Tensor((4,), "float32"),
        var: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            bn = R.nn.batch_norm(x, gamma, beta, mean, var, axis=1, epsilon=1e-5)
            gv = bn[0]
            gv1 = bn[1]
            gv2 = bn[2]
            R.output(gv, gv1, gv2)
        return (gv, gv1, gv2)


@I.ir_module
class InferenceExpected:
    @R.function
    def main(
        x: R.Tensor((2, 4, 3, 3), "float32"),
        gamma: R.Tensor((4,), "float32"),
        beta: R.Tensor((4,), "float32"),
        mean: R.Tensor((4,), "float32"),
        var: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            lv = R.expand_dims(mean, axis=[0, 2, 3])
            lv1 = R.subtract(x, lv)
            lv2 = R.expand_dims(var, axis=[0, 2, 3])
            lv3 = R.add(lv2, R.const(1e-5))
            lv4 = R.sqrt(lv3)
            lv5 = R.divide(lv1, lv4)
            lv6 = R.expand_dims(gamma, axis=[0, 2, 3])
            lv7 = R.multiply(lv5, lv6)
            lv8 = R.expand_dims(beta, axis=[0, 2, 3])
            lv9 = R.add(lv7, lv8)
            bn = (lv9, mean, var)
            gv = bn[0]
            gv1 = bn[1]
            gv2 = bn[2]
            R.output(gv, gv1, gv2)
        return (gv, gv1, gv2)


@I.ir_module
class TrainingExpected:
    @R.function
    def main(
        x: R.Tensor((2, 4, 3, 3), "float32"),
        gamma: R.Tensor((4,), "float32"),
        beta: R.Tensor((4,), "float32"),
        mean: R.Tensor((4,), "float32"),
        var: R.Tensor((4,), "float32"),
    ):
        with R.dataflow():
            m = R.mean(x, axis=[0, 2, 3])
            v = R.variance(x, axis=[0, 2, 3])
            lv = R.expand_dims(m, axis=[0, 2, 3])
            lv1 = R.subtract(x, lv)
            lv2 = R.expand_dims(v, axis=[0, 2, 3])
            lv3 = R.add(lv2, R.const(1e-5))
            lv4 = R.sqrt(lv3)
            lv5 = R.divide(lv1, lv4)
            lv6 = R.expand_dims(gamma, axis=[0, 2, 3])
            lv7 = R.multiply(lv5, lv6)
            lv8 = R.expand_dims(beta, axis=[0, 2, 3])
            lv9 = R.add(lv7, lv8)
            norm = (lv9, m, v)
            first = norm[0]
            lv10 = R.multiply(R.const(0.9), mean)
            lv11 = R.multiply(R.const(0.1), m)
            lv12 = R.add(lv10, lv11)
            lv13 = R.multiply(R.const(0.9), var)
            lv14 = R.multiply(R.const(0.1), v)
            lv15 = R.add(lv13, lv14)
            bn = (first, lv12, lv15)
            gv = bn[0]
            gv1 = bn[1]
            gv2 = bn[2]
            R.output(gv, gv1, gv2)
        return (gv, gv1, gv2)


def test_batch_norm_in_inference() -> None:
    assert_structural_equal(DecomposeOpsForInference()(Norm), InferenceExpected)


def test_batch_norm_in_training() -> None:
    after = DecomposeOpsForTraining()(Norm)
    assert_structural_equal(after, TrainingExpected)
    args = arguments(Norm["main"])
    args[4] = np.abs(args[4])
    for a, b in zip(interp.run(after, *args), interp.run(Norm, *args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def _module(call: Any, *shapes: tuple[int, ...]) -> IRModule:
    params = [relax.Var(f"x{i}", relax.TensorStructInfo(s, "float32"))
              for i, s in enumerate(shapes)]  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(call(*params))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("axes", [[-1], [1, 2]])
@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": False, "epsilon": 0.5}])
def test_layer_norm_in_training(axes: list[int], options: dict[str, Any]) -> None:
    shape = (2, 3, 4)
    part = tuple(shape[a] for a in axes)
    mod = _module(lambda *a: relax.op.nn.layer_norm(*a, axes=axes, **options), shape, part, part)
    after = DecomposeOpsForTraining()(mod)
    assert "relax.nn.layer_norm" not in calls(after)
    assert "relax.nn.layer_norm" in calls(DecomposeOpsForInference()(mod))
    x, gamma, beta = arguments(mod["main"])
    gamma = gamma if options.get("scale", True) else np.ones_like(gamma)
    beta = beta if options.get("center", True) else np.zeros_like(beta)
    args = [x, gamma, beta]
    np.testing.assert_allclose(
        interp.run(after, *args), interp.run(mod, *args), rtol=1e-4, atol=1e-5
    )


def test_one_function_may_be_named() -> None:
    for factory in (DecomposeOpsForInference, DecomposeOpsForTraining):
        assert factory("other")(Norm)["main"] is Norm["main"]
        for name in ("main", "ma", "m.*n"):  # an expression that names begin with
            assert "relax.nn.batch_norm" not in calls(factory(name)(Norm))
        assert factory("ain")(Norm)["main"] is Norm["main"]
        assert factory("m$")(Norm)["main"] is Norm["main"]


def test_a_computed_shape_gets_names() -> None:
    @R.function
    def main(x: R.Tensor((3,), "int64"), y: R.Tensor(ndim=1, dtype="float32")):
        with R.dataflow():
            shape = R.tensor_to_shape(x)
            out = R.reshape(y, shape)
            R.output(out)
        return out

    mod = IRModule({"main": main.with_attr("global_symbol", "main")})
    after = DecomposeOpsForInference()(mod)
    assert relax.analysis.well_formed(after)
    assert "relax.tensor_to_shape" not in calls(after)
    y = np.arange(24, dtype="float32")
    np.testing.assert_array_equal(
        interp.run(after, np.array([2, 3, 4]), y), y.reshape(2, 3, 4)
    )


@pytest.mark.parametrize(("axes", "expanded"), [([-2, -1], 0), ([2], 0), ([0, 1], 2)])
def test_parameters_of_the_last_axes_broadcast_as_they_are(axes: list[int], expanded: int) -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3, 5), "float32"))
    form = relax.TensorStructInfo([(2, 3, 5)[axis] for axis in axes], "float32")
    gamma, beta = relax.Var("gamma", form), relax.Var("beta", form)
    bb = relax.BlockBuilder()
    with bb.function("main", [x, gamma, beta]):
        with bb.dataflow():
            out = bb.emit_output(relax.op.nn.layer_norm(x, gamma, beta, axes=axes))
        bb.emit_func_output(out)
    after = relax.transform.DecomposeOpsForTraining()(bb.get())
    assert str(after["main"]).count("R.expand_dims") == expanded
