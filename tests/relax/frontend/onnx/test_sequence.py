"""Sequences of tensors, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.relax.frontend.onnx.models import check, make_model

pytestmark = pytest.mark.cpu
X = np.arange(24, dtype="float32").reshape(6, 4)


def number(value: Any, name: str) -> Any:
    tensor = numpy_helper.from_array(np.asarray(value, np.int64), name)
    return helper.make_node("Constant", [], [name], value=tensor)


def run(nodes: list[Any], inputs: dict[str, Any] | None = None) -> None:
    arrays = inputs or {"x": X}
    check(make_model(nodes, arrays, ["out"]), arrays)


def test_made_and_changed() -> None:
    run([
        helper.make_node("SequenceConstruct", ["x", "y"], ["s"]),
        number(1, "one"), number(-1, "last"),
        helper.make_node("SequenceInsert", ["s", "z", "one"], ["s1"]),
        helper.make_node("SequenceInsert", ["s1", "x"], ["s2"]),
        helper.make_node("SequenceErase", ["s2", "last"], ["s3"]),
        helper.make_node("SequenceErase", ["s3"], ["s4"]),
        helper.make_node("ConcatFromSequence", ["s4"], ["out"], axis=1),
    ], {"x": X, "y": X + 1, "z": X * 2})  # fmt: skip


def test_from_nothing() -> None:
    run([
        helper.make_node("SequenceEmpty", [], ["s"]),
        helper.make_node("SequenceInsert", ["s", "x"], ["s1"]),
        helper.make_node("SequenceInsert", ["s1", "x"], ["s2"]),
        helper.make_node("ConcatFromSequence", ["s2"], ["out"], axis=0, new_axis=1),
    ])  # fmt: skip


@pytest.mark.parametrize(("split", "keepdims"), [(None, 0), (None, 1), (4, 1), ([1, 2, 3], 1)])
def test_split_and_one_taken(split: Any, keepdims: int) -> None:
    nodes = [number(1, "one")]
    names = ["x"]
    if split is not None:
        nodes.append(number(split, "split"))
        names.append("split")
    run([
        *nodes,
        helper.make_node("SplitToSequence", names, ["s"], axis=0, keepdims=keepdims),
        helper.make_node("SequenceAt", ["s", "one"], ["out"]),
    ])  # fmt: skip


def test_length() -> None:
    run([
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0),
        helper.make_node("SequenceLength", ["s"], ["n"]),
        helper.make_node("Cast", ["n"], ["f"], to=1),
        helper.make_node("Add", ["x", "f"], ["out"]),
    ])  # fmt: skip
