"""How well a search keeps a cluster busy, on nodes that exist in name only.

    python benchmarks/cluster.py --nodes 64 --trials 4000

Building and measuring are replaced by their times, which are drawn once with a seed. Printed is how
much of the nodes' time was used while there was enough to do, and what deciding costs a trial.
"""

from __future__ import annotations

import argparse
import heapq
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from tvm.meta_schedule.cluster import Cluster, Node

MACHINE = "simulated"


class Simulated:
    """An engine whose tasks take their first argument in seconds; one task at a time on a node."""

    def __init__(self, count: int) -> None:
        self._nodes = [Node(f"node{i}", MACHINE, 1) for i in range(count)]
        self._free_at = dict.fromkeys((n.name for n in self._nodes), 0.0)
        self._due: list[tuple[float, int, Future[Any]]] = []
        self._change = threading.Condition()
        self._number = 0
        self.busy_s = 0.0
        threading.Thread(target=self._serve, daemon=True).start()

    def nodes(self) -> list[Node]:
        """All of them, always."""
        return self._nodes

    def submit(self, node: Node, func: Callable[..., Any], args: Sequence[Any]) -> Future[Any]:
        """Done when the node has done what it had before, and has taken the time."""
        future: Future[Any] = Future()
        with self._change:
            begin = max(time.monotonic(), self._free_at[node.name])
            self._free_at[node.name] = begin + args[0]
            self.busy_s += args[0]
            self._number += 1
            heapq.heappush(self._due, (begin + args[0], self._number, future))
            self._change.notify()
        return future

    def _serve(self) -> None:
        while True:
            with self._change:
                while not self._due or self._due[0][0] > time.monotonic():
                    left = self._due[0][0] - time.monotonic() if self._due else None
                    self._change.wait(left)
                _, _, future = heapq.heappop(self._due)
            future.set_result(None)

    def cancel(self, future: Future[Any]) -> None:
        """Nothing is cancelled here."""

    def is_lost(self, error: BaseException) -> bool:
        """No node goes."""
        return False

    def close(self) -> None:
        """Nothing to leave."""


def _nothing(*_args: object) -> None:
    """What simulated nodes do."""


def main() -> None:
    """Measure on so many nodes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=64)
    parser.add_argument("--trials", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=0.5, help="of a measurement, on average")
    options = parser.parse_args()
    times = np.random.default_rng(0).gamma(4.0, options.seconds / 4.0, options.trials)
    engine = Simulated(options.nodes)
    cluster = Cluster(engine)
    begun, cpu = time.monotonic(), time.process_time()
    futures = [cluster.submit("measure", _nothing, float(t), machine=MACHINE) for t in times]
    most = len(futures) - 4 * options.nodes  # towards the end there is not enough for all
    done = 0
    while done < most:
        time.sleep(0.05)
        done = sum(f.done() for f in futures)
    wall = time.monotonic() - begun
    used = float(sum(t for t, f in zip(times, futures) if f.done())) / (wall * options.nodes)
    for future in futures:
        future.result()
    cost = (time.process_time() - cpu) / options.trials
    print(f"{options.nodes} nodes, {options.trials} trials: {used:.1%} of the nodes' time used, "
          f"{cost * 1e3:.2f} ms of CPU a trial")  # fmt: skip
    cluster.close()


if __name__ == "__main__":
    main()
