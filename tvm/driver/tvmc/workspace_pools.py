"""Pools of memory on a command line.

    --workspace-pools=sram,flash --workspace-pools-targets=sram:c,llvm
    --workspace-pools-targets=flash:c --workspace-pools-size-hint-bytes=sram:4096
    --workspace-pools-target-burst-bytes=sram:c:8

Each option but the first may stand once for each pool; of two for one pool the last one counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tvm.ir.memory_pools import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from tvm.target import Target

from .errors import TVMCException

_NUMBERS: Final = {
    "size-hint-bytes": "bytes of the pool",
    "clock-frequency-hz": "frequency of its clock",
    "read-bandwidth-bytes-per-cycle": "bytes read in a cycle",
    "write-bandwidth-bytes-per-cycle": "bytes written in a cycle",
    "read-latency-cycles": "cycles before the first byte is read",
    "write-latency-cycles": "cycles before the first byte is written",
}


def generate_workspace_pools_args(parser: argparse.ArgumentParser) -> None:
    """Let the parser take names of pools, and what is known of each."""
    parser.add_argument("--workspace-pools", help="names of the pools, with commas")
    for name, told in {
        "targets": "targets that use the pool, as name:target,target", **_NUMBERS,
        "target-burst-bytes": "bytes of a burst, as name:target:bytes",
    }.items():  # fmt: skip
        parser.add_argument(
            f"--workspace-pools-{name}", action="append",
            help=told if ":" in told else f"{told}, as name:number",
        )  # fmt: skip


def workspace_pools_recombobulate(
    parsed: argparse.Namespace,
    targets: Sequence[Target],
    extra_target: Sequence[Mapping[str, Any]],
) -> WorkspaceMemoryPools | None:
    """The pools that the arguments tell of; None without any.

    `targets` are those that a program is compiled for, `extra_target` parsed ones of partners.
    Raises TVMCException for pools without a target, and for targets that are not among those.
    """
    known = [*targets, *(Target(str(one["raw"])) for one in extra_target)]
    by_name = {target.kind.name: target for target in known}
    names = [name for name in (parsed.workspace_pools or "").split(",") if name]
    if not names:
        return None
    wanted = {name: kinds.split(",") for name, kinds in _pairs(parsed, "targets").items()}
    numbers = {
        option: {name: int(value) for name, value in _pairs(parsed, option).items()}
        for option in _NUMBERS
    }
    bursts = _bursts(parsed, by_name)
    return WorkspaceMemoryPools(
        [_pool(name, wanted.get(name), by_name, numbers, bursts.get(name)) for name in names]
    )


def _pool(
    name: str, wanted: Sequence[str] | None, known: Mapping[str, Target],
    numbers: Mapping[str, Mapping[str, int]], burst: dict[Target, int] | None,
) -> WorkspacePoolInfo:  # fmt: skip
    if not wanted:
        raise TVMCException(f'No target specified for Workspace Pool "{name}"')
    unknown = [kind for kind in wanted if kind not in known]
    if unknown:
        raise TVMCException(
            f'Workspace Pool "{name}" using undefined Target "{", ".join(unknown)}"; '
            f"legal: {', '.join(known)}"
        )

    def number(option: str, otherwise: int) -> int:
        return numbers[option].get(name, otherwise)

    return WorkspacePoolInfo(
        name,
        [known[kind] for kind in wanted],
        PoolInfoProperties(
            size_hint_bytes=number("size-hint-bytes", -1),
            clock_frequency_hz=number("clock-frequency-hz", -1),
            read_bandwidth_bytes_per_cycle=number("read-bandwidth-bytes-per-cycle", -1),
            write_bandwidth_bytes_per_cycle=number("write-bandwidth-bytes-per-cycle", -1),
            read_latency_cycles=number("read-latency-cycles", 0),
            write_latency_cycles=number("write-latency-cycles", 0),
            target_burst_bytes=burst,
        ),
    )


def _said(parsed: argparse.Namespace, option: str) -> list[str]:
    return list(getattr(parsed, f"workspace_pools_{option}".replace("-", "_"), None) or ())


def _pairs(parsed: argparse.Namespace, option: str) -> dict[str, str]:
    """What an option says, by pool."""
    found = {}
    for text in _said(parsed, option):
        name, colon, value = text.partition(":")
        if not colon:
            raise ValueError(f"--workspace-pools-{option}: found {text!r}; legal: pool:value")
        found[name] = value
    return found


def _bursts(
    parsed: argparse.Namespace, known: Mapping[str, Target]
) -> dict[str, dict[Target, int]]:
    found: dict[str, dict[Target, int]] = {}
    for text in _said(parsed, "target-burst-bytes"):
        parts = text.split(":")
        if len(parts) != 3:
            raise ValueError(
                f"--workspace-pools-target-burst-bytes: found {text!r}; legal: pool:target:bytes"
            )
        name, kind, size = parts
        if kind not in known:
            raise TVMCException(
                "The workspace pool target specification needs to contain a subset of the same "
                f"TVM targets as when specifying targets to use; found {kind}; "
                f"legal: {', '.join(known)}"
            )
        found.setdefault(name, {})[known[kind]] = int(size)
    return found
