"""The example that answers questions: its text, the model that ships with it, and its training."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="the extra `llm` brings the tokenizer")

import tvm
from examples.chat.__main__ import Assistant
from examples.chat.network import LENGTH, VOCABULARY, backbone, parameter_shapes
from examples.chat.talk import MODEL, read_pairs, said
from tvm import relax
from tvm.relax.frontend.nn.llm.models.checkpoint import Safetensors
from tvm.serve.model import LanguageModel
from tvm.serve.text import Text


@pytest.fixture(scope="module")
def assistant() -> Assistant:
    return Assistant()


def answer(assistant: Assistant, question: str) -> str:
    return "".join(assistant.answer(question))


@pytest.mark.pure
def test_the_text_is_read() -> None:
    pairs = read_pairs()
    assert len(pairs) > 90
    ways = [said(way) for pair in pairs for way in pair.questions]
    assert len(set(ways)) == len(ways), "a question with two answers"
    assert all(pair.answer.endswith((".", "!")) for pair in pairs)
    assert said("  What is a Block?? ") == "what is a block"


@pytest.mark.pure
def test_every_conversation_fits() -> None:
    text = Text.open(MODEL)
    for pair in read_pairs():
        for way in pair.questions:
            prompt = text.prompt([{"role": "user", "content": said(way)}])
            assert len(prompt) + len(text.encode(pair.answer)) < LENGTH
            assert max(prompt) < VOCABULARY


@pytest.mark.cpu
def test_the_model_knows_its_answers(assistant: Assistant) -> None:
    pairs = read_pairs()[::12]
    right = [answer(assistant, pair.questions[0]) == pair.answer for pair in pairs]
    assert sum(right) >= len(pairs) - 1, [p.questions[0] for p, r in zip(pairs, right) if not r]
    stride = next(pair for pair in read_pairs() if "what is a stride" in pair.questions)
    for way in ("What is a stride?", "explain a stride to me", "tell me about strides"):
        assert answer(assistant, way) == stride.answer


@pytest.mark.cpu
def test_what_was_trained_is_what_runs() -> None:
    """The network of training, all positions at once, has the logits of that with a cache."""
    text = Text.open(MODEL)
    prompt = text.prompt([{"role": "user", "content": "what is a pass"}])
    model = LanguageModel.open(MODEL, max_sequences=1)
    model.add(0)
    expected = model.forward({0: prompt})[0]
    file = Safetensors(MODEL / "model.safetensors")
    weights = [
        tvm.runtime.tensor(file.array(name).astype("float32")) for name in parameter_shapes()
    ]
    vm = relax.VirtualMachine(tvm.compile(backbone(1), "llvm"), tvm.cpu())
    tokens = np.zeros((1, LENGTH), "int64")
    tokens[0, : len(prompt)] = prompt
    scores = vm["backbone"](tvm.runtime.tensor(tokens), *weights).numpy()
    np.testing.assert_allclose(scores[len(prompt) - 1], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.cpu
@pytest.mark.long
def test_training_learns() -> None:
    from examples.chat.train import make_tokenizer, train

    pairs = read_pairs()[:8]
    _, losses = train(pairs, make_tokenizer(pairs), ((2e-3, 60),))
    assert losses[0] > 5
    assert np.mean(losses[-5:]) < 0.8
