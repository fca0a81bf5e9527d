"""What sessions call on their workers: new tensors, modules, and exchanges between workers."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from tvm.error import ShapeError, TVMError, message
from tvm.ffi import register_global_func
from tvm.runtime._device import Device, cpu
from tvm.runtime._tensor import Tensor, empty, host_view, numpy_dtype, numpy_shape
from tvm.runtime.module import Module, load_module
from tvm.runtime.vm import VirtualMachine

from .communicator import LOOPBACK, Array, communicator
from .worker import Worker, current_worker

F = TypeVar("F", bound=Callable[..., Any])


def _register(name: str) -> Callable[[F], F]:
    return register_global_func(f"runtime.disco.{name}", override=True)


@_register("worker_id")
def worker_id() -> int:
    """The number of this worker among all."""
    return current_worker().worker_id


@_register("worker_rank")
def worker_rank() -> int:
    """The number of this worker in its group."""
    worker = current_worker()
    return worker.worker_id % worker.group_size


@_register("device")
def device() -> Device:
    """Where this worker puts its tensors."""
    return current_worker().default_device


@_register("compiled_ccl")
def compiled_ccl() -> str:
    """The library that exchanges between workers go through unless another one is chosen."""
    return LOOPBACK


@_register("init_ccl")
def init_ccl(ccl: str, device_ids: Sequence[int]) -> None:
    """Choose the library, and the device of each worker: all workers at the same time."""
    worker = current_worker()
    if len(device_ids) != worker.num_workers:
        raise TVMError(
            message(
                "init_ccl",
                found=f"{len(device_ids)} devices for {worker.num_workers} workers",
                legal="one device a worker",
            )
        )
    worker.communicator = communicator(str(ccl), worker)


@_register("bind_worker_to_cpu_core")
def bind_worker_to_cpu_core(cores: Sequence[int]) -> None:
    """Let this worker run on one core only, where the system has a way to say so."""
    core = int(cores[current_worker().worker_id])
    if core >= 0 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


@_register("import_python_module")
def import_python_module(name: str) -> None:
    """Import a module, for the functions that it registers."""
    importlib.import_module(name)


@_register("empty")
def disco_empty(
    shape: Sequence[int], dtype: str, dev: Device | None, worker0_only: bool, in_group: bool
) -> Tensor | None:
    """A new tensor; None where it is asked for on the first worker only (of each group)."""
    worker = current_worker()
    if worker0_only and worker.worker_id != _root(worker, in_group):
        return None
    return empty(tuple(shape), str(dtype), dev or worker.default_device)


@_register("load_vm_module")
def load_vm_module(path: str, dev: Device | None) -> VirtualMachine:
    """A compiled Relax program, loaded on this worker."""
    return VirtualMachine(load_module(path), dev or current_worker().default_device)


@_register("module_function")
def module_function(module: Module | VirtualMachine, name: str, query_imports: bool) -> Any:
    """A function of a module, or of a loaded Relax program."""
    if isinstance(module, VirtualMachine):
        return module[name]
    return module.get_function(name, query_imports)


@_register("sync_worker")
def sync_worker() -> None:
    """Wait for the device of this worker."""
    current_worker().default_device.sync()


# --- exchange ---


def _root(worker: Worker, in_group: bool) -> int:
    return worker.worker_id // worker.group_size * worker.group_size if in_group else 0


def _members(worker: Worker, in_group: bool) -> range:
    root = _root(worker, in_group)
    return range(root, root + worker.group_size) if in_group else range(worker.num_workers)


def _values(held: Tensor) -> Array:
    """What a tensor holds, wherever it lies."""
    return host_view(held if held.device.type == "cpu" else held.copyto(cpu(0)))


def _like(held: Tensor) -> Array:
    """An array as large as a tensor."""
    return np.empty(numpy_shape(held), numpy_dtype(held.dtype))


def _parts(whole: Tensor, count: int, what: str) -> Array:
    """The values of a tensor as so many equal parts."""
    values = _values(whole)
    if values.size % count:
        raise ShapeError(
            message(
                f"{what} {tuple(whole.shape)} among {count} workers",
                found=f"{values.size} elements",
                legal=f"a multiple of {count}",
            )
        )
    return np.ascontiguousarray(values).reshape(count, -1)


def _fill(target: Tensor, values: Any, what: str) -> None:
    flat = np.asarray(values).reshape(-1)
    size = int(np.prod([int(extent) for extent in target.shape], dtype=np.int64))
    if flat.size != size:
        raise ShapeError(
            message(
                what,
                found=f"{flat.size} elements for a tensor of shape {tuple(target.shape)}",
                legal=f"{size} elements",
            )
        )
    target.copyfrom(flat.reshape(target.shape))


@_register("broadcast_from_worker0")
def broadcast_from_worker0(send: Tensor | None, in_group: bool, recv: Tensor) -> None:
    """The first worker's tensor on all."""
    worker = current_worker()
    given = None
    if worker.worker_id == _root(worker, in_group):
        given = _values(_present(send, "broadcast_from_worker0"))
    members = _members(worker, in_group)
    found = worker.communicator.broadcast(members, given, _like(recv))
    _fill(recv, found, "broadcast_from_worker0")


