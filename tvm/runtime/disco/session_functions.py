"""Sessions as functions by name, for programs that reach everything that way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ffi import register_global_func

from .session import (
    DPackedFunc,
    DRef,
    ProcessSession,
    Session,
    SocketSession,
    ThreadedSession,
    join_session,
)


def _register(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return register_global_func(f"runtime.disco.{name}", override=True)


# --- sessions ---


@_register("SessionThreaded")
def session_threaded(num_workers: int, num_groups: int) -> Session:
    """Workers are threads of this process."""
    return ThreadedSession(num_workers, num_groups)


@_register("SessionProcess")
def session_process(
    num_workers: int, num_groups: int, process_pool_creator: str, entrypoint: str
) -> Session:
    """Workers are processes."""
    del process_pool_creator  # there is one way to start them
    return ProcessSession(num_workers, num_groups, str(entrypoint))


@_register("SocketSession")
def socket_session(
    num_nodes: int, num_workers_per_node: int, num_groups: int, host: str, port: int
) -> Session:
    """Workers of several machines, which join this one."""
    return SocketSession(num_nodes, num_workers_per_node, num_groups, str(host), port)


@_register("socket_session_init_workers")
def socket_session_init_workers(
    num_nodes: int, node_id: int, num_groups: int, num_workers_per_node: int
) -> None:
    """Whether these numbers make a session; workers learn them when they join."""
    if not 0 <= node_id < num_nodes or (num_nodes * num_workers_per_node) % num_groups:
        raise ValueError(
            f"socket_session_init_workers: node {node_id} of {num_nodes}, "
            f"{num_workers_per_node} workers each in {num_groups} groups; legal: a node of the "
            "session, groups of equal size"
        )


@_register("RemoteSocketSession")
def remote_socket_session(server_host: str, server_port: int, num_workers: int) -> None:
    """Give workers of this process to a session of another one, until it ends."""
    join_session(str(server_host), server_port, num_workers)


@_register("SessionGetNumWorkers")
def session_get_num_workers(session: Session) -> int:
    """How many workers there are."""
    return session.num_workers


@_register("SessionShutdown")
def session_shutdown(session: Session) -> None:
    """End all workers."""
    session.shutdown()


@_register("SessionSyncWorker")
def session_sync_worker(session: Session, worker_id: int) -> None:
    """Wait until a worker has done everything it was told."""
    session._sync_worker(worker_id)


@_register("SessionInitCCL")
def session_init_ccl(session: Session, ccl: str, device_ids: Sequence[int]) -> None:
    """Choose the library of exchanges between workers."""
    session.init_ccl(str(ccl), *device_ids)


# --- functions and values ---


@_register("SessionGetGlobalFunc")
def session_get_global_func(session: Session, name: str) -> DPackedFunc:
    """A registered function of each worker."""
    return session.get_global_func(str(name))


@_register("SessionCallPacked")
def session_call_packed(session: Session, *args: Any) -> DRef:
    """Call a function on each worker: two numbers of the protocol, the function, its arguments."""
    _, _, func, *operands = args
    return session.call_packed(func, *operands)


@_register("SessionCopyFromWorker0")
def session_copy_from_worker0(session: Session, host_array: Any, remote_array: DRef) -> None:
    """Copy a tensor of worker 0 here; it is there after a wait for worker 0."""
    session.copy_from_worker_0(host_array, remote_array)


@_register("SessionCopyToWorker0")
def session_copy_to_worker0(session: Session, host_array: Any, remote_array: DRef) -> None:
    """Copy a tensor to worker 0."""
    session.copy_to_worker_0(host_array, remote_array)


@_register("DRefDebugGetFromRemote")
def dref_debug_get_from_remote(dref: DRef, worker_id: int) -> Any:
    """The value of one worker."""
    return dref.debug_get_from_remote(worker_id)


@_register("DRefDebugCopyFrom")
def dref_debug_copy_from(dref: DRef, worker_id: int, value: Any) -> None:
    """Overwrite the tensor of one worker."""
    dref.debug_copy_from(worker_id, value)
