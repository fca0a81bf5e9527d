"""Engines: answers do not depend on who else asks, on memory, or on guesses."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.covering import long
from tvm.error import TVMError
from tvm.serve.engine import Engine, Event, QueueFull
from tvm.serve.model import LanguageModel
from tvm.serve.sampling import SamplingParams
from tvm.serve.speculation import DraftModel, PromptLookup, Proposer

pytestmark = pytest.mark.cpu
GREEDY = SamplingParams(temperature=0, max_tokens=12, ignore_eos=True)


@pytest.fixture
def engine(model: LanguageModel) -> Any:
    """An engine whose sequences are gone afterwards."""
    made = Engine(model)
    yield made
    _clear(made)


@pytest.fixture(scope="module")
def draft(folder: Path) -> LanguageModel:
    """The same model again, to guess with."""
    return LanguageModel.open(folder, max_sequences=2, capacity=256, chunk=16)


def _clear(engine: Engine) -> None:
    for name in list(engine._cached):
        engine._forget(name)


def _alone(model: LanguageModel, prompt: list[int], params: SamplingParams) -> list[int]:
    engine = Engine(model)
    answer = list(engine.generate(prompt, params))
    _clear(engine)
    return answer


def _requests(count: int) -> list[tuple[list[int], SamplingParams]]:
    rng = np.random.default_rng(3)
    return [
        ([*range(10, 50), *rng.integers(3, 250, 3 + 5 * (i % 3)).tolist()],
         SamplingParams(temperature=0.8 * (i % 2), seed=i, top_p=0.9, max_tokens=4 + 3 * i,
                        ignore_eos=True))
        for i in range(count)
    ]  # fmt: skip


def test_greedy_tokens_are_those_of_the_logits(model: LanguageModel) -> None:
    prompt = [5, 9, 70, 33]
    wanted = list(prompt)
    model.add(99)
    row = model.forward({99: prompt})[99]
    for _ in range(GREEDY.max_tokens):
        wanted.append(int(row.argmax()))
        row = model.forward({99: wanted[-1:]})[99]
    model.remove(99)
    assert _alone(model, prompt, GREEDY) == wanted[4:]


@pytest.mark.parametrize("room", [512, 144])
def test_answers_do_not_depend_on_company(
    model: LanguageModel, engine: Engine, room: int
) -> None:
    """With little memory, requests are sent back and computed anew."""
    requests = _requests(7)
    alone = [_alone(model, *one) for one in requests]
    kept = model.free_tokens - room
    blocker = 1000
    model.add(blocker)
    for start in range(0, kept, 16):  # memory that others hold
        model.forward({blocker: [4] * min(16, kept - start)})
    answers: dict[int, list[int]] = defaultdict(list)
    ends = {}

    def listener(i: int) -> Any:
        def tell(event: Event) -> None:
            answers[i].extend(event.tokens)
            if event.finished:
                ends[i] = event.finished
        return tell

    for i, (prompt, params) in enumerate(requests):
        engine.submit(prompt, params, listener(i))
    while engine.step():
        pass
    model.remove(blocker)
    assert [answers[i] for i in range(7)] == alone
    assert set(ends.values()) == {"length"}
    assert engine.counts.shared_tokens > 0
    assert bool(engine.counts.preempted) == (room < 512)


def test_a_beginning_is_shared(engine: Engine) -> None:
    prompt = list(range(3, 60))
    first = list(engine.generate(prompt, GREEDY))
    assert engine.counts.shared_tokens == 0
    assert list(engine.generate(prompt, GREEDY)) == first
    assert engine.counts.shared_tokens == 48  # whole pages


@pytest.mark.parametrize("temperature", [long(0.0), 0.7])
def test_guesses_change_no_greedy_answer_and_no_length(
    model: LanguageModel, draft: LanguageModel, temperature: float
) -> None:
    params = SamplingParams(temperature=temperature, seed=1, max_tokens=15, ignore_eos=True)
    prompt = [7, 8, 9, 7, 8, 9, 7, 8]
    proposers: list[Proposer] = [PromptLookup(), DraftModel(draft)]
    for proposer in proposers:
        engine = Engine(model, proposer=proposer)
        answer = list(engine.generate(prompt, params))
        _clear(engine)
        assert len(answer) == 15
        if not temperature:
            assert answer == _alone(model, prompt, params)
    # the draft is the model itself: all that it guesses stands
    assert engine.counts.accepted_tokens == engine.counts.guessed_tokens > 8


def test_ends(model: LanguageModel, engine: Engine) -> None:
    prompt = [5, 9, 70, 33]
    plain = _alone(model, prompt, GREEDY)
    eos = model.config.eos
    events: list[Event] = []
    params = SamplingParams(temperature=0, max_tokens=12, logit_bias={eos[0]: 1e9}, logprobs=2)
    engine.submit(prompt, params, events.append)
    while engine.step():
        pass
    assert [event.finished for event in events] == ["stop"]
    assert not any(event.tokens for event in events)
    request = engine.submit(prompt, GREEDY, events.append)
    engine.step()
    engine.cancel(request)
    engine.step()
    assert [event.finished for event in events] == ["stop", None, "cancelled"]
    assert events[1].tokens == (plain[0],)
    nothing = SamplingParams(mask=lambda _: np.array([], "int64"))
    with pytest.raises(TVMError, match="no token is allowed"):
        list(engine.generate(prompt, nothing))


def test_what_cannot_be_answered_is_refused(model: LanguageModel) -> None:
    engine = Engine(model, queue_limit=2)
    for wrong in ([], [300], [-1], [3] * 1000):
        with pytest.raises(TVMError, match="a prompt for a language model"):
            engine.submit(wrong, GREEDY, print)
    engine.submit([3], GREEDY, lambda _: None)
    engine.submit([3], GREEDY, lambda _: None)
    with pytest.raises(QueueFull, match="2 requests wait"):
        engine.submit([3], GREEDY, print)
    engine.close()
    engine.run()
    with pytest.raises(QueueFull, match="closed"):
        engine.submit([3], GREEDY, print)
