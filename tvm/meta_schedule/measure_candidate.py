"""What is measured: a schedule and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tvm.ffi.object import Object
from tvm.tir.schedule import Schedule

from .arg_info import ArgInfo


class MeasureCandidate(Object):
    """A schedule whose decisions are made, and the arguments that it is measured with."""

    def __init__(self, sch: Schedule, args_info: Sequence[ArgInfo] | None) -> None:
        self.sch: Final = sch
        self.args_info: Final = list(args_info or ())
