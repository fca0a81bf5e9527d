"""Arguments to measure with."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.runner.utils import alloc_argument_common
from tvm.runtime import cpu

pytestmark = pytest.mark.cpu


def test_arguments() -> None:
    filled: list[object] = []
    infos = [["TENSOR", "float16", [2, 3]], ["TENSOR", "int8", []]]
    made = alloc_argument_common(filled.append, cpu(), infos, 2)
    assert [[(tuple(t.shape), str(t.dtype)) for t in args] for args in made] == [
        [((2, 3), "float16"), ((), "int8")]
    ] * 2
    assert len(filled) == 4


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match=r"an argument to measure with"):
        alloc_argument_common(print, cpu(), [["SCALAR", "int32", 1]], 1)
