"""A worker: runs what its session tells it, in order, on values that it keeps by number."""

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.runtime._device import Device, cpu
from tvm.runtime._tensor import Tensor
from tvm.runtime.wire import Ref, error_parts

from .channel import Channel
from .communicator import Communicator, Loopback

_here = threading.local()


class Worker:
    """One of `num_workers`; workers 0 to n-1 form the first group, and so on.

    A message is a list whose first item says what to do. What goes wrong is kept and told at the
    next question, as nobody waits for an answer before.
    """

    def __init__(
        self, worker_id: int, num_workers: int, num_groups: int, channel: Channel
    ) -> None:
        self.worker_id, self.num_workers, self.num_groups = worker_id, num_workers, num_groups
        self.default_device: Device = cpu(0)
        self.communicator: Communicator = Loopback(self)
        self._channel = channel
        self._values: dict[int, Any] = {}
        self._commands: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._mail: defaultdict[int, queue.SimpleQueue[Any]] = defaultdict(queue.SimpleQueue)
        self._failure: BaseException | None = None
        self._does: dict[str, Callable[..., None]] = {
            "call": self._call, "global": self._global, "drop": self._drop, "sync": self._sync,
            "get": self._get, "set": self._set, "read": self._read, "write": self._write,
        }  # fmt: skip

    @property
    def group_size(self) -> int:
        """Workers of a group."""
        return self.num_workers // self.num_groups

    # --- the loop ---

    def run(self) -> None:
        """Work until the session ends."""
        _here.worker = self
        threading.Thread(target=self._sort_messages, daemon=True).start()
        while (command := self._commands.get()) is not None:
            what, *operands = command
            try:
                self._does[what](*operands)
            except Exception as err:
                if self._failure is None:
                    self._failure = err
                if what in ("sync", "get"):
                    self._answer(None)
        self._channel.close()

    def _sort_messages(self) -> None:
        """Mail of other workers may come while a command waits for it."""
        while (received := self._channel.receive()) is not None:
            if received[0] == "mail":
                self._mail[received[1]].put(received[2])
            elif received[0] == "stop":
                break
            else:
                self._commands.put(received)
        self._commands.put(None)
        for box in list(self._mail.values()):
            box.put(_Gone)

    def _answer(self, value: Any) -> None:
        failure, self._failure = self._failure, None
        if failure is None:
            self._channel.send(["answer", True, value])
        else:
            self._channel.send(["answer", False, error_parts(failure)])

    # --- what a session asks ---

    def _value(self, given: Any) -> Any:
        if isinstance(given, Ref):
            if given.number not in self._values:
                raise TVMError(
                    message(
                        f"a value of worker {self.worker_id}",
                        found="none: the command that was to make it has failed",
                        legal="values that were made",
                    )
                )
            return self._values[given.number]
        if isinstance(given, list):
            return [self._value(item) for item in given]
        return given

    def _call(self, out: int, func: Any, args: list[Any]) -> None:
        self._values[out] = self._value(func)(*[self._value(arg) for arg in args])

    def _global(self, out: int, name: str) -> None:
        self._values[out] = get_global_func(name)

    def _drop(self, number: int) -> None:
        self._values.pop(number, None)

    def _sync(self) -> None:
        self._answer(None)

    def _get(self, number: int) -> None:
        self._answer(self._value(Ref(number)) if self._failure is None else None)

    def _set(self, number: int, value: Any) -> None:
        held = self._values.get(number)
        if isinstance(held, Tensor):
            held.copyfrom(value)
        else:
            self._values[number] = value

    def _read(self, host: Tensor, number: int) -> None:
        """Copy a value into a tensor of the session, which lives in the same process."""
        self._value(Ref(number)).copyto(host)

    def _write(self, host: Tensor, number: int) -> None:
        host.copyto(self._value(Ref(number)))

    # --- other workers ---

    def send(self, worker: int, value: Tensor) -> None:
        """Give a tensor to another worker."""
        self._channel.send(["mail", worker, value.copyto(cpu(0))])

    def receive(self, worker: int) -> Tensor:
        """The next tensor that another worker gave to this one."""
        found: Any = self._mail[worker].get()
        if found is _Gone:
            raise TVMError(f"worker {self.worker_id} waits for {worker}, and the session ends")
        assert isinstance(found, Tensor)
        return found


class _Gone:
    """What a worker finds in its mail when the session ends."""


def current_worker() -> Worker:
    """The worker that runs in this thread."""
    worker: Worker | None = getattr(_here, "worker", None)
    if worker is None:
        raise TVMError(
            message(
                "the worker of this thread",
                found="a thread that is no worker",
                legal="functions that a tvm.runtime.disco session calls",
            )
        )
    return worker
