"""Questions about TIR programs."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_HOME = "tvm.tir.analysis."
_HOMES = {
    "get_block_access_region": _HOME + "block_access_region:get_block_access_region",
    "get_block_read_write_region": _HOME + "block_access_region:get_block_read_write_region",
}

if TYPE_CHECKING:
    from .block_access_region import get_block_access_region as get_block_access_region
    from .block_access_region import get_block_read_write_region as get_block_read_write_region
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_HOMES)
