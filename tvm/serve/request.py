"""A request as clients of OpenAI write it, read once into one record of checked fields.

    body -> JSON -> Asked(prompts, count, best, params, told, echo, stream, usage)

Whatever is none of this, or asks for what the server does not do, is a `BadRequest` that names the
field. Fields that nobody knows are passed over, as clients of other servers send them.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tvm.error import ArgumentValueError, TVMError, message
from tvm.support.json_text import from_json

from .sampling import OutOfRange, SamplingParams, one_of
from .text import Text

_MAX_ANSWERS: Final = 128
_MAX_CHOICES: Final = 1000
_UNTIL_FULL: Final = 1 << 31    # tokens: as many as the model's context holds
# How long a stop may be: each new piece of an answer is held against all of its beginnings.
_MAX_STOPS, _LONGEST_STOP = 16, 500
# What changes the answer, and the values with which it changes nothing.
_UNKNOWN: Final[Mapping[str, tuple[Any, ...]]] = {
    "tools": ([],), "functions": ([],), "response_format": ({"type": "text"},),
    "suffix": ("",), "audio": (), "modalities": (["text"],), "tool_choice": ("none",),
}  # fmt: skip


class BadRequest(TVMError):
    """A request that cannot be carried out as asked; `status` is the answer's."""

    def __init__(
        self, text: str, status: int = 400, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.param, self.code = status, param, code


@dataclass(frozen=True)
class Asked:
    """What a client wants: `count` answers to each prompt, the likeliest of `best`."""

    prompts: Sequence[Sequence[int]]
    count: int
    best: int
    params: SamplingParams
    told: int | None                # of the likeliest tokens beside each chosen; None: neither
    echo: bool                      # answers begin with the prompt
    stream: bool
    usage: bool                     # told at the end of a stream


def read_request(body: bytes, *, chat: bool, model: str, text: Text, eos: Sequence[int]) -> Asked:
    """The request in a body, for the model of this name; BadRequest if it is none."""
    fields = _Fields(_object(body))
    fields.refuse_unknown()
    if fields.text("model", model) != model:
        raise fields.wrong("model", f"{model!r}, the one that is served here", 404,
                           "model_not_found")  # fmt: skip
    prompts = [_conversation(fields, text)] if chat else _prompts(fields, text)
    count, stream = fields.whole("n", 1), fields.flag("stream")
    best = count if chat else fields.whole("best_of", count)
    for name, answers in (("n", count), ("best_of", best)):
        if not 1 <= answers * len(prompts) <= _MAX_ANSWERS:
            raise BadRequest(message(name, found=f"{answers} answers to {len(prompts)} prompts",
                                     legal=f"1 to {_MAX_ANSWERS} answers in all"),
                             param=name)  # fmt: skip
    if best < count or (best > count and stream):
        raise fields.wrong("best_of", "n, or more where nothing is streamed")
    options = _Fields(fields.mapping("stream_options"), "stream_options.")
    if options.given and not stream:
        raise fields.wrong("stream_options", "only with stream: true")
    usage = options.flag("include_usage")
    told = _told(fields, chat)
    echo = not chat and fields.flag("echo")
    if echo and told is not None:
        raise fields.wrong("echo", "without logprobs: those of prompts are not computed")
    wanted = told if best == count else told or 0
    params = _params(fields, chat, text, eos, 0 if wanted is None else max(wanted, 1))
    return Asked(prompts, count, best, params, told, echo, stream, usage)


class _Fields:
    """The fields of a JSON object, by the types that they must have; null is as absent."""

    def __init__(self, given: Mapping[str, Any], within: str = "") -> None:
        self.given, self._within = given, within

    def wrong(
        self, name: str, legal: str, status: int = 400, code: str | None = None
    ) -> BadRequest:
        name, found = self._within + name, reprlib.repr(self.given.get(name))
        return BadRequest(message(name, found=found, legal=legal), status, name, code)

    def whole(self, name: str, default: Any) -> Any:
        value = self.given.get(name)
        if value is not None and type(value) is not int:
            raise self.wrong(name, "a whole number")
        return default if value is None else value

    def number(self, name: str, default: float) -> float:
        value = self.given.get(name)
        if value is None:
            return default
        if not _is_number(value):
            raise self.wrong(name, "a number")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.given.get(name)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return bool(value)

    def text(self, name: str, default: str) -> str:
        value = self.given.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "a text")
        return default if value is None else value

    def texts(self, name: str, most: int, longest: int | None = None) -> list[str]:
        value = self.given.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or len(value) > most or not all(
            isinstance(one, str) and 0 < len(one) <= (longest or len(one)) for one in value
        ):
            size = f"1 to {longest} characters" if longest else "one character or more"
            raise self.wrong(name, f"a list of texts: at most {most}, of {size}")
        return value

    def mapping(self, name: str) -> Mapping[str, Any]:
        value = self.given.get(name)
        if value is not None and not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return value or {}

    def refuse_unknown(self) -> None:
        for name, harmless in _UNKNOWN.items():
            if self.given.get(name) is not None and self.given[name] not in harmless:
                raise self.wrong(name, "none: this server does not do it")


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        given = from_json(body)
    except ValueError as problem:
        raise BadRequest(message("the body of a request", found=f"no JSON: {problem}",
                                 legal="a JSON object")) from None  # fmt: skip
    if not isinstance(given, dict):
        raise BadRequest(message("the body of a request", found="no JSON object",
                                 legal="a JSON object"))  # fmt: skip
    _check_characters(given)
    return given


