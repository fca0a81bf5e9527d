"""Zeros around the data of a convolution become its padding; other pads stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.pads_of_convolutions import PadsOfConvolutions
from tvm.relax.transform.rebuild import all_bindings

pytestmark = pytest.mark.pure


def program(
    widths: list[list[int]], mode: str = "constant", value: float = 0.0, **options: Any
) -> IRModule:
    """Pads, one after another, before a convolution of 3 channels."""
    layout = options.get("data_layout", "NCHW")
    shape = [{"N": 1, "C": 3, "D": 4}.get(axis, 6) for axis in layout]
    kernel = [{"C": 3, "N": 2}.get(axis, 2) for axis in ("NC" + layout.strip("NC"))]
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    w = relax.const(np.random.default_rng(0).integers(-3, 4, kernel).astype("float32"))
    conv = {3: op.nn.conv1d, 4: op.nn.conv2d, 5: op.nn.conv3d}[len(layout)]
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y: Any = x
            for one in widths:
                y = bb.emit(op.nn.pad(y, one, mode, value))
            y = bb.emit_output(conv(y, w, **options))
        bb.emit_func_output(y)
    return bb.get()


def padding(mod: IRModule) -> list[int]:
    values = [b.value for b in all_bindings(mod["main"])]  # type: ignore[arg-type]
    assert not any(is_call_of(v, "relax.nn.pad") for v in values)
    return [int(n) for n in values[-1].attrs.padding]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("widths", "options", "expected"),
    [
        ([[0, 0, 0, 0, 0, 1, 2, 3]], {}, [0, 2, 1, 3]),
        ([[0, 0, 0, 0, 0, 1, 2, 3]], {"padding": [1, 1, 2, 2]}, [1, 3, 3, 5]),
        ([[0, 0, 0, 1, 2, 3, 0, 0]], {"data_layout": "NHWC"}, [0, 2, 1, 3]),
        ([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1, 0, 2]], {"strides": 2}, [1, 1, 2, 3]),
        ([[0, 0, 0, 0, 1, 2]], {"data_layout": "NCW"}, [1, 2]),
        ([[0, 0, 0, 0, 1, 2, 3, 4, 0, 1]], {"data_layout": "NCDHW"}, [1, 3, 0, 2, 4, 1]),
    ],
)
def test_zeros(widths: list[list[int]], options: dict[str, Any], expected: list[int]) -> None:
    mod = program(widths, **options)
    after = PadsOfConvolutions()(mod)
    assert relax.analysis.well_formed(after)
    assert padding(after) == expected
    shape = [int(n) for n in mod["main"].params[0].struct_info.shape]  # type: ignore[attr-defined]
    x = np.random.default_rng(1).integers(-9, 9, shape).astype("float32")
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))


@pytest.mark.parametrize(
    ("widths", "mode", "value"),
    [
        ([0, 0, 0, 0, 1, 1, 1, 1], "constant", 1.0),
        ([0, 0, 0, 0, 1, 1, 1, 1], "reflect", 0.0),
        ([1, 0, 0, 0, 1, 1, 1, 1], "constant", 0.0),
        ([0, 0, 0, 0, -1, 1, 1, 1], "constant", 0.0),
    ],
)
def test_keeps(widths: list[int], mode: str, value: float) -> None:
    mod = program([widths], mode, value)
    assert PadsOfConvolutions()(mod)["main"] is mod["main"]
