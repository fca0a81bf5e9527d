from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tir.schedule.cases import matmul, open_schedule
from tvm import tir


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda sch, i: sch.bind(i, 3), "`thread_axis` does not match signature. Expected"),
        (lambda sch, i: sch.cache_read("C", 0, 5), "`storage_scope` does not match signature"),
        (lambda sch, i: sch.annotate(i, 5, 1), "`ann_key` does not match signature"),
        (lambda sch, i: sch.annotate(i, "k", object()), "`ann_val` does not match"),
        (lambda sch, i: sch.annotate(i, "k", [1, {2}]), "`ann_val` does not match"),
        (lambda sch, i: sch.split(i, [None, 2.5]), "`factors` does not match"),
        (lambda sch, i: sch.split(i, [None, "2"]), "`factors` does not match"),
    ],
)
def test_plain_values_are_of_their_kinds(call: Callable[..., object], words: str) -> None:
    sch = open_schedule(matmul())
    before = sch.mod
    with pytest.raises(TypeError) as error:
        call(sch, sch.get_loops("C")[0])
    assert words in str(error.value)
    assert sch.mod is before
    sch.annotate(sch.get_loops("C")[0], "k", [1, 2.5, {"a": (tir.const(1), None)}, "text"])
