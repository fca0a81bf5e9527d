"""The HTTP interface that clients of OpenAI speak: completions and chat, whole or as streams.

    GET  /v1/models              the model's name; /v1/models/NAME for it alone
    POST /v1/completions         prompt: text, a list of texts, or tokens
    POST /v1/chat/completions    messages: a conversation
    GET  /metrics, /health       for those who watch

An ASGI application (starlette, which the extra `serve` installs with uvicorn). Requests beyond the
queue's limit are answered with 429, those that take too long with 504, bodies that are too large
with 413. A client that hangs up ends its request.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final, TypeVar

from tvm.error import TVMError, message
from tvm.runtime.extras import extra_package

from .engine import Engine, Event, QueueFull
from .metrics import Metrics
from .request import Asked, BadRequest, read_request
from .sampling import SamplingParams
from .service import Service
from .text import Growing, Text

Json = Mapping[str, Any]
T = TypeVar("T")
_GONE: Final = 499              # what nobody will read any more


@dataclass
class _Answer:
    """One of a request's answers, while it grows."""

    index: int
    prompt: Sequence[int]
    params: SamplingParams
    text: str = ""
    tokens: int = 0
    logprobs: list[Any] = field(default_factory=list)
    reason: str | None = None


class _Form:
    """What differs between completions and chat: names, and the shape of answers and pieces."""

    def __init__(self, chat: bool, name: str, text: Text, asked: Asked) -> None:
        self.chat, self._name, self._text, self._asked = chat, name, text, asked
        self._id = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
        self._kind = "chat.completion" if chat else "text_completion"
        self._created = int(time.time())

    def whole(self, answers: Sequence[_Answer], usage: Json) -> Json:
        choices = [
            {
                "index": one.index, "finish_reason": one.reason,
                **({"message": {"role": "assistant", "content": one.text, "refusal": None}}
                   if self.chat else {"text": self._start(one) + one.text}),
                "logprobs": self._logprobs(one.logprobs, 0),
            }
            for one in answers
        ]  # fmt: skip
        return self._head(self._kind) | {"choices": choices, "usage": usage}

    def piece(self, answer: _Answer, new: str, told: Sequence[Any], first: bool) -> Json:
        offset = len(answer.text) - len(new)
        content: dict[str, Any] = {"text": self._start(answer) + new if first else new}
        if self.chat:
            delta = {"content": new} if new or not answer.reason else {}
            content = {"delta": {"role": "assistant", **delta} if first else delta}
        choice = {"index": answer.index, "finish_reason": answer.reason, **content,
                  "logprobs": self._logprobs(told, offset)}  # fmt: skip
        usage = {"usage": None} if self._asked.usage else {}
        return self._head(self._kind + ".chunk" * self.chat) | {"choices": [choice], **usage}

    def usage(self, usage: Json) -> Json:
        return self._head(self._kind + ".chunk" * self.chat) | {"choices": [], "usage": usage}

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._name}

    def _start(self, answer: _Answer) -> str:
        return self._text.decode(answer.prompt) if self._asked.echo else ""

    def _logprobs(self, told: Sequence[Any], offset: int) -> Any:
        """Of tokens whose text begins `offset` characters behind the beginning of the answer."""
        count = self._asked.told
        if not told or count is None:
            return None
        raw = self._text.token_bytes
        told = [(token, (own, best[:count])) for token, (own, best) in told]
        if self.chat:
            return {"content": [
                {"token": _readable(raw(token)), "logprob": own, "bytes": list(raw(token)),
                 "top_logprobs": [
                     {"token": _readable(raw(t)), "logprob": p, "bytes": list(raw(t))}
                     for t, p in best
                 ]}
                for token, (own, best) in told
            ]}  # fmt: skip
        name = {t: _readable(raw(t), "bytes:")
                for token, (_, best) in told for t in (token, *(t for t, _ in best))}  # fmt: skip
        return {
            "tokens": [name[token] for token, _ in told],
            "token_logprobs": [own for _, (own, _) in told],
            "top_logprobs": [{name[t]: p for t, p in best} for _, (_, best) in told],
            "text_offset": list(accumulate(
                (len(name[token]) for token, _ in told[:-1]), initial=offset
            )),
        }  # fmt: skip


def make_app(
    engine: Engine, text: Text, name: str, *, timeout: float = 300.0, api_key: str | None = None,
    body_limit: int = 4 << 20,
) -> Any:  # fmt: skip
    """The application that answers with this engine, under the model's name.

    `timeout`: seconds that an answer may take; `body_limit`: bytes that a request may have.
    """
    return _Server(engine, text, name, timeout, api_key, body_limit).app()


