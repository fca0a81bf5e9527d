"""How a kernel is launched: known to who writes kernels and to who runs them."""

from __future__ import annotations

from typing import NamedTuple


class KernelInfo(NamedTuple):
    """What a kernel takes, and which launch extents a call gives after that.

    `written` are the numbers of the arguments whose memory the kernel may change.
    """

    arg_types: tuple[str, ...]
    launch_param_tags: tuple[str, ...]
    written: tuple[int, ...] = ()
