"""The HTTP interface that clients of OpenAI speak: completions and chat, whole or as streams.

    GET  /v1/models              the model's name
    POST /v1/completions         prompt: text, a list of texts, or tokens
    POST /v1/chat/completions    messages: a conversation
    GET  /metrics, /health       for those who watch

An ASGI application (starlette, which the extra `serve` installs with uvicorn). Requests beyond the
queue's limit are answered with 429, those that take too long with 504.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tvm.error import TVMError, message
from tvm.runtime.extras import extra_package

from .engine import Engine, Event, QueueFull
from .metrics import Metrics
from .sampling import SamplingParams, one_of
from .service import Service
from .text import Growing, Text

Json = Mapping[str, Any]


class BadRequest(TVMError):
    """A request that cannot be carried out as asked; `status` is the answer's."""

    def __init__(self, text: str, status: int = 400) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class _Answer:
    """One of a request's answers, while it grows."""

    index: int
    prompt: list[int]
    text: str = ""
    tokens: int = 0
    logprobs: list[Any] = field(default_factory=list)
    reason: str | None = None


class _Form:
    """What differs between completions and chat: names, and the shape of answers and pieces."""

    def __init__(self, chat: bool, name: str, text: Text) -> None:
        self.chat, self._name, self._text = chat, name, text
        self._id = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
        self._kind = "chat.completion" if chat else "text_completion"
        self._created = int(time.time())

    def whole(self, answers: Sequence[_Answer], usage: Json) -> Json:
        choices = [
            {
                "index": one.index, "finish_reason": one.reason,
                **({"message": {"role": "assistant", "content": one.text, "refusal": None}}
                   if self.chat else {"text": one.text}),
                "logprobs": self._logprobs(one.logprobs),
            }
            for one in answers
        ]  # fmt: skip
        return self._head(self._kind) | {"choices": choices, "usage": usage}

    def piece(self, answer: _Answer, new: str, told: Sequence[Any], first: bool) -> Json:
        content: dict[str, Any] = {"text": new}
        if self.chat:
            delta = {"content": new} if new or not answer.reason else {}
            content = {"delta": {"role": "assistant", **delta} if first else delta}
        choice = {"index": answer.index, "finish_reason": answer.reason, **content,
                  "logprobs": self._logprobs(told)}  # fmt: skip
        return self._head(self._kind + ".chunk" * self.chat) | {"choices": [choice]}

    def usage(self, usage: Json) -> Json:
        return self._head(self._kind + ".chunk" * self.chat) | {"choices": [], "usage": usage}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._name}

    def _logprobs(self, told: Sequence[Any]) -> Any:
        if not told:
            return None
        name = self._text.token
        if self.chat:
            return {"content": [
                {"token": name(token), "logprob": own, "bytes": list(name(token).encode()),
                 "top_logprobs": [
                     {"token": name(t), "logprob": p, "bytes": list(name(t).encode())}
                     for t, p in best
                 ]}
                for token, (own, best) in told
            ]}  # fmt: skip
        return {
            "tokens": [name(token) for token, _ in told],
            "token_logprobs": [own for _, (own, _) in told],
            "top_logprobs": [{name(t): p for t, p in best} for _, (_, best) in told],
        }


def make_app(
    engine: Engine, text: Text, name: str, *, timeout: float = 300.0, api_key: str | None = None,
) -> Any:  # fmt: skip
    """The application that answers with this engine, under the model's name."""
    return _Server(engine, text, name, timeout, api_key).app()


