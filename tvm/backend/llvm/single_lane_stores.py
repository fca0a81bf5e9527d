"""Masked stores of a single lane as stores of one element, before LLVM chooses instructions.

For x86 with AVX-512 LLVM 22 writes too many bytes where the mask of a masked store is one constant
lane and its values are truncated integers: it joins truncation and store, then stores the wide
element. `trunc <16 x i32> to <16 x i8>` at lane 0 becomes a store of four bytes. As a store of one
element it is right on all machines, and no slower.
"""

from __future__ import annotations

import re
from typing import Final

_STORE: Final = re.compile(
    r"^ *(?:tail )?call void @llvm\.masked\.store\.v\d+(?P<element>i\d+)\.p0"
    r"\((?P<values><\d+ x i\d+> %[\w.$-]+), ptr (?P<notes>(?:align \d+ |[a-z]+\([^)]*\) |[a-z]+ )*)"
    r"(?P<address>.+?), <\d+ x i1> <(?P<mask>i1 (?:true|false)(?:, i1 (?:true|false))*)>\)"
    r"(?: #\d+)?(?P<metadata>.*)$",
    re.MULTILINE,
)
_NARROW: Final = re.compile(r"@llvm\.masked\.store\.v\d+i(?:8|16|32)\.")
_ALIGN: Final = re.compile(r"align (\d+)")


def may_have_single_lane_stores(text: str) -> bool:
    """Whether a program before LLVM's passes has what such stores come from."""
    return _NARROW.search(text) is not None


def with_single_lane_stores(text: str) -> str:
    """The program after LLVM's passes, in which masks of one lane have become stores of it."""
    count = 0

    def rewritten(found: re.Match[str]) -> str:
        nonlocal count
        lanes = [lane.endswith("true") for lane in found["mask"].split(", ")]
        if sum(lanes) != 1:
            return found[0]
        count += 1
        lane, element = lanes.index(True), found["element"]
        aligned = _ALIGN.search(found["notes"])
        size = int(element[1:]) // 8
        align = min(int(aligned[1]) if aligned else 1, size) or 1
        value, address = f"%single_lane.{count}", f"%single_address.{count}"
        return (
            f"  {value} = extractelement {found['values']}, i32 {lane}\n"
            f"  {address} = getelementptr inbounds {element}, ptr {found['address']}, i32 {lane}\n"
            f"  store {element} {value}, ptr {address}, align {align}{found['metadata']}"
        )

    return _STORE.sub(rewritten, text)