@_register("scatter_from_worker0")
def scatter_from_worker0(send: Tensor | None, in_group: bool, recv: Tensor) -> None:
    """The first worker's tensor, a part to each."""
    worker, what = current_worker(), "scatter_from_worker0"
    members = _members(worker, in_group)
    parts = None
    if worker.worker_id == _root(worker, in_group):
        parts = _parts(_present(send, what), len(members), what)
    _fill(recv, worker.communicator.scatter(members, parts, _like(recv)), what)


@_register("gather_to_worker0")
def gather_to_worker0(send: Tensor, in_group: bool, recv: Tensor | None) -> None:
    """All tensors behind one another on the first worker."""
    worker, what = current_worker(), "gather_to_worker0"
    if worker.worker_id == _root(worker, in_group):
        _present(recv, what)
    found = worker.communicator.gather(_members(worker, in_group), _values(send))
    if found is not None:
        _fill(_present(recv, what), _joined(found), what)


@_register("allgather")
def allgather(send: Tensor, in_group: bool, recv: Tensor) -> None:
    """All tensors behind one another on all."""
    worker = current_worker()
    found = worker.communicator.allgather(_members(worker, in_group), _values(send))
    _fill(recv, _joined(found), "allgather")


@_register("allreduce")
def allreduce(send: Tensor, reduce_kind: Sequence[int], in_group: bool, recv: Tensor) -> None:
    """All tensors as one, on all, the same on each."""
    worker, kind = current_worker(), int(reduce_kind[0])
    members = _members(worker, in_group)
    _fill(recv, worker.communicator.allreduce(members, _values(send), kind), "allreduce")


def _joined(parts: list[Array]) -> Array:
    return np.concatenate([part.reshape(-1) for part in parts])


def _present(value: Tensor | None, what: str) -> Tensor:
    if value is None:
        raise TVMError(
            message(what, found="no tensor on the first worker", legal="a tensor there")
        )
    return value


@_register("recv_from_worker0")
def recv_from_worker0(buffer: Tensor) -> None:
    """Fill a tensor with what worker 0 sends to this one."""
    found = current_worker().communicator.receive(0, _like(buffer))
    _fill(buffer, found, "recv_from_worker0")


@_register("send_to_worker")
def send_to_worker(buffer: Tensor, receiver: int) -> None:
    """Give a tensor to another worker."""
    worker = current_worker()
    there = _checked(worker, int(receiver), "send_to_worker")
    worker.communicator.send(there, _values(buffer))


@_register("recv_from_worker")
def recv_from_worker(buffer: Tensor, sender: int) -> None:
    """Fill a tensor with what another worker sends."""
    worker = current_worker()
    there = _checked(worker, int(sender), "recv_from_worker")
    found = worker.communicator.receive(there, _like(buffer))
    _fill(buffer, found, "recv_from_worker")


@_register("send_to_next_group")
def send_to_next_group(buffer: Tensor) -> None:
    """Give a tensor to the worker of the same rank in the next group."""
    worker = current_worker()
    there = _checked(worker, worker.worker_id + worker.group_size, "send_to_next_group")
    worker.communicator.send(there, _values(buffer))


@_register("recv_from_prev_group")
def recv_from_prev_group(buffer: Tensor) -> None:
    """Fill a tensor with what the worker of the same rank in the group before sends."""
    worker = current_worker()
    there = _checked(worker, worker.worker_id - worker.group_size, "recv_from_prev_group")
    found = worker.communicator.receive(there, _like(buffer))
    _fill(buffer, found, "recv_from_prev_group")


def _checked(worker: Worker, other: int, what: str) -> int:
    if not 0 <= other < worker.num_workers or other == worker.worker_id:
        raise TVMError(
            message(
                f"{what} on worker {worker.worker_id}",
                found=f"worker {other} as the other end",
                legal=f"another of the workers 0 to {worker.num_workers - 1}",
            )
        )
    return other
