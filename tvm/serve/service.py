"""An engine on a thread of its own, for programs that wait for many answers at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from types import TracebackType

from typing_extensions import Self

from .engine import Engine, Event, Request
from .sampling import SamplingParams


class Service:
    """Runs an engine; answers come as asynchronous streams of events."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._thread = threading.Thread(target=engine.run, name="tvm-serve", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.engine.close()
        self._thread.join()

    async def answer(
        self, prompt: Sequence[int], params: SamplingParams, timeout: float | None = None
    ) -> AsyncGenerator[Event, None]:
        """The events of one request. It is cancelled when nobody reads on, or time is over."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event] = asyncio.Queue()

        def tell(event: Event) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody reads on
                loop.call_soon_threadsafe(events.put_nowait, event)

        request: Request = self.engine.submit(prompt, params, tell)
        end = None if timeout is None else loop.time() + timeout
        try:
            while True:
                left = None if end is None else end - loop.time()
                try:
                    event = await asyncio.wait_for(events.get(), left)
                except asyncio.TimeoutError:
                    yield Event(finished="error", error=f"not done within {timeout} seconds")
                    return
                yield event
                if event.finished:
                    return
        finally:
            self.engine.cancel(request)