class _Server:
    def __init__(
        self, engine: Engine, text: Text, name: str, timeout: float, api_key: str | None
    ) -> None:
        self._service, self._text, self._name = Service(engine), text, name
        self._timeout, self._key = timeout, api_key
        self._metrics = Metrics(engine)
        self._web = extra_package("starlette.responses", "serve", "a server")

    def app(self) -> Any:
        routing = extra_package("starlette.routing", "serve", "a server")
        applications = extra_package("starlette.applications", "serve", "a server")

        @asynccontextmanager
        async def running(_: Any) -> AsyncGenerator[None, None]:
            with self._service:
                yield

        return applications.Starlette(lifespan=running, routes=[
            routing.Route("/v1/models", self._guarded(self._models)),
            routing.Route("/v1/completions", self._guarded(self._completions), methods=["POST"]),
            routing.Route("/v1/chat/completions", self._guarded(self._chat), methods=["POST"]),
            routing.Route("/metrics", self._show_metrics),
            routing.Route("/health", self._health),
        ])  # fmt: skip

    # --- what is asked ---

    def _guarded(self, handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """A handler whose refusals are answers in the form that clients expect."""

        async def guarded(request: Any) -> Any:
            try:
                self._check_key(request)
                return await handler(request)
            except QueueFull as problem:
                return self._refusal(str(problem), 429)
            except BadRequest as problem:
                return self._refusal(str(problem), problem.status)
            except TVMError as problem:
                return self._refusal(str(problem), 400)

        return guarded

    def _check_key(self, request: Any) -> None:
        import hmac

        given = request.headers.get("authorization", "")
        if self._key is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {self._key}".encode()
        ):
            raise BadRequest(message("a request", found="no key, or another one",
                                     legal="Authorization: Bearer KEY"), 401)  # fmt: skip

    def _refusal(self, text: str, status: int) -> Any:
        kind = "invalid_request_error" if status < 500 else "server_error"
        error = {"message": text, "type": kind, "param": None, "code": None}
        return self._web.JSONResponse({"error": error}, status)

    async def _models(self, _: Any) -> Any:
        one = {"id": self._name, "object": "model", "created": 0, "owned_by": "tvm"}
        return self._web.JSONResponse({"object": "list", "data": [one]})

    async def _health(self, _: Any) -> Any:
        return self._web.JSONResponse({"status": "ok"})

    async def _show_metrics(self, _: Any) -> Any:
        return self._web.Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _completions(self, request: Any) -> Any:
        given = await _body(request)
        prompts = self._prompts(given.get("prompt"))
        return await self._answer(given, prompts, _Form(False, self._name, self._text))

    async def _chat(self, request: Any) -> Any:
        given = await _body(request)
        messages = given.get("messages")
        if not isinstance(messages, list) or not messages or not all(
            isinstance(one, dict) and "role" in one for one in messages
        ):
            raise BadRequest(message("messages", found=type(messages).__name__,
                                     legal="a list of {role, content}, not empty"))  # fmt: skip
        flat = [{**one, "content": _flat(one.get("content"))} for one in messages]
        prompts = [self._text.prompt(flat)]
        return await self._answer(given, prompts, _Form(True, self._name, self._text))

    def _prompts(self, given: Any) -> list[list[int]]:
        if isinstance(given, str):
            return [self._text.encode(given)]
        if isinstance(given, list) and given:
            if all(isinstance(x, str) for x in given):
                return [self._text.encode(x) for x in given]
            if all(type(x) is int for x in given):
                return [given]
            if all(isinstance(x, list) and all(type(t) is int for t in x) for x in given):
                return given
        raise BadRequest(message("prompt", found=type(given).__name__,
                                 legal="a text, texts, or tokens"))  # fmt: skip

    # --- answers ---

    async def _answer(self, given: Json, prompts: list[list[int]], form: _Form) -> Any:
        count = _number(given, "n", 1, int)
        if not 1 <= count * len(prompts) <= 128:
            raise BadRequest(message("n", found=f"{count}", legal="1 to 128 answers in all"))
        params = self._params(given, form.chat)
        answers = [
            _Answer(i, prompt) for i, prompt in enumerate(p for p in prompts for _ in range(count))
        ]
        if given.get("stream"):
            pieces = self._stream(given, answers, params, form)
            first = await anext(pieces)  # so that a refusal is an answer of its own

            async def all_pieces() -> AsyncGenerator[str, None]:
                async with aclosing(pieces):
                    yield first
                    async for piece in pieces:
                        yield piece

            return self._web.StreamingResponse(all_pieces(), media_type="text/event-stream")
        async with aclosing(self._merged(answers, params)) as events:
            async for _ in events:
                pass
        return self._web.JSONResponse(form.whole(answers, _usage(answers)))

    async def _stream(
        self, given: Json, answers: list[_Answer], params: SamplingParams, form: _Form
    ) -> AsyncGenerator[str, None]:
        seen: set[int] = set()
        async with aclosing(self._merged(answers, params)) as events:
            async for answer, new, told in events:
                piece = form.piece(answer, new, told, answer.index not in seen)
                seen.add(answer.index)
                yield f"data: {json.dumps(piece)}\n\n"
        if (given.get("stream_options") or {}).get("include_usage"):
            yield f"data: {json.dumps(form.usage(_usage(answers)))}\n\n"
        yield "data: [DONE]\n\n"

    async def _merged(
        self, answers: list[_Answer], params: SamplingParams
    ) -> AsyncGenerator[tuple[_Answer, str, Sequence[Any]], None]:
        """The pieces of all answers as they come: answer, new text, logarithms of new tokens."""
        import asyncio

        pieces: asyncio.Queue[Any] = asyncio.Queue()

        async def one(answer: _Answer) -> None:
            try:
                async with aclosing(self._pieces(answer, params)) as own:
                    async for new, told in own:
                        pieces.put_nowait((answer, new, told))
                pieces.put_nowait(None)
            except TVMError as problem:
                pieces.put_nowait(problem)

        tasks = [asyncio.create_task(one(answer)) for answer in answers]
        try:
            left = len(tasks)
            while left:
                piece = await pieces.get()
                if isinstance(piece, TVMError):
                    raise piece
                if piece is None:
                    left -= 1
                else:
                    yield piece
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pieces(
        self, answer: _Answer, params: SamplingParams
    ) -> AsyncGenerator[tuple[str, Sequence[Any]], None]:
        growing = Growing(self._text, params.stop)
        began = time.monotonic()
        events = self._service.answer(answer.prompt, params, self._timeout)
        async with aclosing(events):
            async for event in events:
                _raise_error(event)
                if event.tokens and not answer.tokens:
                    self._metrics.first_token.observe(time.monotonic() - began)
                answer.tokens += len(event.tokens)
                new = growing.add(event.tokens, event.finished is not None)
                told = list(zip(event.tokens, event.logprobs))
                answer.text += new
                answer.logprobs += told
                answer.reason = "stop" if growing.stopped else event.finished
                if new or told or answer.reason:
                    yield new, told
                if answer.reason:
                    break
        self._metrics.whole.observe(time.monotonic() - began)
        self._metrics.ends.labels(answer.reason).inc()

    def _params(self, given: Json, chat: bool) -> SamplingParams:
        stop = given.get("stop") or ()
        told = given.get("logprobs") or 0
        if chat:
            told = max(_number(given, "top_logprobs", 0, int), 1) if told else 0
        most = _number(given, "max_completion_tokens", None, int)
        bias = given.get("logit_bias") or {}
        choices = given.get("guided_choice")
        try:
            return SamplingParams(
                temperature=_number(given, "temperature", 1.0, float),
                top_p=_number(given, "top_p", 1.0, float),
                top_k=max(_number(given, "top_k", 0, int), 0),
                min_p=_number(given, "min_p", 0.0, float),
                repetition_penalty=_number(given, "repetition_penalty", 1.0, float),
                presence_penalty=_number(given, "presence_penalty", 0.0, float),
                frequency_penalty=_number(given, "frequency_penalty", 0.0, float),
                logit_bias={int(token): float(x) for token, x in bias.items()},
                seed=_number(given, "seed", None, int),
                max_tokens=most if most is not None
                else _number(given, "max_tokens", 512 if chat else 16, int),
                stop=(stop,) if isinstance(stop, str) else tuple(str(s) for s in stop),
                ignore_eos=bool(given.get("ignore_eos", False)),
                logprobs=int(told),
                mask=self._one_of(choices) if choices else None,
            )  # fmt: skip
        except (ValueError, TypeError, AttributeError) as problem:
            raise BadRequest(str(problem)) from None

    def _one_of(self, choices: Any) -> Any:
        eos = self._service.engine.model.config.eos
        if not isinstance(choices, list) or not all(isinstance(c, str) and c for c in choices):
            raise BadRequest(message("guided_choice", found=f"{choices!r}",
                                     legal="a list of texts"))  # fmt: skip
        if not eos:
            raise BadRequest(message("guided_choice", found="a model without an end token",
                                     legal="models with one"))  # fmt: skip
        return one_of([self._text.encode(c, special=False) for c in choices], eos)


def _raise_error(event: Event) -> None:
    if event.finished == "cancelled":
        raise BadRequest("the request was cancelled", 503)
    if event.error:
        raise BadRequest(event.error, 504 if event.error.startswith("not done within") else 500)


async def _body(request: Any) -> Json:
    try:
        given = await request.json()
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise BadRequest(message("the body of a request", found="no JSON object",
                                 legal="a JSON object"))  # fmt: skip
    return given


def _number(given: Json, name: str, default: Any, kind: type) -> Any:
    value = given.get(name)
    if value is None:
        return default
    fits = isinstance(value, (int, float) if kind is float else int)
    if isinstance(value, bool) or not fits:
        raise BadRequest(message(name, found=repr(value), legal="a number"))
    return kind(value)


def _flat(content: Any) -> Any:
    """The text of a message, also where it comes in parts."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


def _usage(answers: Sequence[_Answer]) -> Json:
    prompts = sum(len(one.prompt) for one in answers)
    given = sum(one.tokens for one in answers)
    return {"prompt_tokens": prompts, "completion_tokens": given, "total_tokens": prompts + given}
