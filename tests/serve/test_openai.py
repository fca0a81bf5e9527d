"""The server beside the client that it is for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tvm.serve.engine import Engine
from tvm.serve.model import LanguageModel
from tvm.serve.openai import make_app
from tvm.serve.text import Text

pytestmark = pytest.mark.cpu
Ask = Callable[[Any], Awaitable[Any]]


def served(model: LanguageModel, folder: Path, ask: Ask, **options: Any) -> Any:
    """What `ask` finds with a client of a server that runs in this process."""
    import openai

    engine = Engine(model, queue_limit=options.pop("queue_limit", 64))
    app = make_app(engine, Text.open(folder), "small", **options)

    async def session() -> Any:
        http: Any = openai.DefaultAsyncHttpxClient  # of the library that the client uses
        transport_home = __import__(http.__mro__[1].__module__.partition(".")[0])
        transport = transport_home.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            transport_home.AsyncClient(transport=transport, base_url="http://test") as plain,
        ):
            client = openai.AsyncOpenAI(
                base_url="http://test/v1", api_key=options.get("api_key") or "x",
                http_client=http(transport=transport), max_retries=0,
            )  # fmt: skip
            client.plain = plain  # type: ignore[attr-defined]
            return await ask(client)

    try:
        return asyncio.run(session())
    finally:
        for name in list(engine._cached):
            engine._forget(name)


def test_completions(model: LanguageModel, folder: Path) -> None:
    async def ask(client: Any) -> Any:
        assert [one.id async for one in await client.models.list()] == ["small"]
        given = {"model": "small", "prompt": "TVM", "max_tokens": 6, "temperature": 0}
        whole = await client.completions.create(**given, logprobs=2)
        stream = await client.completions.create(
            **given, stream=True, stream_options={"include_usage": True}
        )
        pieces = [piece async for piece in stream]
        many = await client.completions.create(**{**given, "prompt": ["a", "b"], "n": 2})
        return whole, pieces, many

    whole, pieces, many = served(model, folder, ask)
    choice = whole.choices[0]
    assert choice.finish_reason == "length"
    assert whole.usage.completion_tokens == 6
    assert len(choice.logprobs.tokens) == 6
    assert max(choice.logprobs.token_logprobs) <= 0
    text = "".join(p.choices[0].text for p in pieces if p.choices)
    assert text == choice.text
    assert pieces[-1].usage.prompt_tokens == 3
    assert [p.choices[0].finish_reason for p in pieces if p.choices][-1] == "length"
    assert [c.index for c in many.choices] == [0, 1, 2, 3]
    assert many.choices[0].text == many.choices[1].text


def test_chat(model: LanguageModel, folder: Path) -> None:
    async def ask(client: Any) -> Any:
        messages = [{"role": "user", "content": [{"type": "text", "text": "hello"}]}]
        given = {"model": "small", "messages": messages, "max_completion_tokens": 6, "seed": 3}
        whole = await client.chat.completions.create(**given, logprobs=True, top_logprobs=2)
        stream = await client.chat.completions.create(**given, stream=True)
        pieces = [piece async for piece in stream]
        chosen = await client.chat.completions.create(
            **given, extra_body={"guided_choice": ["yes", "no"]}
        )
        return whole, pieces, chosen

    whole, pieces, chosen = served(model, folder, ask)
    message = whole.choices[0].message
    assert message.role == "assistant"
    assert len(whole.choices[0].logprobs.content) == 6
    assert "".join(p.choices[0].delta.content or "" for p in pieces) == message.content
    assert pieces[0].choices[0].delta.role == "assistant"
    assert chosen.choices[0].message.content in ("yes", "no")
    assert chosen.choices[0].finish_reason == "stop"


def test_a_model_by_its_name(model: LanguageModel, folder: Path) -> None:
    async def ask(client: Any) -> Any:
        import openai

        assert (await client.models.retrieve("small")).id == "small"
        with pytest.raises(openai.NotFoundError) as caught:
            await client.models.retrieve("other/one")
        assert caught.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError) as caught:
            await client.completions.create(model="small", prompt="a" * 600)
        assert caught.value.code == "context_length_exceeded"

    served(model, folder, ask)


def test_logarithms_are_told_as_asked(model: LanguageModel, folder: Path) -> None:
    """Without a number beside it, a chosen token stands alone."""
    chat = {"model": "small", "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 4, "temperature": 0}  # fmt: skip
    given = {"model": "small", "prompt": "TVM", "max_tokens": 4, "temperature": 0}

    async def ask(client: Any) -> Any:
        alone = await client.chat.completions.create(**chat, logprobs=True)
        told = [await client.completions.create(**given, logprobs=n) for n in (0, 3)]
        stream = await client.completions.create(**given, logprobs=3, stream=True)
        return alone, *told, [piece async for piece in stream]

    alone, none, three, pieces = served(model, folder, ask)
    assert [one.top_logprobs for one in alone.choices[0].logprobs.content] == [[]] * 4
    first, other = none.choices[0].logprobs, three.choices[0].logprobs
    assert first.token_logprobs == other.token_logprobs
    assert [len(best) for best in first.top_logprobs] == [0] * 4
    assert [len(best) for best in other.top_logprobs] == [3] * 4
    assert other.text_offset[0] == 0
    assert len(other.text_offset) == 4
    assert [x for p in pieces for x in p.choices[0].logprobs.tokens] == other.tokens


def test_several_answers(model: LanguageModel, folder: Path) -> None:
    """A seed gives answers that differ, and the same ones again; the best are the likeliest."""
    given = {"model": "small", "prompt": "TVM", "max_tokens": 8, "seed": 5}

    async def ask(client: Any) -> Any:
        four = [await client.completions.create(**given, n=4, logprobs=0) for _ in range(2)]
        best = await client.completions.create(**given, best_of=4, logprobs=0, echo=None)
        echoed = await client.completions.create(**given, echo=True)
        stream = await client.completions.create(**given, echo=True, stream=True)
        return *four, best, echoed, [piece async for piece in stream]

    four, again, best, echoed, pieces = served(model, folder, ask)
    texts = [choice.text for choice in four.choices]
    assert len(set(texts)) == 4
    assert texts == [choice.text for choice in again.choices]
    assert four.usage.prompt_tokens == 3
    means = {choice.text: sum(choice.logprobs.token_logprobs) for choice in four.choices}
    assert [choice.text for choice in best.choices] == [max(means, key=lambda text: means[text])]
    assert best.usage.completion_tokens == 32
    assert echoed.choices[0].text == "TVM" + texts[0]
    assert "".join(piece.choices[0].text for piece in pieces) == echoed.choices[0].text


def test_an_answer_without_a_limit_ends_with_the_context(
    model: LanguageModel, folder: Path
) -> None:
    async def ask(client: Any) -> Any:
        return await client.chat.completions.create(
            model="small", messages=[{"role": "user", "content": "hello"}],
            extra_body={"ignore_eos": True},
        )  # fmt: skip

    found = served(model, folder, ask)
    assert found.choices[0].finish_reason == "length"
    assert found.usage.total_tokens == 256


@pytest.mark.parametrize(("wrong", "words"), [
    ({"max_tokens": 0}, "sampling with max_tokens=0"),
    ({"temperature": -1}, "sampling with temperature=-1.0"),
    ({"prompt": []}, "legal: a text, texts, or tokens"),
    ({"prompt": [300]}, "legal: tokens 0 to 299"),
    ({"prompt": "a" * 600}, "600 tokens"),
    ({"n": 1000}, "legal: 1 to 128 answers in all"),
    ({"max_tokens": "a"}, "legal: a whole number"),
    ({"logit_bias": {"x": 1}}, "numbers of tokens"),
    ({"logprobs": 21}, "0 to 20"),
    ({"echo": True, "logprobs": 1}, "those of prompts are not computed"),
    ({"n": 3, "best_of": 2}, "n, or more where nothing is streamed"),
    ({"extra_body": {"guided_choice": [1]}}, "a list of texts"),
])  # fmt: skip
def test_bad_requests_are_answered_in_words(
    model: LanguageModel, folder: Path, wrong: dict[str, Any], words: str
) -> None:
    async def ask(client: Any) -> Any:
        import openai

        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as caught:
                await client.completions.create(
                    **{"model": "small", "prompt": "q", "stream": stream, **wrong}
                )
            assert words in str(caught.value)

    served(model, folder, ask)


def test_keys_limits_times_and_metrics(model: LanguageModel, folder: Path) -> None:
    async def ask(client: Any) -> Any:
        import openai

        given = {"model": "small", "prompt": "q", "max_tokens": 200, "temperature": 0,
                 "extra_body": {"ignore_eos": True}}  # fmt: skip
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="other").completions.create(**given)
        asked = [client.completions.create(**given) for _ in range(12)]
        results = await asyncio.gather(*asked, return_exceptions=True)
        assert any(isinstance(one, openai.RateLimitError) for one in results)
        assert all(isinstance(one, openai.APIStatusError) for one in results)
        late = [one for one in results if getattr(one, "status_code", 0) == 504]
        assert "not done within" in str(late)
        metrics = (await client.plain.get("/metrics")).text
        assert "tvm_serve_requests_total" in metrics
        assert "tvm_serve_free_tokens" in metrics
        assert (await client.plain.get("/health")).json() == {"status": "ok"}

    served(model, folder, ask, api_key="secret", queue_limit=2, timeout=0.02)
