from __future__ import annotations

import pytest

from tvm.topi import tag

pytestmark = pytest.mark.pure


def test_kinds() -> None:
    assert tag.is_broadcast(tag.ELEMWISE)
    assert tag.is_broadcast("broadcast,fused")
    assert not tag.is_broadcast(tag.INJECTIVE)
    assert tag.is_injective("injective,pad")
    assert not tag.is_injective(tag.COMM_REDUCE)
