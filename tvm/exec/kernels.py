"""The time of each kernel of a compiled function, and the source nodes that it computes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tvm.exec.command import table
from tvm.runtime.vm import VirtualMachine

if TYPE_CHECKING:
    from tvm.runtime import Tensor

RUNS = 20


class KernelTime(NamedTuple):
    """Seconds of all calls of a kernel in one run; `sources` are the nodes of the model."""

    name: str
    calls: int
    seconds: float
    sources: tuple[str, ...]


def kernel_times(vm: VirtualMachine, inputs: Sequence[Tensor]) -> list[KernelTime]:
    """The kernels of `main` in the order of their first calls; medians of several profiles."""
    reports = [vm.profile("main", *inputs).calls for _ in range(RUNS)]
    found: dict[str, KernelTime] = {}
    for rows in zip(*reports, strict=True):         # one call, in each of the profiles
        name, sources = str(rows[0]["Name"]), str(rows[0].get("Sources", ""))
        microseconds = statistics.median(row["Duration (us)"].microseconds for row in rows)
        before = found.get(name, KernelTime(name, 0, 0.0, tuple(filter(None, sources.split(", ")))))
        found[name] = before._replace(
            calls=before.calls + 1, seconds=before.seconds + microseconds * 1e-6
        )
    return list(found.values())


def show_kernels(kernels: Sequence[KernelTime]) -> str:
    """A table, the slowest first."""
    total = sum(kernel.seconds for kernel in kernels) or 1.0
    rows = [
        [
            kernel.name,
            str(kernel.calls),
            f"{kernel.seconds * 1e6:.1f}",
            f"{100 * kernel.seconds / total:.0f}%",
            ", ".join(kernel.sources),
        ]
        for kernel in sorted(kernels, key=lambda k: -k.seconds)
    ]
    return table(["kernel", "calls", "us", "share", "from"], rows, right=(1, 2, 3))
