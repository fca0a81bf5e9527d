"""What the options of targets may hold, beside their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tvm.error import TargetError, message

_NARROWEST, _WIDEST = 32, 65536  # bits of a vector register; the widest that RISC-V and SVE allow


class _Range(NamedTuple):
    least: int
    most: int | None = None

    def legal(self) -> str:
        return f"{self.least} or more" if self.most is None else f"{self.least} to {self.most}"


_SOME: Final = _Range(1)
_ANY: Final = _Range(0)
# What backends and rules divide by, or count with; the names are those of all kinds.
_RANGES: Final[dict[str, _Range]] = {
    "num-cores": _ANY, "max_num_threads": _SOME,
    "max_threads_per_block": _SOME, "thread_warp_size": _SOME, "max_shared_memory_per_block": _ANY,
    "max_local_memory_per_block": _ANY, "l2_cache_size_bytes": _ANY, "registers_per_block": _ANY,
    "max_block_size_x": _SOME, "max_block_size_y": _SOME, "max_block_size_z": _SOME,
    "max_function_args": _SOME, "texture_spatial_limit": _SOME,
    "image_base_address_alignment": _ANY,
}  # fmt: skip


def check_values(attrs: Mapping[str, Any]) -> None:
    """Refuse numbers that no machine has, and names that no compiler knows."""
    for name, allowed in _RANGES.items():
        value = attrs.get(name)
        if isinstance(value, int) and not (
            allowed.least <= value and (allowed.most is None or value <= allowed.most)
        ):
            raise _refused(name, value, allowed.legal())
    bits = int(attrs.get("vector-width", 0))
    if bits and not (_NARROWEST <= bits <= _WIDEST and bits & (bits - 1) == 0):
        raise _refused(
            "vector-width", bits,
            f"a power of two from {_NARROWEST} to {_WIDEST}, or 0 for the CPU's own",
        )  # fmt: skip
    for feature in attrs.get("mattr", ()):
        if not str(feature).startswith(("+", "-")):
            raise _refused("mattr", feature, f"+{feature} to have it, -{feature} to go without")


def _refused(name: str, found: object, legal: str) -> TargetError:
    return TargetError(message(f"Target: {name}", found=str(found), legal=legal))