class _Server:
    def __init__(
        self, engine: Engine, text: Text, name: str, timeout: float, api_key: str | None,
        body_limit: int,
    ) -> None:  # fmt: skip
        self._service, self._text, self._name = Service(engine), text, name
        self._timeout, self._key, self._body_limit = timeout, api_key, body_limit
        self._metrics = Metrics(engine)
        self._web = extra_package("starlette.responses", "serve", "a server")

    def app(self) -> Any:
        routing = extra_package("starlette.routing", "serve", "a server")
        applications = extra_package("starlette.applications", "serve", "a server")

        @asynccontextmanager
        async def running(_: Any) -> AsyncGenerator[None, None]:
            with self._service:
                yield

        exceptions = extra_package("starlette.exceptions", "serve", "a server")
        return applications.Starlette(lifespan=running, routes=[
            routing.Route("/v1/models", self._guarded(self._models)),
            routing.Route("/v1/models/{name:path}", self._guarded(self._one_model)),
            routing.Route("/v1/completions", self._guarded(self._completions), methods=["POST"]),
            routing.Route("/v1/chat/completions", self._guarded(self._chat), methods=["POST"]),
            routing.Route("/metrics", self._show_metrics),
            routing.Route("/health", self._health),
        ], exception_handlers={
            exceptions.HTTPException: self._no_such_route, Exception: self._fault,
        })  # fmt: skip

    # --- what is asked ---

    def _guarded(self, handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """A handler whose refusals are answers in the form that clients expect."""

        async def guarded(request: Any) -> Any:
            try:
                self._check_key(request)
                return await handler(request)
            except TVMError as problem:
                return self._refusal(problem)

        return guarded

    async def _no_such_route(self, request: Any, problem: Any) -> Any:
        asked = f"{request.method} {request.url.path}"
        legal = "those that docs/language-models.md lists"
        return self._refusal(
            BadRequest(message(asked, found=problem.detail, legal=legal), problem.status_code)
        )

    async def _fault(self, _: Any, problem: Exception) -> Any:
        """The answer when we fail; starlette hands the error on to the log of the server."""
        return self._refusal(BadRequest(message("a request", found=type(problem).__name__), 500))

    def _check_key(self, request: Any) -> None:
        import hmac

        given = request.headers.get("authorization", "")
        if self._key is not None and not hmac.compare_digest(
            given.encode(), f"Bearer {self._key}".encode()
        ):
            raise BadRequest(message("a request", found="no key, or another one",
                                     legal="Authorization: Bearer KEY"), 401,
                             code="invalid_api_key")  # fmt: skip

    def _refusal(self, problem: TVMError) -> Any:
        return self._web.JSONResponse(_error(problem), _status(problem))

    def _described(self) -> Json:
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "tvm"}

    async def _models(self, _: Any) -> Any:
        return self._web.JSONResponse({"object": "list", "data": [self._described()]})

    async def _one_model(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name != self._name:
            legal = f"{self._name!r}, the one that is served here"
            raise BadRequest(message("a model", found=repr(name), legal=legal), 404, "model",
                             "model_not_found")  # fmt: skip
        return self._web.JSONResponse(self._described())

    async def _health(self, _: Any) -> Any:
        return self._web.JSONResponse({"status": "ok"})

    async def _show_metrics(self, _: Any) -> Any:
        return self._web.Response(self._metrics.text(), media_type="text/plain; version=0.0.4")

    async def _completions(self, request: Any) -> Any:
        return await self._answer(request, chat=False)

    async def _chat(self, request: Any) -> Any:
        return await self._answer(request, chat=True)

    async def _body(self, request: Any) -> bytes:
        requests = extra_package("starlette.requests", "serve", "a server")
        body = bytearray()
        try:
            async for piece in request.stream():
                body += piece
                if len(body) > self._body_limit:
                    raise BadRequest(message("the body of a request", found="more bytes",
                                             legal=f"at most {self._body_limit}"), 413)  # fmt: skip
        except requests.ClientDisconnect:
            raise BadRequest("the client hung up", _GONE) from None
        return bytes(body)

    # --- answers ---

    async def _answer(self, request: Any, chat: bool) -> Any:
        import asyncio

        body, eos = await self._body(request), self._service.engine.model.config.eos
        asked = await asyncio.to_thread(  # long texts take their time, and others are answered
            read_request, body, chat=chat, model=self._name, text=self._text, eos=eos
        )
        form = _Form(chat, self._name, self._text, asked)
        answers = [
            _Answer(i, prompt, _of_answer(asked.params, i % asked.best))
            for i, prompt in enumerate(p for p in asked.prompts for _ in range(asked.best))
        ]
        if not asked.stream:
            await _while_there(request, self._finish(answers))
            usage = _usage(answers, asked)
            return self._web.JSONResponse(form.whole(_likeliest(answers, asked), usage))
        pieces = self._stream(asked, answers, form)
        # the first one now, so that a refusal is an answer of its own
        first = await _while_there(request, _next(pieces))

        async def all_pieces() -> AsyncGenerator[str, None]:
            async with aclosing(pieces):
                yield first
                try:
                    async for piece in pieces:
                        yield piece
                except TVMError as problem:
                    yield f"data: {json.dumps(_error(problem))}\n\n"

        return self._web.StreamingResponse(all_pieces(), media_type="text/event-stream")

    async def _finish(self, answers: list[_Answer]) -> None:
        async with aclosing(self._merged(answers)) as events:
            async for _ in events:
                pass

    async def _stream(
        self, asked: Asked, answers: list[_Answer], form: _Form
    ) -> AsyncGenerator[str, None]:
        seen: set[int] = set()
        async with aclosing(self._merged(answers)) as events:
            async for answer, new, told in events:
                piece = form.piece(answer, new, told, answer.index not in seen)
                seen.add(answer.index)
                yield f"data: {json.dumps(piece)}\n\n"
        if asked.usage:
            yield f"data: {json.dumps(form.usage(_usage(answers, asked)))}\n\n"
        yield "data: [DONE]\n\n"

    async def _merged(
        self, answers: list[_Answer]
    ) -> AsyncGenerator[tuple[_Answer, str, Sequence[Any]], None]:
        """The pieces of all answers as they come: answer, new text, logarithms of new tokens."""
        import asyncio

        pieces: asyncio.Queue[Any] = asyncio.Queue()

        async def one(answer: _Answer) -> None:
            try:
                async with aclosing(self._pieces(answer)) as own:
                    async for new, told in own:
                        pieces.put_nowait((answer, new, told))
                pieces.put_nowait(None)
            except Exception as problem:  # for who reads the pieces, whatever it is
                pieces.put_nowait(problem)

        tasks = [asyncio.create_task(one(answer)) for answer in answers]
        try:
            left = len(tasks)
            while left:
                piece = await pieces.get()
                if isinstance(piece, Exception):
                    raise piece
                if piece is None:
                    left -= 1
                else:
                    yield piece
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _pieces(self, answer: _Answer) -> AsyncGenerator[tuple[str, Sequence[Any]], None]:
        params = answer.params
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


def _readable(raw: bytes, mark: str = "") -> str:
    """A token's text; bytes that are no whole characters by their numbers."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return mark + "".join(f"\\x{byte:02x}" for byte in raw)


def _raise_error(event: Event) -> None:
    if event.finished == "cancelled":
        raise BadRequest("the request was cancelled", 503)
    if event.error:
        raise BadRequest(event.error, 504 if event.error.startswith("not done within") else 500)


def _status(problem: TVMError) -> int:
    if isinstance(problem, QueueFull):
        return 429
    return problem.status if isinstance(problem, BadRequest) else 400


def _error(problem: TVMError) -> Json:
    """A refusal in the form that clients expect."""
    kind = "invalid_request_error" if _status(problem) < 500 else "server_error"
    param, code = getattr(problem, "param", None), getattr(problem, "code", None)
    return {"error": {"message": str(problem), "type": kind, "param": param, "code": code}}


async def _while_there(request: Any, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which ends when the client hangs up."""
    import asyncio

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    doing, watching = asyncio.create_task(work), asyncio.create_task(gone())
    try:
        await asyncio.wait({doing, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise BadRequest("the client hung up", _GONE)
        return doing.result()
    finally:
        for task in (doing, watching):
            task.cancel()
        await asyncio.gather(doing, watching, return_exceptions=True)


async def _next(pieces: AsyncGenerator[T, None]) -> T:
    return await anext(pieces)


def _of_answer(params: SamplingParams, number: int) -> SamplingParams:
    """Those of one of several answers to a prompt, which a seed makes different ones."""
    return params if params.seed is None else replace(
        params, seed=(params.seed + number) % 2**64
    )


def _likeliest(answers: Sequence[_Answer], asked: Asked) -> Sequence[_Answer]:
    """The answers to each prompt whose tokens are the likeliest on average, numbered anew."""
    if asked.best == asked.count:
        return answers

    def mean(one: _Answer) -> float:
        total: float = sum(own for _, (own, _) in one.logprobs)
        return total / max(len(one.logprobs), 1)

    kept: list[_Answer] = []
    for first in range(0, len(answers), asked.best):
        best = sorted(answers[first : first + asked.best], key=mean, reverse=True)
        kept += best[: asked.count]
    return [replace(one, index=i) for i, one in enumerate(kept)]


def _usage(answers: Sequence[_Answer], asked: Asked) -> Json:
    prompts = sum(map(len, asked.prompts))
    given = sum(one.tokens for one in answers)
    return {"prompt_tokens": prompts, "completion_tokens": given, "total_tokens": prompts + given}
