"""Sessions: what the controlling program holds of its workers.

    sess = tvm.runtime.disco.ProcessSession(num_workers=4)
    x = sess.scatter(np.arange(8.0))
    add_one = sess.get_global_func("my.add_one")
    y = add_one(x)                               # runs on all workers; y stands for four values
    y.debug_get_from_remote(3)

Commands are queued and not waited for. What a command could not do is raised by the next call that
waits for that worker.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tvm.error import RPCError, TVMError, message
from tvm.ffi import Object, library
from tvm.runtime import handshake, tls
from tvm.runtime._device import Device
from tvm.runtime._tensor import Tensor, tensor
from tvm.runtime.wire import Ref, error_of

from . import builtins as _builtins  # noqa: F401  (it registers what workers are asked for)
from .channel import Channel, PipeChannel, SocketChannel, queue_pair
from .communicator import check_name
from .process_pool import DiscoPopenWorker
from .worker import Worker

REDUCE_OPS: Final = {"sum": 0, "prod": 1, "min": 2, "max": 3, "avg": 4}
DISCO_MAGIC: Final = 0x15C0FF27
_JOIN_S: Final = 300.0  # how long a session waits for its other machines


class _Hub:
    """The channels to all workers; passes mail between them and collects their answers."""

    def __init__(self, channels: Sequence[Channel]) -> None:
        self.channels = list(channels)
        self.answers: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in channels]
        self.open = True
        for i in range(len(self.channels)):
            threading.Thread(target=self._listen, args=(i,), daemon=True).start()

    def _listen(self, worker: int) -> None:
        with contextlib.suppress(ValueError):  # what it says is no message
            while (received := self.channels[worker].receive()) is not None:
                if received[0] == "mail":
                    _, to, content = received
                    self._forward(to, ["mail", worker, content])
                else:
                    _, good, value = received
                    self.answers[worker].put((good, value))
        self.answers[worker].put(None)

    def _forward(self, worker: int, mail: list[Any]) -> None:
        # where it has ended, who waits for it is told so
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            self.channels[worker].send(mail)

    def tell(self, worker: int, command: list[Any]) -> None:
        """Queue a command for one worker."""
        try:
            self.channels[worker].send(command)
        except (OSError, ValueError) as err:
            raise TVMError(f"worker {worker} of the session has ended") from err

    def ask(self, worker: int, command: list[Any]) -> Any:
        """Queue a command and wait for its answer."""
        self.tell(worker, command)
        answer = self.answers[worker].get()
        if answer is None:
            self.answers[worker].put(None)
            raise TVMError(f"worker {worker} of the session has ended")
        good, value = answer
        if not good:
            raise error_of(value, f"worker {worker}")
        return value

    def stop(self) -> None:
        """Tell all workers that the session ends."""
        if not self.open:
            return
        self.open = False
        for channel in self.channels:
            with contextlib.suppress(OSError, ValueError):
                channel.send(["stop"])


class _Register:
    """A number under which workers keep a value, until nobody holds this."""

    def __init__(self, hub: _Hub, number: int) -> None:
        self.hub, self.number = hub, number

    def __del__(self) -> None:
        if self.hub.open:
            for worker in range(len(self.hub.channels)):
                with contextlib.suppress(TVMError):
                    self.hub.tell(worker, ["drop", self.number])


class DRef(Object):
    """Stands for one value on each worker."""

    def __init__(self, register: _Register, session: Session) -> None:
        self._register, self._session = register, session

    @property
    def reg_id(self) -> int:
        """The number of the value on the workers."""
        return self._register.number

    @property
    def session(self) -> Session:
        """The session whose workers hold the value."""
        return self._session

    def debug_get_from_remote(self, worker_id: int) -> Any:
        """The value of one worker."""
        hub = self._session._hub_for(worker_id)
        return _presented(hub.ask(worker_id, ["get", self.reg_id]))

    def debug_copy_from(self, worker_id: int, value: Any) -> None:
        """Overwrite the tensor of one worker."""
        given = tensor(value) if isinstance(value, np.ndarray) else value
        self._session._hub_for(worker_id).tell(worker_id, ["set", self.reg_id, given])


def _presented(value: Any) -> Any:
    """Lists as the arrays that packed functions know."""
    return library().convert(value) if isinstance(value, (list, dict)) else value


class DPackedFunc(DRef):
    """A function on each worker; calling it calls all of them."""

    def __init__(self, dref: DRef, session: Session) -> None:
        super().__init__(dref._register, session)

    def __call__(self, *args: Any) -> DRef:
        return self._session.call_packed(self, *args)


class DModule(DRef):
    """A module on each worker."""

    def __init__(self, dref: DRef, session: Session) -> None:
        super().__init__(dref._register, session)

    def __getitem__(self, name: str) -> DPackedFunc:
        find = self._session._get_cached_method("runtime.disco.module_function")
        return DPackedFunc(find(self, name, True), self._session)


class Session(Object):
    """Workers that run the same commands; the subclasses say where they run."""

    def _start(
        self, channels: Sequence[Channel], processes: Sequence[DiscoPopenWorker] = ()
    ) -> None:
        self._hub = _Hub(channels)
        self._processes = list(processes)
        self._numbers = 0
        self._methods: dict[str, _Register] = {}

    def __del__(self) -> None:
        if hasattr(self, "_hub"):
            self._hub.stop()

    def _hub_for(self, worker_id: int) -> _Hub:
        if not 0 <= worker_id < self.num_workers:
            raise ValueError(
                message(
                    "a worker of the session",
                    found=f"number {worker_id}",
                    legal=f"0 to {self.num_workers - 1}",
                )
            )
        return self._hub

    def _new(self) -> _Register:
        self._numbers += 1
        return _Register(self._hub, self._numbers)

    def _tell_all(self, command: list[Any]) -> None:
        for worker in range(self.num_workers):
            self._hub.tell(worker, command)

    # --- the session ---

    @property
    def num_workers(self) -> int:
        """How many workers there are."""
        return len(self._hub.channels)

    def shutdown(self) -> None:
        """End all workers."""
        self._hub.stop()
        for process in self._processes:
            process.join(timeout=10)
            process.kill()

    def _sync_worker(self, worker_id: int) -> None:
        self._hub_for(worker_id).ask(worker_id, ["sync"])

    def _sync_all(self) -> None:
        for worker in range(self.num_workers):
            self._sync_worker(worker)

    def sync_worker_0(self) -> None:
        """Wait until worker 0 has done everything it was told."""
        self._sync_worker(0)

    # --- functions ---

    def _find(self, name: str) -> _Register:
        register = self._new()
        self._tell_all(["global", register.number, name])
        return register

    def get_global_func(self, name: str) -> DPackedFunc:
        """A registered function of each worker."""
        return DPackedFunc(DRef(self._find(name), self), self)

    def _get_cached_method(self, name: str) -> DPackedFunc:
        """A registered function, which is looked up once."""
        if name not in self._methods:
            self._methods[name] = self._find(name)
        return DPackedFunc(DRef(self._methods[name], self), self)

    def import_python_module(self, module_name: str) -> None:
        """Import a module on each worker."""
        self._get_cached_method("runtime.disco.import_python_module")(module_name)

    def call_packed(self, func: DRef, *args: Any) -> DRef:
        """Call a function on each worker; the result stands for what each of them returns."""
        register = self._new()
        given = [_sendable(arg) for arg in args]
        self._tell_all(["call", register.number, Ref(func.reg_id), given])
        return DRef(register, self)

    # --- tensors ---

    def empty(
        self,
        shape: Sequence[int],
        dtype: str,
        device: Device | None = None,
        worker0_only: bool = False,
        in_group: bool = True,
    ) -> DRef:
        """A new tensor on each worker, or on the first one only (of each group)."""
        make = self._get_cached_method("runtime.disco.empty")
        return make(library().Shape(tuple(shape)), dtype, device, worker0_only, in_group)

    def copy_from_worker_0(self, host_array: Tensor, remote_array: DRef) -> None:
        """Copy a tensor of worker 0 here; it is there after `sync_worker_0`."""
        self._hub.tell(0, ["read", host_array, remote_array.reg_id])

    def copy_to_worker_0(self, host_array: Tensor, remote_array: DRef | None = None) -> DRef:
        """Copy a tensor to worker 0, into a new one if none is given."""
        if remote_array is None:
            remote_array = self.empty(host_array.shape, str(host_array.dtype), None, True, False)
        self._hub.tell(0, ["write", host_array.copyto(host_array.device), remote_array.reg_id])
        return remote_array

    # --- modules ---

    def load_vm_module(self, path: str, device: Device | None = None) -> DModule:
        """A compiled Relax program of a file, on each worker; all have read it afterwards."""
        load = self._get_cached_method("runtime.disco.load_vm_module")
        module = DModule(load(os.fspath(path), device), self)
        self._sync_all()  # the file may go from here on
        return module

    # --- exchange ---

    def init_ccl(self, ccl: str, *device_ids: int) -> None:
        """Choose the library of exchanges between workers, and the number of each one's device."""
        check_name(ccl)
        ids = library().Shape([int(number) for number in device_ids])
        self._get_cached_method("runtime.disco.init_ccl")(ccl, ids)
        self._sync_all()

    def broadcast(self, src: Any, dst: DRef | None = None, in_group: bool = True) -> DRef:
        """An array on each worker."""
        source = _as_tensor(src)
        if dst is None:
            dst = self.empty(source.shape, str(source.dtype))
        self.broadcast_from_worker0(self.copy_to_worker_0(source), dst, in_group)
        return dst

    def broadcast_from_worker0(self, src: DRef, dst: DRef, in_group: bool = True) -> None:
        """A tensor of the first worker on each worker."""
        self._get_cached_method("runtime.disco.broadcast_from_worker0")(src, in_group, dst)

    def scatter(self, src: Any, dst: DRef | None = None, in_group: bool = True) -> DRef:
        """A row of an array on each worker."""
        source = _as_tensor(src)
        if not source.shape or source.shape[0] != self.num_workers:
            raise ValueError(
                message(
                    "scatter",
                    found=f"an array of shape {tuple(source.shape)}",
                    legal=f"a first dimension of {self.num_workers}, one row a worker",
                )
            )
        if dst is None:
            dst = self.empty(source.shape[1:], str(source.dtype))
        self.scatter_from_worker0(self.copy_to_worker_0(source), dst, in_group)
        return dst

    def scatter_from_worker0(self, from_array: DRef, to_array: DRef, in_group: bool = True) -> None:
        """A part of the first worker's tensor on each worker."""
        scatter = self._get_cached_method("runtime.disco.scatter_from_worker0")
        scatter(from_array, in_group, to_array)

    def gather_to_worker0(self, from_array: DRef, to_array: DRef, in_group: bool = True) -> None:
        """The tensors of all workers behind one another on the first one."""
        gather = self._get_cached_method("runtime.disco.gather_to_worker0")
        gather(from_array, in_group, to_array)

    def allreduce(self, src: DRef, dst: DRef, op: str = "sum", in_group: bool = True) -> None:
        """The tensors of all workers as one, on each of them."""
        if op not in REDUCE_OPS:
            raise ValueError(
                f"Unsupported reduce op: {op}. Available ops are: {', '.join(REDUCE_OPS)}"
            )
        kind = library().Shape([REDUCE_OPS[op]])
        self._get_cached_method("runtime.disco.allreduce")(src, kind, in_group, dst)

    def allgather(self, src: DRef, dst: DRef, in_group: bool = True) -> None:
        """The tensors of all workers behind one another, on each of them."""
        self._get_cached_method("runtime.disco.allgather")(src, in_group, dst)


