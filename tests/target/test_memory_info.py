from __future__ import annotations

import pytest

from tvm.ir import load_json, save_json
from tvm.target.memory_info import MemoryInfo

pytestmark = pytest.mark.pure


def test_fields() -> None:
    info = load_json(save_json(MemoryInfo(8, 1024, 128)))
    assert (info.unit_bits, info.max_num_bits, info.max_simd_bits) == (8, 1024, 128)
    assert info.head_address is None
