"""How the workers of a session exchange arrays: through the session, or directly by gloo.

| name of `init_ccl` | ways |
|---|---|
| `loopback` | each array goes to the session, which hands it on |
| `gloo` | from worker to worker, by the collectives of `torch.distributed` (the extra `torch`) |
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tvm.error import TVMError, message
from tvm.runtime._tensor import host_view, tensor
from tvm.runtime.extras import extra_package
from tvm.support.scratch import scratch_folder

if TYPE_CHECKING:
    from .worker import Worker

Array = np.ndarray[Any, Any]
LOOPBACK: Final = "loopback"
GLOO: Final = "gloo"
HOST: Final = "TVM_DISCO_HOST"  # the address of worker 0's machine, where there are several
_TIMEOUT: Final = timedelta(minutes=30)  # of one exchange by gloo

# by the numbers that sessions send: sum, product, smallest, largest, mean
REDUCE: Final[dict[int, Callable[[list[Array]], Array]]] = {
    0: lambda parts: np.add.reduce(parts),
    1: lambda parts: np.multiply.reduce(parts),
    2: lambda parts: np.minimum.reduce(parts),
    3: lambda parts: np.maximum.reduce(parts),
    4: lambda parts: (np.add.reduce(parts) / len(parts)).astype(parts[0].dtype),
}
_MEAN: Final = 4


class Communicator(ABC):
    """Exchanges of one worker with others. All `members` of a collective call it, in one order;
    the first of them is its root. `like` is an array as large as what comes.
    """

    @abstractmethod
    def send(self, worker: int, values: Array) -> None:
        """Give an array to another worker."""

    @abstractmethod
    def receive(self, worker: int, like: Array) -> Array:
        """The next array that another worker gave to this one."""

    @abstractmethod
    def broadcast(self, members: range, values: Array | None, like: Array) -> Array:
        """The root's array."""

    @abstractmethod
    def scatter(self, members: range, parts: Array | None, like: Array) -> Array:
        """This worker's part of the root's; `parts` has the parts of all along its first axis."""

    @abstractmethod
    def gather(self, members: range, values: Array) -> list[Array] | None:
        """The arrays of all in their order, on the root."""

    @abstractmethod
    def allgather(self, members: range, values: Array) -> list[Array]:
        """The arrays of all in their order, on all."""

    def allreduce(self, members: range, values: Array, kind: int) -> Array:
        """The arrays of all as one; every worker reduces in the same order."""
        return REDUCE[kind](self.allgather(members, values))


