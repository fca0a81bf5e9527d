"""Arm's profiles: applications by their triple; of M-profile cores, who has DSP and Helium.

From Arm's product pages of the Cortex-M series; `+nodsp` and `+nomve` in `mattr` switch them off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_VECTORS: Final = frozenset(("cortex-m55", "cortex-m85"))
_DSP: Final = frozenset(("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m35p")) | _VECTORS
_CORES: Final = frozenset(("cortex-m0", "cortex-m3")) | _DSP


def is_a_profile(attrs: Mapping[str, Any]) -> bool:
    """Whether the options of a target name an Arm CPU other than a microcontroller."""
    triple = str(attrs.get("mtriple", ""))
    small = str(attrs.get("mcpu", "")).startswith("cortex-m")
    return triple.startswith("aarch64") or (triple.startswith("arm") and not small)


def is_m_profile(attrs: Mapping[str, Any]) -> bool:
    """Whether the options of a target name such a core."""
    return str(attrs.get("mcpu", "")) in _CORES


def m_profile_features(attrs: Mapping[str, Any]) -> dict[str, bool]:
    """`has_dsp` and `has_mve` of such a core."""
    core = str(attrs.get("mcpu", ""))
    given: Sequence[str] = attrs.get("mattr", ())
    off = {one.removeprefix("+no") for one in given if one.startswith("+no")}
    vectors = core in _VECTORS and "mve" not in off
    return {"has_dsp": core in _DSP and "dsp" not in off, "has_mve": vectors}
