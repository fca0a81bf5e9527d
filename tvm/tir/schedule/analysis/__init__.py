"""Questions about blocks and loops that primitives, and users, ask before they change anything."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

_HOMES = {
    name: f"tvm.tir.schedule.analysis.users:{name}"
    for name in ("has_block", "is_output_block")
}

if TYPE_CHECKING:
    from .users import has_block as has_block
    from .users import is_output_block as is_output_block
else:
    __getattr__ = lazy_names(__name__, _HOMES)