class Loopback(Communicator):
    """Through the session."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def send(self, worker: int, values: Array) -> None:
        self._worker.send(worker, tensor(values))

    def receive(self, worker: int, like: Array) -> Array:
        return host_view(self._worker.receive(worker))

    def broadcast(self, members: range, values: Array | None, like: Array) -> Array:
        if values is None:
            return self.receive(members[0], like)
        for member in members[1:]:
            self.send(member, values)
        return values

    def scatter(self, members: range, parts: Array | None, like: Array) -> Array:
        if parts is None:
            return self.receive(members[0], like)
        for member, part in zip(members[1:], parts[1:]):
            self.send(member, part)
        return np.asarray(parts[0])

    def gather(self, members: range, values: Array) -> list[Array] | None:
        if self._worker.worker_id == members[0]:
            return self._collected(members, values)
        self.send(members[0], values)
        return None

    def allgather(self, members: range, values: Array) -> list[Array]:
        for member in members:
            if member != self._worker.worker_id:
                self.send(member, values)
        return self._collected(members, values)

    def _collected(self, members: range, own: Array) -> list[Array]:
        return [
            own if member == self._worker.worker_id else self.receive(member, own)
            for member in members
        ]


class Gloo(Communicator):
    """By `torch.distributed.ProcessGroupGloo`: a group for each range of workers that meets.

    Values travel as bytes, so that types which torch does not have travel too; what torch can
    reduce it reduces, on the way.
    """

    def __init__(self, worker: Worker) -> None:
        self._torch = extra_package("torch", "torch", "exchange by gloo")
        self._dist = extra_package("torch.distributed", "torch", "exchange by gloo")
        self._worker = worker
        self._host = os.environ.get(HOST, "127.0.0.1")
        if self._host != "127.0.0.1" and os.environ.get("TVM_RPC_TLS") != "off":
            raise TVMError(
                message(f"exchange by gloo, with {HOST}={self._host}",
                        found="several machines, and gloo neither encrypts nor asks who comes",
                        legal="a network that others do not reach, which TVM_RPC_TLS=off says")
            )  # fmt: skip
        self._store = self._meeting_point()
        self._groups: dict[range, Any] = {}

    def _meeting_point(self) -> Any:
        """Where workers meet: a file that only this user reads, or a port of worker 0."""
        everyone, mail = range(self._worker.num_workers), Loopback(self._worker)
        here = self._host == "127.0.0.1"
        where, store = "", None
        if self._worker.worker_id == 0:
            if here:
                where = str(Path(scratch_folder("tvm-gloo-")) / "store")
            else:
                store = self._dist.TCPStore(self._host, 0, is_master=True, wait_for_workers=False)
                where = str(store.port)
        told = np.frombuffer(where.encode(), np.uint8) if where else None
        where = mail.broadcast(everyone, told, np.zeros(0, np.uint8)).tobytes().decode()
        if here:
            return self._dist.FileStore(where, len(everyone))
        return store or self._dist.TCPStore(self._host, int(where), is_master=False)

    def _group(self, members: range) -> Any:
        found = self._groups.get(members)
        if found is None:
            store = self._dist.PrefixStore(f"{members.start}-{members.stop}", self._store)
            rank = self._worker.worker_id - members.start
            options = self._dist.ProcessGroupGloo._Options()
            options._timeout = _TIMEOUT
            options._devices = [self._dist.ProcessGroupGloo.create_device(hostname=self._own_host)]
            found = self._dist.ProcessGroupGloo(store, rank, len(members), options)
            self._groups[members] = found
        return found

    @property
    def _own_host(self) -> str:
        return "127.0.0.1" if self._host == "127.0.0.1" else ""

    def _bytes(self, values: Array) -> Any:
        flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        return self._torch.from_numpy(flat if flat.flags.writeable else flat.copy())

    def _empty(self, like: Array) -> Any:
        return self._torch.empty(like.nbytes, dtype=self._torch.uint8)

    def send(self, worker: int, values: Array) -> None:
        self._group(range(self._worker.num_workers)).send([self._bytes(values)], worker, 0).wait()

    def receive(self, worker: int, like: Array) -> Array:
        got = self._empty(like)
        self._group(range(self._worker.num_workers)).recv([got], worker, 0).wait()
        return _values(got, like)

    def broadcast(self, members: range, values: Array | None, like: Array) -> Array:
        got = self._empty(like) if values is None else self._bytes(values)
        self._group(members).broadcast(got, 0).wait()
        return _values(got, like)

    def scatter(self, members: range, parts: Array | None, like: Array) -> Array:
        got = self._empty(like)
        given = [] if parts is None else [self._bytes(part) for part in parts]
        self._group(members).scatter(got, given, 0).wait()
        return _values(got, like)

    def gather(self, members: range, values: Array) -> list[Array] | None:
        root = self._worker.worker_id == members[0]
        got = [self._empty(values) for _ in members] if root else []
        self._group(members).gather([got] if root else [], [self._bytes(values)]).wait()
        return [_values(part, values) for part in got] if root else None

    def allgather(self, members: range, values: Array) -> list[Array]:
        got = [self._empty(values) for _ in members]
        self._group(members).allgather([got], [self._bytes(values)]).wait()
        return [_values(part, values) for part in got]

    def allreduce(self, members: range, values: Array, kind: int) -> Array:
        if values.dtype.kind not in "if" or (kind == _MEAN and values.dtype.kind == "i"):
            return super().allreduce(members, values, kind)
        op = self._dist.ReduceOp
        by = {0: op.SUM, 1: op.PRODUCT, 2: op.MIN, 3: op.MAX, _MEAN: op.SUM}[kind]
        total = self._torch.from_numpy(np.array(values).reshape(-1))
        self._group(members).allreduce(total, by).wait()
        got: Array = total.numpy().reshape(values.shape)
        return got / got.dtype.type(len(members)) if kind == _MEAN else got


def _values(got: Any, like: Array) -> Array:
    values: Array = got.numpy().view(like.dtype).reshape(like.shape)
    return values


_KINDS: Final[dict[str, Callable[[Worker], Communicator]]] = {LOOPBACK: Loopback, GLOO: Gloo}


def communicator(name: str, worker: Worker) -> Communicator:
    """That of a name; all workers of a session ask for it at the same time."""
    return _KINDS[name](worker)


def check_name(name: str) -> None:
    """ValueError for a library that is not there."""
    if name not in _KINDS:
        raise ValueError(
            message("init_ccl", found=f"the library {name!r}, which is not in this installation",
                    legal=f"{LOOPBACK!r}, which goes through the session, or {GLOO!r}")
        )  # fmt: skip
