"""What builders are given and answer, and those that users write."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Add
from tvm.error import TVMError
from tvm.meta_schedule.builder import Builder, BuilderInput, BuilderResult, LocalBuilder, PyBuilder
from tvm.meta_schedule.utils import derived_object
from tvm.target import Target

pytestmark = pytest.mark.pure


def test_builder_of_a_user() -> None:
    @derived_object
    class Refuses(PyBuilder):
        def build(self, build_inputs: list[BuilderInput]) -> list[BuilderResult]:
            return [BuilderResult(None, "error") for _ in build_inputs]

    builder = Refuses()
    assert isinstance(builder, Builder)
    assert Builder.create(builder) is builder
    (result,) = builder.build([BuilderInput(Add, Target("llvm"))])
    assert (result.artifact_path, result.error_msg) == (None, "error")


def test_builder_without_build() -> None:
    @derived_object
    class Empty(PyBuilder):
        pass

    with pytest.raises(TVMError, match=r"PyBuilder's Build method not implemented!"):
        Empty().build([])


def test_create() -> None:
    builder = Builder.create("local", max_workers=1, timeout_sec=5.0)
    assert isinstance(builder, LocalBuilder)
    assert (builder.max_workers, builder.timeout_sec) == (1, 5.0)
    with pytest.raises(ValueError, match=r"Unknown Builder: remote"):
        Builder.create("remote")
