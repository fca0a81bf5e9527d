"""Maps held by nodes never change."""

from __future__ import annotations

import copy

import pytest

from tvm.support.frozen import FrozenMap

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "edit",
    [
        lambda m: m.__setitem__("a", 2),
        lambda m: m.__delitem__("a"),
        lambda m: m.update(b=1),
        lambda m: m.pop("a"),
        lambda m: m.clear(),
        lambda m: m.setdefault("b", 1),
        lambda m: m.popitem(),
        lambda m: m.__ior__({"b": 1}),
    ],
)
def test_refuses_every_edit(edit) -> None:
    frozen = FrozenMap(a=1)
    with pytest.raises(TypeError, match="belongs to an IR node and cannot be changed"):
        edit(frozen)
    assert frozen == {"a": 1}


def test_reads_like_a_dict_and_copies() -> None:
    frozen = FrozenMap(a=1)
    assert {**frozen, "b": 2} == {"a": 1, "b": 2}
    assert copy.deepcopy(frozen) == frozen