def _sendable(arg: Any) -> Any:
    if isinstance(arg, DRef):
        return Ref(arg.reg_id)
    if isinstance(arg, (list, tuple, library().Array)) and not isinstance(arg, library().Shape):
        return [_sendable(item) for item in arg]
    return tensor(arg) if isinstance(arg, np.ndarray) else arg


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else tensor(value)


# --- where workers run ---


def _in_thread(worker_id: int, num_workers: int, num_groups: int) -> Channel:
    mine, theirs = queue_pair()
    worker = Worker(worker_id, num_workers, num_groups, theirs)
    threading.Thread(target=worker.run, name=f"disco-{worker_id}", daemon=True).start()
    return mine


def _check_numbers(num_workers: int, num_groups: int) -> None:
    if num_workers < 1 or num_groups < 1 or num_workers % num_groups:
        raise ValueError(
            message(
                "a session",
                found=f"{num_workers} workers in {num_groups} groups",
                legal="groups of equal size, with one worker or more",
            )
        )


class ThreadedSession(Session):
    """Workers are threads of this process."""

    def __init__(self, num_workers: int, num_groups: int = 1) -> None:
        _check_numbers(num_workers, num_groups)
        self._start([_in_thread(i, num_workers, num_groups) for i in range(num_workers)])


class ProcessSession(Session):
    """Workers are processes, except worker 0, which is a thread of this one."""

    def __init__(
        self, num_workers: int, num_groups: int = 1, entrypoint: str = "tvm.exec.disco_worker"
    ) -> None:
        _check_numbers(num_workers, num_groups)
        channels = [_in_thread(0, num_workers, num_groups)]
        processes = []
        for i in range(1, num_workers):
            process = DiscoPopenWorker(i, num_workers, num_groups, entrypoint)
            read_fd, write_fd = process.start()
            channels.append(PipeChannel(os.fdopen(read_fd, "rb"), os.fdopen(write_fd, "wb")))
            processes.append(process)
        self._start(channels, processes)


