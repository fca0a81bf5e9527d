"""Graphs of layers over images and tokens, compiled for any CPU: as the interpreter says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.covering import few
from tests.relax.op.compiled_graphs import run_both
from tests.relax.op.random_image_graphs import image_graph
from tvm.runtime import threads

pytestmark = pytest.mark.cpu
CLOSE = 2e-4  # of the largest element


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    threads.config_threads(0)


def check(seed: int) -> None:
    """One graph, for some CPU, level and number of threads."""
    found, wanted, told = run_both(image_graph(seed, 3 + seed % 5), seed)
    for n, (a, b) in enumerate(zip(found, wanted, strict=True)):
        note = f"{told}, result {n}"
        near = CLOSE * max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a, b, rtol=0, atol=near, err_msg=note)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few([1, 2, 4, 3017], 2))
def test_some(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(200_000, 202_000, 20))
def test_many(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
