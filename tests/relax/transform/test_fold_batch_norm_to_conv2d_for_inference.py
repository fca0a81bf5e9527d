"""FoldBatchnormToConv2D: statistics move into the weight of the convolution before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import arguments, assert_same, calls, run_interp
from tvm import relax
from tvm.ir import IRModule, SourceName, Span
from tvm.ir.span import span_scope
from tvm.relax import op
from tvm.relax.transform import FoldBatchnormToConv2D

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(5)


def _const(*shape: int, low: float = -1) -> relax.Constant:
    return relax.const(RNG.uniform(low, 1, shape).astype("float32"))


def _module(
    *, bias: Any = None, weight: Any = None, shape: tuple[int, ...] = (1, 4, 6, 6),
    readers: int = 1, norm: dict[str, Any] | None = None, **conv: Any,
) -> IRModule:  # fmt: skip
    """conv2d, perhaps a bias, batch norm; `readers` counts those of the convolution."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    params = [x, *([weight] if isinstance(weight, relax.Var) else [])]
    with bb.function("main", params):
        with bb.dataflow():
            with span_scope(Span(SourceName("conv"), 1, 1, 1, 1)):
                kernel = _const(8, 4, 3, 3) if weight is None else weight
                y = bb.emit(op.nn.conv2d(x, kernel, **conv))
            before = y
            if bias is not None:
                y = bb.emit(op.add(y, bias))
            with span_scope(Span(SourceName("norm"), 2, 2, 1, 1)):
                parts = bb.emit(op.nn.batch_norm(
                    y, _const(8), _const(8), _const(8), _const(8, low=0.5),
                    axis=(norm or {}).pop("axis", 1), training=False, **(norm or {}),
                ))  # fmt: skip
            z = bb.emit(parts[0])
            if readers > 1:
                z = bb.emit(op.add(z, before))
            out = bb.emit_output(op.nn.relu(z))
        bb.emit_func_output(out)
    return bb.get()


def folded(mod: IRModule) -> list[str]:
    after = FoldBatchnormToConv2D()(mod)
    args = arguments(mod["main"])
    assert_same(run_interp(mod, args), run_interp(after, args), 1e-4)
    assert relax.analysis.well_formed(after)
    return calls(after)


FOLDED = ["relax.nn.conv2d", "relax.add", "relax.nn.relu"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"norm": {"epsilon": 0.1}},
        {"norm": {"center": False}},
        {"norm": {"scale": False}},
        {"strides": 2, "padding": 1},
        {"bias": _const(1, 8, 1, 1)},
        {"bias": _const(8, 1, 1)},
        {"bias": _const(1, 1, 1, 1)},
        {"weight": _const(8, 2, 3, 3), "groups": 2},
        {"weight": _const(8, 1, 3, 3), "groups": 4},
        {"weight": _const(3, 3, 4, 8), "shape": (1, 6, 6, 4), "data_layout": "NHWC",
         "kernel_layout": "HWIO", "norm": {"axis": 3}},
    ],
    ids=["plain", "epsilon", "no-center", "no-scale", "window", "bias", "bias-3d", "bias-of-one",
         "groups", "depthwise", "NHWC"],
)  # fmt: skip
def test_folds(options: dict[str, Any]) -> None:
    if "norm" in options:
        options = {**options, "norm": dict(options["norm"])}
    assert folded(_module(**options)) == FOLDED


def test_keeps_a_weight_that_is_no_constant() -> None:
    weight = relax.Var("w", relax.TensorStructInfo((8, 4, 3, 3), "float32"))
    assert "relax.nn.batch_norm" in folded(_module(weight=weight))


def test_keeps_a_convolution_that_others_read() -> None:
    assert "relax.nn.batch_norm" in folded(_module(readers=2))


def test_keeps_a_bias_that_is_not_by_channel() -> None:
    assert "relax.nn.batch_norm" in folded(_module(bias=_const(1, 8, 4, 4)))


def test_keeps_a_bias_along_another_axis() -> None:
    mod = _module(shape=(1, 4, 10, 10), bias=_const(8, 1))
    assert "relax.nn.batch_norm" in folded(mod)


def test_keeps_a_norm_along_another_axis() -> None:
    mod = _module(shape=(1, 4, 10, 10), norm={"axis": 2})
    assert "relax.nn.batch_norm" in folded(mod)


def test_spans_of_both_are_kept() -> None:
    after = FoldBatchnormToConv2D()(_module())
    for binding in after["main"].body.blocks[0].bindings[:2]:
        names = [part.source_name.name for part in binding.value.span.spans]
        assert names == ["conv", "norm"]


def test_running_statistics_that_are_read_keep_the_norm() -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 4, 6, 6), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.conv2d(x, _const(8, 4, 3, 3)))
            parts = bb.emit(op.nn.batch_norm(y, _const(8), _const(8), _const(8), _const(8, low=0.5),
                                             axis=1, training=False))  # fmt: skip
            out = bb.emit_output(relax.Tuple([bb.emit(parts[0]), bb.emit(parts[1])]))
        bb.emit_func_output(out)
    assert "relax.nn.batch_norm" in folded(bb.get())
