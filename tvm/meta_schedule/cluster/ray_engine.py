"""Ray as the engine: a task with a node's name on it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from tvm.error import TVMError, message

from .cluster import Node
from .machine import describe

DEFAULT_PORT = 10001  # of Ray's door for clients


class RayEngine:
    """Nodes of a Ray cluster; `local` is one of this machine, with so many cores."""

    def __init__(self, host: str, cores: int | None = None) -> None:
        try:
            self._ray: Any = importlib.import_module("ray")
            self._strategies: Any = importlib.import_module("ray.util.scheduling_strategies")
        except ImportError as err:
            found, legal = f"no package ray ({err})", 'pip install "tvm-py[ray]"'
            raise TVMError(message("ray://", found=found, legal=legal)) from err
        self._own = not self._ray.is_initialized()
        if self._own:
            options: dict[str, Any] = {"log_to_driver": False}
            if host == "local":
                options.update(num_cpus=cores, include_dashboard=False, address="local")
            else:
                options["address"] = f"ray://{host if ':' in host else f'{host}:{DEFAULT_PORT}'}"
            self._ray.init(**options)
        self._refs: dict[Future[Any], Any] = {}
        self._known: dict[str, Node] = {}

    def nodes(self) -> list[Node]:
        """All that live; who is new says what it is."""
        alive = [n["NodeID"] for n in self._ray.nodes() if n["Alive"]]
        asked = {
            name: self._submit(name, describe, ()) for name in alive
            if name not in self._known
        }  # fmt: skip
        for name, ref in asked.items():
            try:
                machine, cores = self._ray.get(ref, timeout=60)
            except self._ray.exceptions.RayError:  # it came and went
                continue
            self._known[name] = Node(name, machine, cores)
        return [self._known[name] for name in alive if name in self._known]

    def _submit(self, name: str, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        # who runs how much where is decided by Cluster: Ray is not to count cores again
        there = self._strategies.NodeAffinitySchedulingStrategy(node_id=name, soft=False)
        options = {"num_cpus": 0, "max_retries": 0, "scheduling_strategy": there}
        return self._ray.remote(**options)(func).remote(*args)

    def submit(self, node: Node, func: Callable[..., Any], args: Sequence[Any]) -> Future[Any]:
        """Start a task."""
        ref = self._submit(node.name, func, args)
        future: Future[Any] = ref.future()
        self._refs[future] = ref
        future.add_done_callback(lambda done: self._refs.pop(done, None))
        return future

    def cancel(self, future: Future[Any]) -> None:
        """End the process that works for nothing."""
        ref = self._refs.pop(future, None)
        if ref is not None:
            self._ray.cancel(ref, force=True)

    def is_lost(self, error: BaseException) -> bool:
        """All of Ray's errors but those that our function raised."""
        kinds = self._ray.exceptions
        return isinstance(error, kinds.RayError) and not isinstance(error, kinds.RayTaskError)

    def close(self) -> None:
        """Leave; a local cluster ends."""
        if self._own:
            self._ray.shutdown()
