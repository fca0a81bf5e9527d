"""Rows of packed tables, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model, run_onnx
from tvm.error import OpAttributeInvalid, TVMError
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
# numbers and bytes of a block, and where numbers of 16 bits lie in it
FORMATS: dict[int, tuple[int, int, list[int]]] = {
    0: (1, 4, []), 1: (1, 2, [0]), 2: (32, 18, [0]), 6: (32, 22, [0]), 8: (32, 34, [0]),
    13: (256, 176, [0, 2]), 14: (256, 210, [208]), 20: (32, 18, [0]), 23: (256, 136, [0]),
    30: (1, 2, []), 42: (64, 18, [0]),
}  # fmt: skip
ROWS, PLACES = 4, np.array([[0, 3, 1], [-1, 9, 2]])


def table(kind: int, columns: int) -> Array:
    """Any bytes, with scales that are numbers."""
    rng = np.random.default_rng(kind)
    numbers, size, halves = FORMATS[kind]
    data = rng.integers(0, 256, (ROWS * columns // numbers, size)).astype("uint8")
    for at in halves:
        scales = rng.standard_normal((len(data), 1)).astype("float16")
        data[:, at : at + 2] = scales.view("uint8")
    if kind in (0, 30):
        data = rng.standard_normal((ROWS, columns)).astype("float32").view("uint8")
        data = data.reshape(ROWS, -1, 4)[..., 4 - size :]
    return np.ascontiguousarray(data.reshape(ROWS, -1))


def model_of(kind: int, columns: int, **attrs: Any) -> Any:
    node = helper.make_node("GatherPacked", ["w", "i"], ["y"], domain="com.microsoft",
                            packed_type=kind, K=columns, **attrs)  # fmt: skip
    inputs = {"w": table(kind, columns), "i": PLACES} if kind in FORMATS else {"i": PLACES}
    return make_model([node], inputs, ["y"], {} if kind in FORMATS else {"w": PLACES},
                      shapes={"i": ["m", "n"]})  # fmt: skip


@pytest.mark.parametrize("kind", FORMATS)
def test_formats(kind: int) -> None:
    columns = 2 * FORMATS[kind][0]
    model = model_of(kind, columns, output_dtype=1)
    given = {"w": table(kind, columns), "i": PLACES}
    (wanted,) = run_onnx(model, given)
    got = np.asarray(Interpreter(from_onnx(model)).run("main", *given.values()))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_indices_of_any_extents_compiled() -> None:
    runs = [{"w": table(14, 256), "i": places} for places in (PLACES, PLACES[:1])]
    check_sizes(model_of(14, 256, output_dtype=10), runs, rtol=1e-3)


def test_what_is_no_table() -> None:
    with pytest.raises(OpAttributeInvalid, match="a multiple of 256"):
        from_onnx(model_of(14, 128))
    with pytest.raises(OpAttributeInvalid, match="packed_type"):
        from_onnx(model_of(3, 128))
    short = model_of(8, 32, output_dtype=1)
    short.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 33
    with pytest.raises(TVMError, match="34"):
        from_onnx(short)
