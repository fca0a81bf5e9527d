"""Searches with an encoder, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.covering import long
from tests.relax.frontend.onnx.encoders import SOUNDS, SOURCES, pair, search
from tests.relax.frontend.onnx.models import Array, run_onnx
from tests.relax.frontend.onnx.test_beams import NAMES as _NAMES
from tests.relax.frontend.onnx.test_beams import given as _given
from tvm.error import OpAttributeInvalid, OpAttributeRequired
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
NAMES = (*_NAMES, "vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids")
OUTPUTS = ["sequences", "sequences_scores"]


def given(**more: Any) -> dict[str, Array]:
    tensors = {"input_ids": SOURCES} | {k: v for k, v in more.items() if isinstance(v, np.ndarray)}
    numbers = {"max_length": 6, "num_beams": 2} | {
        k: v for k, v in more.items() if not isinstance(v, np.ndarray)
    }
    every = _given(**numbers) | tensors
    return {name: every[name] for name in NAMES if name in every}


def same(model: Any, *runs: dict[str, Array]) -> None:
    ours = Interpreter(from_onnx(model))
    for one in runs:
        texts, scores = run_onnx(model, one)
        got: Any = ours.run("main", *one.values())
        np.testing.assert_array_equal(np.asarray(got[0]), texts)
        np.testing.assert_allclose(np.asarray(got[1]), scores, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("form", [
    {}, long({"first": True}), {"first": True, "hidden": True}, long({"length": "q"}),
])  # fmt: skip
def test_texts_of_texts(form: dict[str, Any]) -> None:
    """One program for sources of any size, whose first tokens may be padding."""
    runs = [given(), given(input_ids=SOURCES[:1, :3], length_penalty=0.5, min_length=4)]
    same(search("BeamSearch", NAMES, runs[0], OUTPUTS, pair(1, **form), model_type=1), *runs)


@pytest.mark.parametrize("more", [
    {"prefix_vocab_mask": np.array([[1] * 6 + [0] * 7, [0] * 6 + [1] * 7], "int32")},
    {"attention_mask": np.array([[1, 1, 0, 0], [1, 1, 1, 1]], "int32"), "repetition_penalty": 1.5},
])  # fmt: skip
def test_what_changes_scores(more: dict[str, Any]) -> None:
    one = given(**more)
    same(search("BeamSearch", NAMES, one, OUTPUTS, pair(2), model_type=1,
                no_repeat_ngram_size=2, early_stopping=1), one)  # fmt: skip


def test_texts_of_sounds_begin_with_what_is_given() -> None:
    begun = np.array([[1, 2], [1, 4]], "int32")
    runs = [given(input_ids=SOUNDS, decoder_input_ids=begun),
            given(input_ids=SOUNDS[:1, :, :4], decoder_input_ids=begun[:1, :1])]  # fmt: skip
    graphs = pair(1, sounds=True, first=True)
    same(search("BeamSearch", NAMES, runs[0], OUTPUTS, graphs, model_type=2), *runs)


def test_scores_of_all_tokens() -> None:
    one = given(min_length=6)
    model = search("BeamSearch", NAMES, one, [*OUTPUTS, "scores"], pair(1), model_type=1)
    got: Any = Interpreter(from_onnx(model)).run("main", *one.values())
    np.testing.assert_allclose(np.asarray(got[2]), run_onnx(model, one)[2], rtol=1e-3, atol=1e-3)


def test_refuses() -> None:
    one = given()
    model = search("BeamSearch", NAMES, one, OUTPUTS, pair(0), model_type=1,
                   decoder_start_token_id=-1)  # fmt: skip
    with pytest.raises(OpAttributeInvalid, match="decoder_start_token_id"):
        from_onnx(model)
    model = search("BeamSearch", NAMES, one, OUTPUTS, pair(0, hidden=True), model_type=1)
    with pytest.raises(OpAttributeInvalid, match="encoder_hidden_states"):
        from_onnx(model)
    model = search("BeamSearch", NAMES, one, OUTPUTS, pair(0), model_type=2)
    with pytest.raises(OpAttributeInvalid, match="encoder_attention_mask"):
        from_onnx(model)
    graph = next(a.g for a in model.graph.node[0].attribute if a.name == "decoder")
    del graph.input[-1]
    with pytest.raises(OpAttributeInvalid, match=r"decoder[\s\S]*4 caches"):
        from_onnx(model)
    model.graph.node[0].attribute.remove(
        next(a for a in model.graph.node[0].attribute if a.name == "encoder")
    )
    with pytest.raises(OpAttributeRequired, match="encoder"):
        from_onnx(model)
