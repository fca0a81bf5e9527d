"""Which rules a record was found with: the package's version and a digest of what makes traces.

A trace is replayed by the primitives of today. Where it no longer applies, the two versions tell
whether the primitives, the rules or the postprocessors have changed since it was kept.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Final

from tvm.base import __version__ as version

# Below tvm/: what decides which instructions a trace has, and what they do.
_SOURCES: Final = (
    "meta_schedule/postproc",
    "meta_schedule/schedule_rule",
    "meta_schedule/space_generator",
    "tir/schedule",
)


@functools.cache
def rules_version() -> str:
    """For example `0.1.0+4f1c09aa2be71d35`; the same wherever the sources are the same."""
    home = Path(__file__).parents[1]
    digest = hashlib.blake2b(digest_size=8)
    for folder in _SOURCES:
        for path in sorted((home / folder).rglob("*.py")):
            digest.update(path.relative_to(home).as_posix().encode())
            digest.update(path.read_bytes())
    return f"{version}+{digest.hexdigest()}"
