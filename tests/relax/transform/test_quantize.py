"""Layers become integer ones, or read weights of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform import Quantize
from tvm.relax.transform.fold_dequantize import FoldDequantize
from tvm.relax.transform.quantize import Range, layers_of, steps_of
from tvm.relax.transform.rebuild import all_bindings

pytestmark = pytest.mark.pure


def network(rows: int = 4, groups: int = 1) -> IRModule:
    """A convolution and a product with transposed weights, all multiples of 1/8."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> relax.Constant:
        values = rng.integers(-7, 8, shape) / 8
        values[:, 0] = 127 / 128  # so that a step is 1/128
        return relax.const(values.astype("float32"))

    x = relax.Var("x", relax.TensorStructInfo((rows, 4, 5, 5), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.conv2d(x, weights(4, 4 // groups, 3, 3), groups=groups))
            y = bb.emit(op.reshape(op.mean(y, [2, 3]), (rows, 4)))
            right = bb.emit(op.permute_dims(weights(6, 4)))
            z = bb.emit_output(op.matmul(y, right))
        bb.emit_func_output(z)
    return bb.get()


def main(mod: IRModule) -> relax.Function:
    func = mod["main"]
    assert isinstance(func, relax.Function)
    return func


def calls(mod: IRModule, name: str) -> list[Any]:
    return [b.value for b in all_bindings(main(mod)) if is_call_of(b.value, name)]


@pytest.mark.parametrize("groups", [1, 4])
def test_changes_to_integers(groups: int) -> None:
    """Weights and inputs that are whole steps stay what they are; others are cut."""
    mod = network(groups=groups)
    after = Quantize(ranges={0: Range(-1, 191 / 64)}, keep=[1])(mod)
    assert relax.analysis.well_formed(after)
    assert len(calls(after, "relax.clip")) == 1
    x = np.random.default_rng(1).integers(-64, 192, (4, 4, 5, 5)).astype("float32") / 64
    wanted = run_interp(mod, [x])
    np.testing.assert_allclose(run_interp(after, [x]), wanted, rtol=1e-5, atol=1e-5)
    assert [c.attrs.out_dtype for c in calls(FoldDequantize()(after), "relax.nn.conv2d")] == [
        "int32"
    ]
    far = np.where(x == x.max(), np.float32(100), x)
    np.testing.assert_allclose(run_interp(after, [far]), wanted, rtol=1e-5, atol=1e-5)
    assert Quantize(keep=[1])(mod)["main"] is mod["main"]


@pytest.mark.parametrize(("weights", "group", "tolerance"), [
    ("int8", 32, 1e-2), ("int8", 0, 1e-2), ("int4", 64, 0.2),
])  # fmt: skip
@pytest.mark.parametrize("rows", [1, 4])
def test_changes_to_weights_of_few_bits(
    weights: str, group: int, tolerance: float, rows: int
) -> None:
    mod = network(rows)
    after = Quantize(weights, group)(mod)
    assert relax.analysis.well_formed(after)
    assert len(calls(after, "relax.call_tir")) == 1
    assert not calls(after, "relax.matmul")
    x = np.random.default_rng(1).standard_normal((rows, 4, 5, 5)).astype("float32")
    found, wanted = run_interp(after, [x]), run_interp(mod, [x])
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()


def test_a_single_row_and_what_has_no_range_keep_their_inputs() -> None:
    step = Quantize(ranges={0: Range(-1, 1), 1: Range(-1, 1)})
    forms = [step.form_of(layer) for layer in layers_of(main(network(1)))]
    assert forms == ["integers", "weights"]
    forms = [Quantize(keep=[1]).form_of(layer) for layer in layers_of(main(network()))]
    assert forms == ["float32", "float32"]


def test_rounded_weights_are_those_that_are_multiplied() -> None:
    conv, product = layers_of(main(network()))
    step = Quantize("int4", ranges={0: Range(-1, 1)})
    np.testing.assert_allclose(step.rounded(conv), conv.weights, rtol=1e-6)
    assert product.weights.shape == step.rounded(product).shape == (4, 6)
    assert np.abs(step.rounded(product) - product.weights).max() <= 1 / 8


def test_steps() -> None:
    """Zero is exact, also where it is not within the range."""
    assert steps_of(Range(-1.0, 1.55)) == (np.float32(0.01), 100)
    assert steps_of(Range(0.51, 2.55)) == (np.float32(0.01), 0)
    assert steps_of(Range(-2.55, -1.0)) == (np.float32(0.01), 255)
    assert steps_of(Range(0.0, 0.0)) == (np.float32(1), 0)


def test_layers_that_have_no_form() -> None:
    assert len(layers_of(main(network(groups=2)))) == 1


@pytest.mark.parametrize(("options", "words"), [
    ({"weights": "int3"}, "found: 'int3'\n  legal: int8, int4"),
    ({"group": 48}, "found: 48\n  legal: 0, or a multiple of 32"),
    ({"keep": [7]}, r"found: \[7\]\n  legal: 0 to 1"),
    ({"ranges": {0: Range(0, np.inf)}}, "found: 0 to inf\n  legal: finite numbers"),
])  # fmt: skip
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(TVMError, match=words):
        Quantize(**options)(network())
