"""Several texts beside each other, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.covering import few
from tests.relax.frontend.onnx.decoders import LONGER, PROMPTS, decoder, search
from tests.relax.frontend.onnx.models import run_onnx
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
NAMES = (
    "input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
    "repetition_penalty",
)  # fmt: skip


def given(**more: Any) -> dict[str, Any]:
    numbers = {"max_length": 10, "min_length": 1, "num_beams": 3, "num_return_sequences": 2,
               "length_penalty": 1.0, "repetition_penalty": 1.0}  # fmt: skip
    numbers |= {name: value for name, value in more.items() if name != "input_ids"}
    kinds = {float: "float32", int: "int32"}
    found = {name: np.array([value], kinds[type(value)]) for name, value in numbers.items()}
    return {"input_ids": more.get("input_ids", PROMPTS), **found}


@pytest.mark.parametrize("seed", few([0, 1, 4], 1))
def test_beams(seed: int) -> None:
    """Some end early; lengths count more or less."""
    runs = [
        given(), given(input_ids=LONGER, length_penalty=0.5), given(repetition_penalty=1.5),
        given(num_beams=4, length_penalty=2.0, min_length=7),
    ]  # fmt: skip
    outputs = ["sequences", "sequences_scores"]
    model = search("BeamSearch", NAMES, runs[0], outputs, decoder(seed), early_stopping=seed % 2)
    ours = Interpreter(from_onnx(model))
    for one in runs:
        texts, scores = run_onnx(model, one)
        got: Any = ours.run("main", *one.values())
        np.testing.assert_array_equal(np.asarray(got[0]), texts)
        np.testing.assert_allclose(np.asarray(got[1]), scores, rtol=1e-4)


def test_prefix_masks_are_of_prompts() -> None:
    """Each text of a prompt has the mask of that; the scores of all tokens are given, too."""
    mask = np.array([[1] * 6 + [0] * 7, [0] * 6 + [1] * 7], "int32")
    one = given(max_length=6, min_length=6) | {"prefix_vocab_mask": mask}
    outputs = ["sequences", "sequences_scores", "scores"]
    names = (*NAMES, "vocab_mask", "prefix_vocab_mask")
    model = search("BeamSearch", names, one, outputs, decoder(0))
    got: Any = Interpreter(from_onnx(model)).run("main", *one.values())
    for ours, wanted in zip(got, run_onnx(model, one)):
        np.testing.assert_allclose(np.asarray(ours), wanted, rtol=1e-3, atol=1e-3)


def test_refuses() -> None:
    model = search("BeamSearch", NAMES, given(), ["sequences"], decoder(0), model_type=3)
    with pytest.raises(OpAttributeInvalid, match="model_type"):
        from_onnx(model)
