"""Products with blocks of four bits, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(3)


def model_of(kind: int, rows: int, columns: int = 5) -> Any:
    head = 4 if kind == 0 else 5
    data = RNG.integers(0, 256, (columns, -(-rows // 32), head + 16)).astype("uint8")
    scales = RNG.random(data.shape[:2]).astype("float32")
    data[..., :4] = scales[..., None].view("uint8")
    if kind:
        data[..., 4] &= 15
    weights = {"w": data.reshape(-1), "shape": np.array([rows, columns])}
    node = helper.make_node("MatMulFpQ4", ["x", *weights], ["y"], domain="com.microsoft",
                            blk_quant_type=kind)  # fmt: skip
    return make_model([node], {"x": rows_of(1, rows)}, ["y"], weights, shapes={"x": ["b", rows]})


def rows_of(count: int, rows: int) -> Array:
    return RNG.standard_normal((count, rows)).astype("float32")


@pytest.mark.parametrize(("kind", "rows"), [(0, 64), (1, 64), (2, 32), (0, 40), (1, 40)])
def test_products(kind: int, rows: int) -> None:
    check_sizes(model_of(kind, rows), [{"x": rows_of(n, rows)} for n in (1, 3)], rtol=1e-4)


def test_refuses_other_kinds() -> None:
    with pytest.raises(OpAttributeInvalid, match="blk_quant_type"):
        from_onnx(model_of(3, 32))
