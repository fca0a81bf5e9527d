"""Texts of sounds, with times in them, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.covering import few
from tests.relax.frontend.onnx.encoders import SOUNDS, pair, search
from tests.relax.frontend.onnx.models import Array
from tests.relax.frontend.onnx.test_beams import given as numbers
from tests.relax.frontend.onnx.test_encoded import OUTPUTS, same
from tvm.error import OpAttributeInvalid, TVMError
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.whisper import _INPUTS as NAMES
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
# tokens: 0 padding, 1 the start, 2 no times, 3 another start, 4 and 5 tasks, 7 the end, 8 time 0
TIMES = {
    "eos_token_id": 7, "pad_token_id": 0, "beginning_timestamp_token_id": 8,
    "no_timestamps_token_id": 2, "start_of_lm_token_id": 3, "translate_token_id": 4,
    "transcribe_token_id": 5,
}  # fmt: skip
BEGUN = np.array([[1, 4], [1, 5]], "int32")


def given(**more: Array) -> dict[str, Array]:
    every = numbers(max_length=9, num_beams=2, num_return_sequences=1)
    every |= {"input_ids": SOUNDS, "decoder_input_ids": BEGUN, **more}
    return {name: every[name] for name in NAMES if name in every}


@pytest.mark.parametrize("seed", few(range(3), 1))
def test_times(seed: int) -> None:
    one = given(logits_processor=np.array([1], "int32"), temperature=np.array([3], "float32"))
    graphs = pair(seed, sounds=True, first=True)
    same(search("WhisperBeamSearch", NAMES, one, OUTPUTS, graphs, **TIMES), one)


def test_rules_that_need_times_are_refused_without() -> None:
    one = given(max_length=np.array([4], "int32"), logits_processor=np.array([0], "int32"))
    model = search("WhisperBeamSearch", NAMES, one, OUTPUTS, pair(1, sounds=True, first=True))
    same(model, one)
    one["logits_processor"][:] = 1
    with pytest.raises(TVMError, match="legal"):
        Interpreter(from_onnx(model)).run("main", *one.values())


def test_without_times() -> None:
    one = given(temperature=np.array([0.5], "float32"))
    same(search("WhisperBeamSearch", NAMES, one, OUTPUTS, pair(3, sounds=True, first=True)), one)


def test_whether_none_speaks() -> None:
    """The share of a token behind the first ones."""
    one = given(max_length=np.array([3], "int32"))
    graphs = pair(0, sounds=True, first=True)
    outputs = [*OUTPUTS, "", "", "silence"]
    model = search("WhisperBeamSearch", NAMES, one, outputs, graphs, no_speech_token_id=6)
    del model.graph.output[2:4]
    got: Any = Interpreter(from_onnx(model)).run("main", *one.values())
    assert np.asarray(got[2]).shape == (2,)
    assert ((np.asarray(got[2]) >= 0) & (np.asarray(got[2]) <= 1)).all()


def test_refuses() -> None:
    one = given()
    graphs = pair(0, sounds=True, first=True)
    for attrs, name in [({"model_type": 1}, "model_type"),
                        ({"decoder_output_cross_qk": 1}, "cross_qk")]:  # fmt: skip
        with pytest.raises(OpAttributeInvalid, match=name):
            from_onnx(search("WhisperBeamSearch", NAMES, one, OUTPUTS, graphs, **attrs))
