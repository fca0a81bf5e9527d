from __future__ import annotations

import pytest

from tvm import te

pytestmark = pytest.mark.pure


@te.tag_scope(tag="mine")
def doubled(a: te.Tensor) -> te.Tensor:
    return te.compute(a.shape, lambda *i: a(*i) * 2)


def test_stages_within_take_the_tag() -> None:
    a = te.placeholder((4,))
    with te.tag_scope(tag="outer"):
        b = te.compute((4,), lambda i: a[i])
    assert b.op.tag == "outer"
    assert doubled(a).op.tag == "mine"
    assert te.compute((4,), lambda i: a[i]).op.tag == ""


def test_nesting_is_refused() -> None:
    a = te.placeholder((4,))
    with te.tag_scope(tag="outer") as scope:
        scope.accessed = True
        with pytest.raises(ValueError, match=r"nested op_tag"):
            doubled(a)
    with te.tag_scope(tag="outer"), pytest.raises(ValueError, match=r"nested tag"):
        te.compute((4,), lambda i: a[i], tag="own")


def test_unused_tag_warns() -> None:
    with pytest.warns(UserWarning, match=r"was not used"), te.tag_scope(tag="idle"):
        pass
