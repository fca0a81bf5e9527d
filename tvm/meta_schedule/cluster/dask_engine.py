"""Dask as the engine: a task for one worker."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from tvm.error import TVMError, message

from .cluster import Node
from .machine import describe

_PORT = 8786  # of Dask's scheduler
_PATIENCE_S = 60


class DaskEngine:
    """Workers of a Dask cluster; `local` is one of this machine, with so many cores."""

    def __init__(self, host: str, cores: int | None = None) -> None:
        try:
            self._dask: Any = importlib.import_module("distributed")
        except ImportError as err:
            found, legal = f"no package distributed ({err})", 'pip install "tvm-py[dask]"'
            raise TVMError(message("dask://", found=found, legal=legal)) from err
        self._local: Any = None
        if host == "local":
            self._local = self._dask.LocalCluster(
                n_workers=1, threads_per_worker=cores, dashboard_address=None
            )
            self._client = self._dask.Client(self._local)
        else:
            address = host if ":" in host else f"{host}:{_PORT}"
            self._client = self._dask.Client(f"tcp://{address}", timeout=_PATIENCE_S)
        self._theirs: dict[Future[Any], Any] = {}
        self._known: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """All workers that live; who is new says what it is."""
        alive = list(self._client.scheduler_info(n_workers=-1)["workers"])
        asked = {
            name: self._start(name, describe, ()) for name in alive
            if name not in self._known
        }  # fmt: skip
        for name, future in asked.items():
            try:
                machine, cores = future.result(timeout=_PATIENCE_S)
            except (OSError, TimeoutError, CancelledError, self._dask.KilledWorker):
                continue  # it came and went
            self._known[name] = Node(name, machine, cores)
        return [self._known[name] for name in alive if name in self._known]

    def _start(self, name: str, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        return self._client.submit(
            func, *args, workers=[name], allow_other_workers=False, pure=False, retries=0
        )

    def submit(self, node: Node, func: Callable[..., Any], args: Sequence[Any]) -> Future[Any]:
        """Start a task."""
        theirs = self._start(node.name, func, args)
        future: Future[Any] = Future()
        self._theirs[future] = theirs

        def tell(done: Any) -> None:
            self._theirs.pop(future, None)
            if future.done():
                return
            try:
                future.set_result(done.result(timeout=_PATIENCE_S))
            except BaseException as err:
                future.set_exception(err)

        theirs.add_done_callback(tell)
        return future

    def cancel(self, future: Future[Any]) -> None:
        """Take a task back; one that has begun goes on to its own time limit."""
        theirs = self._theirs.pop(future, None)
        if theirs is not None:
            theirs.cancel(force=True)

    def is_lost(self, error: BaseException) -> bool:
        """Whether the worker died, or the connection to it."""
        lost = (self._dask.KilledWorker, self._dask.CommClosedError, CancelledError)
        return isinstance(error, lost) or type(error).__name__ == "FutureCancelledError"

    def close(self) -> None:
        """Leave; a local cluster ends."""
        self._client.close()
        if self._local is not None:
            self._local.close()
