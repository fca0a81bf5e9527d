"""Attention to blocks of keys, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, make_model, run_compiled

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(4)
HEADS, GROUPS, SIZE, BLOCK = 4, 2, 16, 16
OUTPUTS = ("y", "keys", "values")


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


def layouts(blocks: int, count: int) -> tuple[Array, Array]:
    """Each row of blocks sees itself, the first one, and some between, another number each."""
    starts, numbers = [], []
    for layout in range(count):
        rows, own = [0], []
        for i in range(blocks):
            own += [j for j in range(i + 1) if j in (0, i) or (j + layout) % 2 == 0]
            rows.append(len(own))
        starts.append(rows)
        numbers.append(own)
    most = max(map(len, numbers))
    padded = [own + [-1] * (most - len(own)) for own in numbers]
    return np.array(starts, "int32"), np.array(padded, "int32")


def inputs(batch: int, length: int, old: int, room: int, *, packed: bool, turned: bool) -> Any:
    parts = [floats(batch, length, n * SIZE) for n in (HEADS, GROUPS, GROUPS)]
    if packed:
        parts = [np.concatenate(parts, 2), None, None]  # type: ignore[list-item]
    caches = [floats(batch, GROUPS, room, SIZE) for _ in range(2)]
    total = old + length
    counts = [np.array(total, "int32"), np.full(batch, total, "int32")]
    tables = [floats(room, SIZE // 2) for _ in range(2)] if turned else []
    return [*parts, *caches, *layouts(room // BLOCK, 2), *counts, *tables]


@pytest.mark.parametrize(("length", "old"), [(1, 33), (40, 0)])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks(length: int, old: int, packed: bool) -> None:
    given = inputs(2, length, old, 64, packed=packed, turned=packed)
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(given)]
    arrays = {name: array for name, array in zip(names, given) if name}
    node = helper.make_node("SparseAttention", names, OUTPUTS, domain="com.microsoft",
                            num_heads=HEADS, kv_num_heads=GROUPS, sparse_block_size=BLOCK,
                            do_rotary=int(packed))  # fmt: skip
    shapes: dict[str, list[int | str]] = {
        name: ["b", "s", arrays[name].shape[2]] for name in ("x0", "x1", "x2") if name in arrays
    }
    shapes |= {name: ["b", GROUPS, "room", SIZE] for name in ("x3", "x4")}
    model = make_model([node], arrays, OUTPUTS, shapes=shapes)
    wanted = _in_place(model, arrays)
    for name, got in zip(OUTPUTS, run_compiled(model, arrays)):
        np.testing.assert_allclose(got, wanted[name], rtol=1e-4, atol=1e-5)


def _in_place(model: Any, arrays: dict[str, Array]) -> dict[str, Array]:
    """ONNX Runtime writes the caches where they are, and asks for that."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    bound = session.io_binding()
    held = onnxruntime.OrtValue.ortvalue_from_numpy
    values = {name: held(array.copy()) for name, array in arrays.items()}
    for name, value in values.items():
        bound.bind_ortvalue_input(name, value)
    bound.bind_ortvalue_output("keys", values["x3"])
    bound.bind_ortvalue_output("values", values["x4"])
    bound.bind_output("y")
    session.run_with_iobinding(bound)
    return dict(zip(("keys", "values", "y"), bound.copy_outputs_to_cpu()))
