"""Whatever clients send, and whenever they hang up: each gets an answer, and the engine goes on."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tvm.serve.engine import Engine
from tvm.serve.model import LanguageModel
from tvm.serve.openai import make_app
from tvm.serve.text import Text

pytestmark = pytest.mark.cpu
MESSAGE = {"role": "user", "content": "hi"}
ODD: list[Any] = [
    None, "x", "", -1, 0, 1, 1.5, -0.0, 20, 129, 10**30, 10**400, 2**63, -(2**63), 1e-320, 1e308,
    float("inf"), float("-inf"), float("nan"), True, False, "\ud800", "a" * 3000, "9" * 50,
    [], {}, [[[[1]]]], [None], ["\ud800"], ["a", "b"], [1, 2], [True], [[1], [2]], [10**30], [""],
    {"a": 1}, {"1": float("nan")}, {"5": 100}, {"-1": 1}, {"999999": 1}, {"x": []}, [MESSAGE],
    [{"role": None}], [{"role": "user", "content": {"a": 1}}], [{"role": "\ud800"}],
    [{"role": "user", "content": [{"type": "text", "text": 3}]}], {"include_usage": "x"},
    {"include_usage": True},
]  # fmt: skip
FINE: dict[str, list[Any]] = {
    "model": ["small"], "prompt": ["q", ["a", "b"], [5, 6]], "messages": [[MESSAGE]], "n": [1, 3],
    "seed": [-1, 0, 2**63 - 1], "max_tokens": [1, 5, 10**30], "max_completion_tokens": [2],
    "logprobs": [0, 3], "top_logprobs": [2], "logit_bias": [{"5": 100}, {"9999": -100}],
    "stop": ["e", ["a", "b"]], "stream": [True, False], "stream_options": [{"include_usage": True}],
    "temperature": [0, 1e-320, 100], "top_p": [0, 1e-300, 1], "top_k": [-1, 0, 1, 10**30],
    "min_p": [0, 1], "repetition_penalty": [0.01, 100], "presence_penalty": [-2],
    "frequency_penalty": [2], "ignore_eos": [True], "guided_choice": [["yes", "no"]], "user": ["u"],
    "response_format": [{"type": "text"}], "tools": [[]], "best_of": [1],
}  # fmt: skip
GARBAGE: list[bytes] = [
    b"", b"null", b"1", b'"x"', b"9" * 5000, b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 100_000,
    b'{"prompt":' + b"[" * 900 + b"]" * 900 + b"}", '{"prompt": "q"}'.encode("utf-16"),
    b'{"prompt": "' + b"a" * (5 << 20) + b'"}',
]  # fmt: skip


def _body(rng: random.Random) -> tuple[bool, bytes]:
    """Fields with good values, some of them replaced; now and then bytes that are no JSON."""
    chat = rng.random() < 0.5
    asked = {"messages": [MESSAGE]} if chat else {"prompt": "q"}
    given: dict[str, Any] = {"max_tokens": 3, **asked}
    for name in rng.sample(sorted(FINE), rng.randrange(5)):
        given[name] = rng.choice(ODD if rng.random() < 0.35 else FINE[name])
    if rng.random() < 0.05:
        return chat, rng.choice(GARBAGE)
    body = bytearray(json.dumps(given).encode())
    if rng.random() < 0.1:
        for _ in range(3):
            body[rng.randrange(len(body))] = rng.randrange(256)
    return chat, bytes(body)


def _all_answered(model: LanguageModel, folder: Path, tried: int, seed: int) -> Counter[int]:
    client_module = pytest.importorskip("starlette.testclient")
    engine, rng = Engine(model), random.Random(seed)
    found: Counter[int] = Counter()
    try:
        with client_module.TestClient(make_app(engine, Text.open(folder), "small")) as client:
            for number in range(tried):
                chat, body = _body(rng)
                place = "/v1/chat/completions" if chat else "/v1/completions"
                answer = client.post(place, content=body)
                found[answer.status_code] += 1
                assert answer.status_code < 500, (number, body[:500], answer.text[:500])
                if answer.status_code >= 400:
                    error = answer.json()["error"]
                    assert set(error) == {"message", "type", "param", "code"}
                    assert "legal:" in error["message"]
                    assert len(error["message"]) < 500
            assert client.post("/v1/completions", json={"prompt": "q"}).status_code == 200
            assert (engine.running, engine.waiting) == (0, 0)
    finally:
        for name in list(engine._cached):
            engine._forget(name)
    return found


def test_odd_requests_are_answered(model: LanguageModel, folder: Path) -> None:
    found = _all_answered(model, folder, 200, 7)
    assert min(found[200], found[400]) > 20, found


@pytest.mark.long
def test_many_odd_requests_are_answered(model: LanguageModel, folder: Path) -> None:
    for seed in range(10):
        _all_answered(model, folder, 1500, seed)


def test_other_places_are_refused_in_the_same_form(model: LanguageModel, folder: Path) -> None:
    client_module = pytest.importorskip("starlette.testclient")
    with client_module.TestClient(make_app(Engine(model), Text.open(folder), "small")) as client:
        for answer in (client.get("/v1/nothing"), client.get("/v1/completions")):
            assert answer.status_code in (404, 405)
            assert answer.json()["error"]["type"] == "invalid_request_error"


# --- below the client: what the server is told, and when ---


async def _call(app: Any, body: bytes, hang_up: Callable[[list[Any]], bool]) -> list[Any]:
    """What the application sends to a client that is gone once `hang_up` says so."""
    sent: list[Any] = []
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Any:
        for part in given:
            return part
        while not hang_up(sent):
            await asyncio.sleep(0.001)
        return {"type": "http.disconnect"}

    async def send(part: Any) -> None:
        sent.append(part)

    scope: dict[str, Any] = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/completions",
        "raw_path": b"/v1/completions", "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [], "client": None, "server": ("test", 80), "state": {},
        "asgi": {"version": "3.0", "spec_version": "2.3"},
    }  # fmt: skip
    await app(scope, receive, send)
    return sent


@pytest.mark.parametrize(("stream", "parts"), [(True, 3), (True, 0), (False, 0)])
def test_who_hangs_up_is_not_computed_for(
    model: LanguageModel, folder: Path, stream: bool, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = LanguageModel.forward

    def slow(self: LanguageModel, tokens: Any) -> Any:
        time.sleep(0.01)  # all passes together take longer than to notice that the client is gone
        return forward(self, tokens)

    monkeypatch.setattr(LanguageModel, "forward", slow)
    engine = Engine(model)
    app = make_app(engine, Text.open(folder), "small")
    body = {"prompt": "q", "max_tokens": 200, "ignore_eos": True, "stream": stream, "n": 2}

    def seen(sent: list[Any]) -> bool:
        return len(sent) >= parts and engine.counts.answer_tokens > 1

    async def session() -> None:
        async with app.router.lifespan_context(app):
            await _call(app, json.dumps(body).encode(), seen)
            while engine.running or engine.waiting:
                await asyncio.sleep(0.001)

    _run(engine, session)
    assert 0 < engine.counts.answer_tokens < 400


@pytest.mark.parametrize("stream", [False, True])
def test_a_fault_is_an_answer_and_the_engine_goes_on(
    model: LanguageModel, folder: Path, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, passes, told = LanguageModel.forward, iter(range(100)), threading.Event()

    def broken(self: LanguageModel, tokens: Any) -> Any:
        if next(passes) == 20:
            if stream:
                told.wait(10)  # until there is a beginning of an answer
            raise IndexError("a fault of ours")
        return forward(self, tokens)

    def seen(sent: list[Any]) -> bool:
        if len(sent) > 1:
            told.set()
        return False

    monkeypatch.setattr(LanguageModel, "forward", broken)
    engine = Engine(model)
    app = make_app(engine, Text.open(folder), "small")
    body = {"prompt": "q", "max_tokens": 30, "ignore_eos": True, "stream": stream}

    async def session() -> None:
        async with app.router.lifespan_context(app):
            first = await _call(app, json.dumps(body).encode(), seen)
            assert first[0]["status"] == (200 if stream else 500)
            text = b"".join(part.get("body", b"") for part in first[1:]).decode()
            assert json.loads(text.strip().rpartition("data: ")[2])["error"]["type"]
            assert "a fault of ours" in text
            second = await _call(app, json.dumps(body).encode(), seen)
            assert second[0]["status"] == 200

    _run(engine, session)


def _run(engine: Engine, session: Callable[[], Coroutine[Any, Any, None]]) -> None:
    try:
        asyncio.run(session())
    finally:
        for name in list(engine._cached):
            engine._forget(name)