def _check_characters(given: Any) -> None:
    """Half a character, which JSON can write and UTF-8 cannot, is refused wherever it stands."""
    left = [given]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            left += one.keys()
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str) and not one.isascii():
            try:
                one.encode()
            except UnicodeEncodeError as problem:
                raise BadRequest(
                    message("the body of a request", legal="texts of whole characters",
                            found=f"half a surrogate pair, {one[problem.start]!r}")
                ) from None  # fmt: skip


def _prompts(fields: _Fields, text: Text) -> Sequence[Sequence[int]]:
    given = fields.given.get("prompt")
    if isinstance(given, str):
        return [text.encode(given)]
    if isinstance(given, list) and given:
        if all(isinstance(x, str) for x in given) and len(given) <= _MAX_ANSWERS:
            return [text.encode(x) for x in given]
        if all(type(x) is int for x in given):
            return [given]
        if all(isinstance(x, list) and all(type(t) is int for t in x) for x in given):
            return given
    raise fields.wrong("prompt", f"a text, texts, or tokens, and at most {_MAX_ANSWERS} prompts")


def _conversation(fields: _Fields, text: Text) -> Sequence[int]:
    given = fields.given.get("messages")
    if not isinstance(given, list) or not given or not all(
        isinstance(one, dict) and isinstance(one.get("role"), str) for one in given
    ):
        raise fields.wrong("messages", "a list of {role, content}, not empty")
    flat = [{**one, "content": _content(one.get("content"))} for one in given]
    try:
        return text.prompt(flat)
    except ArgumentValueError as problem:  # a template takes some messages and not others
        raise BadRequest(str(problem), param="messages") from None


def _content(content: Any) -> str:
    """The text of a message, also where it comes in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type", "text") == "text"
        and isinstance(part.get("text"), str) for part in content
    ):  # fmt: skip
        return "".join(part["text"] for part in content)
    raise BadRequest(
        message("messages", found=f"content {reprlib.repr(content)}",
                legal='a text, or parts {"type": "text", "text": ...}'), param="messages"
    )  # fmt: skip


def _told(fields: _Fields, chat: bool) -> int | None:
    """How many of the likeliest tokens are told beside each that is chosen; None: neither."""
    name = "top_logprobs" if chat else "logprobs"
    told: int | None = fields.whole(name, None)
    if told is not None and not 0 <= told <= 20:
        raise fields.wrong(name, "0 to 20")
    if not chat:
        return told
    if fields.flag("logprobs"):
        return told or 0
    if told is not None:
        raise fields.wrong(name, "only with logprobs: true")
    return None


def _params(
    fields: _Fields, chat: bool, text: Text, eos: Sequence[int], logprobs: int
) -> SamplingParams:
    most = fields.whole("max_completion_tokens", None)
    if most is None:
        most = fields.whole("max_tokens", _UNTIL_FULL if chat else 16)
    stop = fields.given.get("stop")
    stops = _Fields({"stop": [stop] if isinstance(stop, str) else stop})
    choices = fields.texts("guided_choice", _MAX_CHOICES)
    if choices and not eos:
        raise fields.wrong("guided_choice", "models with an end token, which this one lacks")
    try:
        return SamplingParams(
            temperature=fields.number("temperature", 1.0),
            top_p=fields.number("top_p", 1.0),
            top_k=max(fields.whole("top_k", 0), 0),
            min_p=fields.number("min_p", 0.0),
            repetition_penalty=fields.number("repetition_penalty", 1.0),
            presence_penalty=fields.number("presence_penalty", 0.0),
            frequency_penalty=fields.number("frequency_penalty", 0.0),
            logit_bias=_biases(fields),
            seed=fields.whole("seed", None),
            max_tokens=most,
            stop=tuple(stops.texts("stop", _MAX_STOPS, _LONGEST_STOP)),
            ignore_eos=fields.flag("ignore_eos"),
            logprobs=logprobs,
            mask=one_of([text.encode(c, special=False) for c in choices], eos)
            if choices else None,
        )  # fmt: skip
    except OutOfRange as problem:
        raise BadRequest(str(problem), param=problem.param) from None


def _biases(fields: _Fields) -> dict[int, float]:
    given = fields.mapping("logit_bias")
    if not all(
        name.isascii() and name.isdecimal() and len(name) < 10 and _is_number(bias)
        and -100 <= bias <= 100 for name, bias in given.items()
    ):  # fmt: skip
        raise fields.wrong("logit_bias", "numbers of tokens, each with a number from -100 to 100")
    return {int(name): float(bias) for name, bias in given.items()}


def _is_number(value: Any) -> bool:
    """Whether it is one that float64 holds."""
    if type(value) is int:
        return value.bit_length() < 1024
    return isinstance(value, float) and math.isfinite(value)
