"""Requests as records: what is read from good bodies, and how others are refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tvm.error import ArgumentValueError
from tvm.serve.request import Asked, BadRequest, read_request

pytestmark = pytest.mark.pure


class Letters:
    """A tokenizer whose tokens are letters."""

    def encode(self, text: str, special: bool = True) -> list[int]:
        return [ord(letter) % 128 for letter in text]

    def prompt(self, messages: Sequence[Any]) -> list[int]:
        if messages[0]["role"] == "nobody":
            raise ArgumentValueError("a conversation\n  found: nobody")
        return self.encode("".join(one["role"] + one["content"] for one in messages))


def _read(body: Any, chat: bool = False, eos: Sequence[int] = (2,)) -> Asked:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_request(raw, chat=chat, model="m", text=Letters(), eos=eos)  # type: ignore[arg-type]


def test_fields_become_a_record() -> None:
    asked = _read({
        "model": "m", "prompt": ["ab", "c"], "n": 2, "seed": -5, "max_tokens": 7, "stop": "x",
        "logit_bias": {"3": -100}, "temperature": 0, "top_k": -1, "logprobs": 2, "stream": True,
        "stream_options": {"include_usage": True}, "top_p": None, "user": {"odd": "but unused"},
        "tools": [], "response_format": {"type": "text"},
    })  # fmt: skip
    assert asked.prompts == [[97, 98], [99]]
    assert (asked.count, asked.stream, asked.usage) == (2, True, True)
    params = asked.params
    assert (params.seed, params.max_tokens, params.stop, params.logprobs) == (-5, 7, ("x",), 2)
    assert (params.logit_bias, params.temperature, params.top_k) == ({3: -100.0}, 0.0, 0)
    assert params.top_p == 1.0


def test_conversations_become_prompts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "user", "content": parts}, {"role": "bot", "content": None}]
    asked = _read({"messages": messages, "logprobs": True, "max_completion_tokens": 3}, chat=True)
    assert asked.prompts == [Letters().encode("userabbot")]
    assert (asked.params.logprobs, asked.params.max_tokens) == (1, 3)


@pytest.mark.parametrize(("wrong", "param", "words"), [
    ({"n": True}, "n", "found: True\n  legal: a whole number"),
    ({"n": 10**30}, "n", "1 to 128 answers"),
    ({"prompt": [[1], [2]], "n": 65}, "n", "65 answers to 2 prompts"),
    ({"prompt": ["a"] * 129}, "prompt", "at most 128 prompts"),
    ({"prompt": [1, True]}, "prompt", "a text, texts, or tokens"),
    ({"temperature": 10**400}, "temperature", "a number"),
    ({"temperature": "1"}, "temperature", "found: '1'"),
    ({"temperature": 1e9}, "temperature", "0 to 100"),
    ({"repetition_penalty": 0}, "repetition_penalty", "0.01 to 100"),
    ({"seed": 2**64}, "seed", "a value out of range"),
    ({"seed": 1.5}, "seed", "a whole number"),
    ({"logprobs": 21}, "logprobs", "0 to 20"),
    ({"logit_bias": {"x": 1}}, "logit_bias", "numbers of tokens"),
    ({"logit_bias": {"1": 101}}, "logit_bias", "-100 to 100"),
    ({"logit_bias": [1]}, "logit_bias", "an object"),
    ({"stop": {}}, "stop", "a list of texts: at most 16"),
    ({"stop": ""}, "stop", "1 to 500 characters"),
    ({"stop": ["a"] * 17}, "stop", "at most 16"),
    ({"stream": 1}, "stream", "true or false"),
    ({"stream_options": {"include_usage": True}}, "stream_options", "only with stream: true"),
    ({"stream": True, "stream_options": {"include_usage": 1}}, "stream_options.include_usage",
     "true or false"),
    ({"guided_choice": [""]}, "guided_choice", "a list of texts"),
    ({"tools": [{"type": "function"}]}, "tools", "this server does not do it"),
    ({"response_format": {"type": "json_object"}}, "response_format", "does not do it"),
    ({"model": 3}, "model", "a text"),
])  # fmt: skip
def test_wrong_fields_are_named(wrong: dict[str, Any], param: str, words: str) -> None:
    with pytest.raises(BadRequest) as caught:
        _read({"prompt": "q", **wrong})
    assert (caught.value.status, caught.value.param) == (400, param)
    assert words in str(caught.value)


@pytest.mark.parametrize("messages", [
    None, [], "hi", [1], [{"content": "x"}], [{"role": 3, "content": "x"}],
    [{"role": "user", "content": 3}], [{"role": "user", "content": {"a": 1}}],
    [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
    [{"role": "user", "content": [{"type": "text", "text": 3}]}],
    [{"role": "nobody", "content": "x"}],
])  # fmt: skip
def test_wrong_conversations_are_refused(messages: Any) -> None:
    with pytest.raises(BadRequest) as caught:
        _read({"messages": messages}, chat=True)
    assert caught.value.param == "messages"


@pytest.mark.parametrize(("body", "words"), [
    (b"", "no JSON"), (b"\xff\xfe\x00", "no JSON"), (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"), (b"null", "no JSON object"),
    (b'{"n": ' + b"9" * 5000 + b"}", "no JSON"),
    (b'{"prompt": "a\\ud800"}', "half a surrogate pair, '\\ud800'"),
    (b'{"x": [{"\\udfff": 1}]}', "half a surrogate pair"),
    (b'{"prompt": "q", "top_p": NaN}', "top_p"), (b'{"prompt": "q", "top_p": 1e999}', "top_p"),
])  # fmt: skip
def test_wrong_bodies_are_refused(body: bytes, words: str) -> None:
    with pytest.raises(BadRequest) as caught:
        _read(body)
    assert words in str(caught.value)


def test_another_model_is_not_answered_for() -> None:
    with pytest.raises(BadRequest) as caught:
        _read({"prompt": "q", "model": "n"})
    assert (caught.value.status, caught.value.code) == (404, "model_not_found")


def test_choices_need_an_end() -> None:
    with pytest.raises(BadRequest, match="models with an end token"):
        _read({"prompt": "q", "guided_choice": ["a"]}, eos=())
