"""What backends are given in their tests is of the language that they take."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.backend.record import Backend
from tvm.tir.analysis.verify_lowered import verify_lowered

# Tests of what emitters say of other programs.
NOT_LOWERED = ("test_rejects_buffers_that_are_not_flat", "test_rejects_gpu_threads")


@pytest.fixture(autouse=True)
def _verify_lowered(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.originalname in NOT_LOWERED:
        return
    build = Backend.build

    def verified(self: Backend, mod: Any, target: Any) -> Any:
        verify_lowered(mod)
        return build(self, mod, target)

    monkeypatch.setattr(Backend, "build", verified)