class SocketSession(Session):
    """Workers of several machines: this one listens, the others join with
    `python -m tvm.exec.disco_remote_socket_session HOST PORT WORKERS`.
    """

    def __init__(
        self, num_nodes: int, num_workers_per_node: int, num_groups: int, host: str, port: int
    ) -> None:
        count = num_nodes * num_workers_per_node
        _check_numbers(count, num_groups)
        channels = [_in_thread(i, count, num_groups) for i in range(num_workers_per_node)]
        with contextlib.closing(_open(host, int(port))) as server:
            for node in range(1, num_nodes):
                first = node * num_workers_per_node
                for i in range(num_workers_per_node):
                    channels.append(_joined(server, first + i, count, num_groups))
        self._start(channels)


def _open(host: str, port: int) -> tls.Gate:
    address = tls.bind_address(host)
    try:
        return tls.Gate(socket.create_server((address, port)))
    except (OSError, OverflowError) as err:
        raise TVMError(
            message(
                "start a session of several machines",
                found=f"{address}:{port}: {err}",
                legal="an address of this machine and a free port",
            )
        ) from err


def _joined(server: tls.Gate, worker_id: int, num_workers: int, groups: int) -> Channel:
    """The channel of the next worker that joins; it learns its number. Strangers are sent away."""
    until = time.monotonic() + _JOIN_S
    while True:
        server.settimeout(max(until - time.monotonic(), 0.01))
        try:
            sock, _ = server.accept()
        except TimeoutError:
            raise TVMError(
                message(
                    "start a session of several machines",
                    found=f"no worker {worker_id} within {_JOIN_S:.0f} seconds",
                    legal="python -m tvm.exec.disco_remote_socket_session HOST PORT WORKERS there",
                )
            ) from None
        try:
            handshake.accept(sock, DISCO_MAGIC)
            break
        except (OSError, RPCError):
            sock.close()
    sock.settimeout(None)
    channel = SocketChannel(sock)
    channel.send(["welcome", worker_id, num_workers, groups])
    return channel


def join_session(server_host: str, server_port: int, num_workers: int) -> None:
    """Give workers to a SocketSession, and return when it ends."""
    threads = []
    for _ in range(num_workers):
        sock = tls.dial((server_host, server_port), _JOIN_S)
        try:
            handshake.connect(sock, DISCO_MAGIC, _JOIN_S)  # it lets one after the other in
        except handshake.StrangerError:
            raise
        except (OSError, RPCError) as err:
            raise TVMError(
                f"{server_host}:{server_port} is no session that waits for workers: {err}"
            ) from err
        sock.settimeout(None)
        channel = SocketChannel(sock)
        received = channel.receive()
        if received is None or received[0] != "welcome":
            raise TVMError(f"{server_host}:{server_port} is no session that waits for workers")
        worker_id, count, groups = received[1:]
        worker = Worker(worker_id, count, groups, channel)
        threads.append(threading.Thread(target=worker.run, daemon=True))
        threads[-1].start()
    for thread in threads:
        thread.join()


__all__ = [
    "REDUCE_OPS",
    "DModule",
    "DPackedFunc",
    "DRef",
    "ProcessSession",
    "Session",
    "SocketSession",
    "ThreadedSession",
]
