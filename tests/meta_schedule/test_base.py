"""What the parts of a search share."""

from __future__ import annotations

import re

import pytest

from tvm.error import TVMError
from tvm.meta_schedule import derived_object
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.mutator import PyMutator
from tvm.meta_schedule.postproc import PyPostproc
from tvm.meta_schedule.schedule_rule import PyScheduleRule

pytestmark = pytest.mark.pure


class Part(Component):
    def work(self) -> None:
        self._missing("Work")


def test_text_is_name_and_address() -> None:
    assert re.fullmatch(r"meta_schedule.Part\(0x[0-9a-f]+\)", str(Part()))


def test_outer_is_the_object() -> None:
    part = Part()
    assert part._outer() is part


def test_missing_method() -> None:
    with pytest.raises(TVMError, match=r"Part's Work method not implemented!"):
        Part().work()


def test_unknown_kind() -> None:
    err = unknown_kind("Builder", "remote", ("local",))
    assert str(err) == "Unknown Builder: remote\n  found: 'remote'\n  legal: 'local'"


@pytest.mark.parametrize("base", [PyMutator, PyPostproc, PyScheduleRule])
def test_bases_of_users_name_themselves(base: type) -> None:
    part = derived_object(type("Mine", (base,), {}))()
    for method, name in (
        (part._initialize_with_tune_context, "InitializeWithTuneContext"),
        (part.clone, "Clone"),
    ):
        with pytest.raises(TVMError, match=f"{base.__name__}'s {name} method not implemented!"):
            method(*[None] * (name != "Clone"))
