"""Many requests on one model: they join and leave between passes.

Each pass takes one token of every running request, and fills up with pieces of prompts that wait
(Yu et al. 2022; Agrawal et al. 2023). A prompt that begins as another sequence shares its pages; a
finished sequence stays as such a beginning until its memory is wanted. Where memory ends, the
youngest request goes back to the queue and is computed anew later; it gets the same tokens.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from tvm.error import ArgumentValueError, TVMError, message

from .model import PAGE_SIZE, LanguageModel
from .sampling import (
    NoToken,
    Row,
    SamplingParams,
    adjusted,
    distribution,
    draw,
    log_probabilities,
)
from .speculation import Asked, Proposer, accepted

logger = logging.getLogger("tvm.serve")
Reason = Literal["stop", "length", "cancelled", "error"]


@dataclass(frozen=True)
class Event:
    """What happened to a request: new tokens, or its end."""

    tokens: tuple[int, ...] = ()
    logprobs: tuple[tuple[float, tuple[tuple[int, float], ...]], ...] = ()
    finished: Reason | None = None
    error: str | None = None


@dataclass(eq=False)
class Request:
    """A prompt, how to answer it, and who is told of tokens."""

    prompt: tuple[int, ...]
    params: SamplingParams
    tell: Callable[[Event], None]
    answer: list[int] = field(default_factory=list)
    sequence: int | None = None
    cancelled: bool = False
    arrived: float = field(default_factory=time.monotonic)
    first_token: float | None = None
    rng: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        seed = self.params.seed
        self.rng = np.random.default_rng(None if seed is None else seed % 2**64)

    @property
    def tokens(self) -> list[int]:
        """Prompt and answer."""
        return [*self.prompt, *self.answer]


@dataclass
class Counts:
    """What an engine has done."""

    requests: int = 0
    prompt_tokens: int = 0
    shared_tokens: int = 0          # of prompts, found in the cache
    answer_tokens: int = 0
    guessed_tokens: int = 0
    accepted_tokens: int = 0
    passes: int = 0
    preempted: int = 0


class Engine:
    """Answers requests; `step` makes one pass, `run` makes passes until it is closed.

    `submit` and `cancel` may be called from any thread; the rest belongs to one.
    """

    def __init__(
        self, model: LanguageModel, *, proposer: Proposer | None = None, queue_limit: int = 256,
    ) -> None:  # fmt: skip
        self.model = model
        self.counts = Counts()
        self._proposer = proposer
        self._limit = queue_limit
        self._waiting: deque[Request] = deque()
        self._running: list[Request] = []
        self._ended: OrderedDict[int, list[int]] = OrderedDict()  # sequences that may be shared
        self._cached: dict[int, list[int]] = {}  # the tokens of each sequence in the cache
        self._names = itertools.count()
        self._changed = threading.Condition()
        self._closed = False

    # --- from any thread ---

    def submit(
        self, prompt: Sequence[int], params: SamplingParams, tell: Callable[[Event], None]
    ) -> Request:
        """Queue a request; `tell` hears of each token and of the end, on the engine's thread."""
        room = self.model.capacity - PAGE_SIZE
        if not 0 < len(prompt) <= min(self.model.config.context_length, room) - 1:
            raise PromptLength(
                message("a prompt for a language model", found=f"{len(prompt)} tokens",
                        legal="1 to " + str(min(self.model.config.context_length, room) - 1))
            )  # fmt: skip
        size = self.model.config.vocab_size
        if not 0 <= min(prompt) <= max(prompt) < size:
            raise ArgumentValueError(
                message("a prompt for a language model", found=f"token {max(prompt)}",
                        legal=f"tokens 0 to {size - 1}")
            )  # fmt: skip
        request = Request(tuple(int(t) for t in prompt), params, tell)
        with self._changed:
            if self._closed or len(self._waiting) >= self._limit:
                raise QueueFull(
                    message("a request", found="the engine is closed" if self._closed
                            else f"{len(self._waiting)} requests wait", legal="try again later")
                )  # fmt: skip
            self._waiting.append(request)
            self.counts.requests += 1
            self._changed.notify()
        return request

    def cancel(self, request: Request) -> None:
        """End a request before its next token."""
        with self._changed:
            request.cancelled = True
            self._changed.notify()

    def close(self) -> None:
        """End `run`; what waits or runs is cancelled."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """How many requests get tokens."""
        return len(self._running)

    # --- on the engine's thread ---

    def run(self) -> None:
        """Make passes while there are requests, and wait for more, until `close`."""
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._closed or self._waiting or self._running)
                    if self._closed:
                        break
                self.step()
        finally:  # whatever ended it, nobody waits for what will not come
            with self._changed:
                self._closed = True
                left = [*self._running, *self._waiting]
                self._waiting.clear()
            for request in left:
                self._end(request, Event(finished="cancelled"))

    def step(self) -> bool:
        """One pass; False if there was nothing to do."""
        self._drop_cancelled()
        try:
            self._admit()
            if not self._running:
                return False
            plan = self._plan()
            if self._proposer is not None and all(len(part) == 1 for part in plan.values()):
                self._guess(self._proposer)
            else:
                self._advance(plan)
        except Exception as problem:  # a fault ends what this pass was for, and not the engine
            if not isinstance(problem, TVMError):
                logger.exception("a pass of the model failed")
            for request in list(self._running):
                error = str(problem) or type(problem).__name__
                self._end(request, Event(finished="error", error=error))
        self.counts.passes += 1
        return True

    def generate(self, prompt: Sequence[int], params: SamplingParams) -> Iterator[int]:
        """The tokens of one answer, as they come; for a thread without `run`."""
        events: deque[Event] = deque()
        request = self.submit(prompt, params, events.append)
        try:
            while True:
                while events:
                    event = events.popleft()
                    if event.error:
                        raise TVMError(event.error)
                    yield from event.tokens
                    if event.finished:
                        return
                self.step()
        finally:
            self.cancel(request)
            self._drop_cancelled()

    # --- parts of a pass ---

    def _drop_cancelled(self) -> None:
        for request in [r for r in self._running if r.cancelled]:
            self._end(request, Event(finished="cancelled"))
        with self._changed:
            gone = [r for r in self._waiting if r.cancelled]
            for request in gone:
                self._waiting.remove(request)
        for request in gone:
            request.tell(Event(finished="cancelled"))

    def _admit(self) -> None:
        """Give the first that wait a sequence, as far as there is memory."""
        while len(self._running) < self.model.max_sequences:
            with self._changed:
                if not self._waiting:
                    return
                request = self._waiting[0]
            parent, shared = self._beginning(request.tokens)
            # and a page for each that runs: else it would soon be sent back
            wanted = len(request.tokens) - shared + PAGE_SIZE * (1 + len(self._running))
            if self._make_room(wanted, keep=parent):
                with self._changed:
                    self._waiting.popleft()
                self._start(request, parent, shared)
            elif parent is not None and parent in self._ended:  # its own memory is wanted
                del self._ended[parent]
                self._forget(parent)
            else:
                return

    def _start(self, request: Request, parent: int | None, shared: int) -> None:
        sequence = next(self._names)
        self._running.append(request)  # first: it is told of whatever fails from here on
        if parent is not None and shared:
            self.model.fork(parent, sequence, shared)
            self._cached[sequence] = self._cached[parent][:shared]
        else:
            self.model.add(sequence)
            self._cached[sequence] = []
        request.sequence = sequence
        self.counts.shared_tokens += shared
        self.counts.prompt_tokens += len(request.prompt)

    def _beginning(self, tokens: list[int]) -> tuple[int | None, int]:
        """The sequence that begins as `tokens` for longest, and for how long; whole pages only."""
        best, longest = None, 0
        if self.model.config.windowed:  # pages of the window's past are gone
            return best, longest
        for name, cached in self._cached.items():
            most = min(len(cached), len(tokens) - 1)
            same = next((i for i in range(most) if cached[i] != tokens[i]), most)
            same -= same % PAGE_SIZE
            if same > longest:
                best, longest = name, same
        return best, longest

    def _make_room(self, tokens: int, keep: int | None = None) -> bool:
        """Free ended sequences until there is room for another one, and for its tokens."""

        def fits() -> bool:
            return self.model.free_sequences > 0 and self.model.free_tokens >= tokens

        while not fits():
            name = next((n for n in self._ended if n != keep), None)
            if name is None:
                return False
            del self._ended[name]
            self._forget(name)
        return True

    def _plan(self) -> dict[int, list[int]]:
        """The tokens that enter in this pass, by sequence: answers first, then prompts."""
        plan: dict[int, list[int]] = {}
        budget = self.model.chunk
        lacking = []
        for request in self._running:
            assert request.sequence is not None, "running requests have sequences"
            left = request.tokens[len(self._cached[request.sequence]) :]
            lacking.append((len(left) > 1, request.sequence, left))
        for _, sequence, left in sorted(lacking, key=lambda one: one[0]):
            part = left[:budget]
            if part:
                plan[sequence] = part
                budget -= len(part)
        self._ensure(plan)
        return plan

    def _ensure(self, plan: dict[int, list[int]]) -> None:
        """Room for the tokens of a pass: ended sequences go first, then the youngest requests."""

        def needed() -> int:
            return sum(len(part) + PAGE_SIZE for part in plan.values())

        while self.model.free_tokens < needed():
            if self._ended:
                name, _ = self._ended.popitem(last=False)
                self._forget(name)
                continue
            if len(self._running) == 1:
                return  # it may just fit; else the cache says what is missing
            request = self._running.pop()
            assert request.sequence is not None, "running requests have sequences"
            plan.pop(request.sequence, None)
            if self._proposer is not None:
                self._proposer.forget(request.sequence)
            self._forget(request.sequence)
            request.sequence = None
            self.counts.preempted += 1
            with self._changed:
                self._waiting.appendleft(request)

    def _advance(self, plan: dict[int, list[int]]) -> None:
        """Put tokens in; requests whose tokens are all in get a new one."""
        logits = self.model.forward(plan)
        for sequence, part in plan.items():
            self._cached[sequence].extend(part)
        for request in list(self._running):
            name = request.sequence
            if name is None or name not in logits:
                continue
            if len(self._cached[name]) == len(request.tokens):
                self._choose(request, logits[name])

    def _choose(self, request: Request, row: Row) -> None:
        changed = adjusted(row, request.params, request.prompt, request.answer)
        try:
            token = draw(*distribution(changed, request.params), request.rng)
        except NoToken as problem:
            self._end(request, Event(finished="error", error=str(problem)))
            return
        self._give(request, [token], [row])

    def _guess(self, proposer: Proposer) -> None:
        """One pass that checks guesses: several tokens for each request."""
        asked = {}
        share = self.model.chunk // len(self._running) - 1
        for request in self._running:
            assert request.sequence is not None, "running requests have sequences"
            most = min(share, request.params.max_tokens - len(request.answer) - 1)
            most = min(most, self._context() - len(request.tokens) - 1)
            asked[request.sequence] = Asked(
                request.tokens, len(request.prompt), request.params, request.rng, max(most, 0)
            )
        guesses = proposer.propose(asked)
        plan = {
            name: [one.tokens[-1], *(guess.token for guess in guesses[name])]
            for name, one in asked.items()
        }
        self._ensure(plan)
        rows = self.model.verify(plan)
        for request in list(self._running):
            name = request.sequence
            if name is None or name not in rows:
                continue
            own = guesses[name]
            try:
                kept = accepted(
                    rows[name], own, request.prompt, request.answer, request.params, request.rng
                )
            except NoToken as problem:
                self._end(request, Event(finished="error", error=str(problem)))
                continue
            self.counts.guessed_tokens += len(own)
            self.counts.accepted_tokens += len(kept) - 1
            refused = len(own) + 1 - len(kept)
            if refused:
                self.model.pop(name, refused)
            self._cached[name] += [request.tokens[-1], *kept[:-1]]
            self._give(request, kept, list(rows[name][: len(kept)]))

    def _context(self) -> int:
        return min(self.model.config.context_length, self.model.capacity)

    def _give(self, request: Request, tokens: list[int], rows: list[Row]) -> None:
        """Add tokens to an answer, up to the first that ends it."""
        params, eos = request.params, self.model.config.eos
        if request.first_token is None:
            request.first_token = time.monotonic()
        given: list[int] = []
        finished: Reason | None = None
        for token in tokens:
            if token in eos and not params.ignore_eos:
                finished = "stop"
                break
            request.answer.append(token)
            given.append(token)
            if len(request.answer) >= params.max_tokens or len(request.tokens) >= self._context():
                finished = "length"
                break
        self.counts.answer_tokens += len(given)
        told = tuple(_logprobs(row, token, params.logprobs) for row, token in zip(rows, given))
        event = Event(tuple(given), told if params.logprobs else (), finished)
        if finished:
            self._end(request, event)
        else:
            request.tell(event)

    def _end(self, request: Request, event: Event) -> None:
        """The request is done; its sequence stays as a beginning for others."""
        if request in self._running:
            self._running.remove(request)
        sequence = request.sequence
        if sequence is not None:
            if self._proposer is not None:
                self._proposer.forget(sequence)
            if event.finished == "error":
                self._forget(sequence)
            else:
                self._keep(sequence, request)
            request.sequence = None
        request.tell(event)

    def _keep(self, sequence: int, request: Request) -> None:
        cached, wanted = self._cached[sequence], request.tokens
        extra = len(cached) - len(wanted)
        if extra > 0:  # guesses behind the end
            self.model.pop(sequence, extra)
            del cached[len(wanted) :]
        self._ended[sequence] = cached

    def _forget(self, sequence: int) -> None:
        self.model.remove(sequence)
        del self._cached[sequence]


class PromptLength(ArgumentValueError):
    """A prompt that is empty, or that the model's context or its cache does not hold."""

    code: Final = "context_length_exceeded"  # as clients of OpenAI know it


class QueueFull(TVMError):
    """Too many requests wait, or the engine is closed."""


def _logprobs(row: Row, token: int, count: int) -> Any:
    if not count:
        return ()
    values = log_probabilities(row)
    best = np.argsort(-values)[:count]
    return float(values[token]), tuple((int(t), float(values[t])) for t in best)
