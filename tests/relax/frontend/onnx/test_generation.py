"""Searches for the best token each time, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.covering import long
from tests.relax.frontend.onnx.decoders import LONGER, PROMPTS, decoder, search
from tests.relax.frontend.onnx.models import Array, check_sizes, run_onnx
from tvm.error import OpAttributeInvalid, OpAttributeRequired
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
NAMES = (
    "input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask",
    "prefix_vocab_mask", "attention_mask", "presence_mask", "seed",
)  # fmt: skip
LENGTH = np.array([10], "int32")


def model_of(
    op: str, given: Mapping[str, Array], seed: int = 2, layers: int = 1, **attrs: Any
) -> Any:
    return search(op, NAMES if op == "Sampling" else NAMES[:7], given, ["sequences"],
                  decoder(seed, layers), **attrs)  # fmt: skip


def interpreted(model: Any, given: Mapping[str, Array]) -> Array:
    return np.asarray(Interpreter(from_onnx(model)).run("main", *given.values()))


def same(wanted: Array, got: Array) -> None:
    """Equal; where all texts ended, ONNX Runtime leaves what memory holds behind them."""
    assert got.shape == wanted.shape
    over = (got == 11).all(0)
    np.testing.assert_array_equal(got[:, ~over], wanted[:, ~over])


def test_one_program_for_prompts_of_any_size() -> None:
    runs = [{"input_ids": ids, "max_length": LENGTH} for ids in (PROMPTS, LONGER)]
    check_sizes(model_of("GreedySearch", runs[0]), runs)


@pytest.mark.parametrize(("more", "attrs"), [
    ({"min_length": np.array([8], "int32")}, {}),
    ({"repetition_penalty": np.array([1.7], "float32")}, {}),
    ({"vocab_mask": np.array([1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1], "int32")}, {}),
    ({"prefix_vocab_mask": np.array([[1] * 6 + [0] * 7, [0] * 6 + [1] * 7], "int32")}, {}),
    ({"attention_mask": np.array([[1, 1, 1], [0, 1, 1]], "int32")}, {}),
    ({"input_ids": np.array([[1, 2, 5], [11, 7, 6]], "int32")}, {}),
    ({}, {"no_repeat_ngram_size": 2}), ({}, {"layers": 2}), ({}, {"seed": 3}),
])  # fmt: skip
def test_what_changes_scores(more: dict[str, Array], attrs: dict[str, Any]) -> None:
    given = {"input_ids": PROMPTS, "max_length": LENGTH, **more}
    given = {name: given[name] for name in NAMES if name in given}
    model = model_of("GreedySearch", given, **attrs)
    same(run_onnx(model, given)[0], interpreted(model, given))


@pytest.mark.parametrize("attrs", [long({"temperature": 2.0}), {"min_tokens_to_keep": 1}])
def test_of_one_token_that_is_left_nothing_is_drawn(attrs: dict[str, Any]) -> None:
    given = {"input_ids": PROMPTS, "max_length": LENGTH}
    model = model_of("Sampling", given, top_p=1e-6, **attrs)
    check_sizes(model, [given])


def test_only_tokens_of_the_largest_shares_are_drawn() -> None:
    given = {"input_ids": PROMPTS, "max_length": np.array([4], "int32")}
    best = interpreted(model_of("GreedySearch", given), given)[:, 3]
    found = {
        tuple(interpreted(model_of("Sampling", given, top_p=0.5), given)[:, 3]) for _ in range(3)
    }
    assert found == {tuple(best)}  # which have more than half, each in its row


def test_scores_of_no_token_of_the_vocabulary_are_left_out() -> None:
    given = {"input_ids": PROMPTS, "max_length": LENGTH}
    known = interpreted(model_of("GreedySearch", given, vocab_size=13), given)
    same(run_onnx(model_of("GreedySearch", given), given)[0], known)
    mask = np.array([1] * 6 + [0] * 7, "int32")
    masked = model_of("GreedySearch", {**given, "vocab_mask": mask})
    fewer = interpreted(model_of("GreedySearch", given, vocab_size=6), given)
    same(interpreted(masked, {**given, "vocab_mask": mask}), fewer)


def test_refuses() -> None:
    given = {"input_ids": PROMPTS, "max_length": LENGTH}
    with pytest.raises(OpAttributeInvalid, match="custom"):
        from_onnx(model_of("Sampling", given, custom=1))
    model = model_of("GreedySearch", given)
    del model.graph.node[0].attribute[0]
    with pytest.raises(OpAttributeRequired, match="decoder"):
        from_onnx(model)
    model = model_of("GreedySearch", given)
    del model.graph.node[0].attribute[0].g.input[3:]
    with pytest.raises(OpAttributeInvalid, match=r"decoder[\s\S]*caches"):
        from_onnx(model)
