"""An engine on a thread of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tvm.serve.engine import Engine
from tvm.serve.model import LanguageModel
from tvm.serve.sampling import SamplingParams
from tvm.serve.service import Service

pytestmark = pytest.mark.cpu
GREEDY = SamplingParams(temperature=0, max_tokens=6, ignore_eos=True)


def _run(engine: Engine, work: Any) -> Any:
    async def session() -> Any:
        with Service(engine) as service:
            return await work(service)

    try:
        return asyncio.run(session())
    finally:
        for name in list(engine._cached):
            engine._forget(name)


def test_answers_come_as_streams(model: LanguageModel) -> None:
    async def one(service: Service, prompt: list[int]) -> list[int]:
        events = [event async for event in service.answer(prompt, GREEDY)]
        assert events[-1].finished == "length"
        return [token for event in events for token in event.tokens]

    async def work(service: Service) -> Any:
        both = [one(service, [3, 4, 5]), one(service, [9, 8]), one(service, [3, 4, 5])]
        return await asyncio.gather(*both)

    first, second, third = _run(Engine(model), work)
    assert first == third
    assert len(first) == len(second) == 6


def test_who_stops_reading_cancels(model: LanguageModel) -> None:
    engine = Engine(model)

    async def work(service: Service) -> None:
        long = SamplingParams(temperature=0, max_tokens=200, ignore_eos=True)
        stream = service.answer([3, 4], long)
        await anext(stream)
        await stream.aclose()
        while engine.running:
            await asyncio.sleep(0.001)

    _run(engine, work)
    assert engine.counts.answer_tokens < 200


def test_time_is_limited(model: LanguageModel) -> None:
    async def work(service: Service) -> Any:
        long = SamplingParams(temperature=0, max_tokens=200, ignore_eos=True)
        return [event async for event in service.answer([3], long, timeout=0.0)]

    last = _run(Engine(model), work)[-1]
    assert last.finished == "error"
    assert "not done within 0.0 seconds" in str(last.error)
