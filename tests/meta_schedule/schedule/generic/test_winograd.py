"""Blocks that are no stage of Winograd's convolution are refused."""

from __future__ import annotations

import pytest

from tests.meta_schedule.workloads import matmul
from tvm.error import TVMError
from tvm.meta_schedule.schedule.generic.winograd import producer_without_constants, tile_transform
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure


def test_other_blocks_are_refused() -> None:
    sch = Schedule(matmul())
    block = sch.get_block("C")
    with pytest.raises(TVMError, match=r"(?s)producers of the Winograd stage C.*none with data"):
        producer_without_constants(sch, block)
    with pytest.raises(TVMError, match=r"(?s)loops of the Winograd stage C.*3.*six"):
        tile_transform(sch, block, (0, 1), (1, 2))
