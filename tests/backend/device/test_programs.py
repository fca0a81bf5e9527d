"""Programs in all languages: their text, and what they compute where the text runs as C++."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backend.device import harness
from tests.backend.device.programs import PROGRAMS, module_for
from tvm.error import TVMError
from tvm.ir.module import IRModule

pytestmark = pytest.mark.cpu


@functools.cache
def _built(kind: str) -> Any:
    return harness.built(module_for(kind), kind)


@pytest.mark.parametrize("kind", harness.ALL_TARGETS)
def test_text(kind: str, golden: Callable[[str], None]) -> None:
    (device,) = _built(kind).mod.imports
    golden(device.inspect_source())


@pytest.mark.slow
@pytest.mark.parametrize("kind", harness.LANGUAGES)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_results(kind: str, name: str) -> None:
    one = PROGRAMS[name]
    if kind in one.not_in:
        with pytest.raises(TVMError, match="legal"):
            harness.built(IRModule({name: one.func}), kind)
        return
    args = one.make(np.random.default_rng(7))
    wanted = one.meaning(*args[:-1])
    harness.run(_built(kind), kind, name, *args)
    np.testing.assert_allclose(
        args[-1].astype("float64"), np.asarray(wanted, "float64"), rtol=one.tolerance,
        atol=one.tolerance,
    )  # fmt: skip
