"""Numbers of code that LLVM has not optimised: a seventh of its time.

A folder whose tests are of what is computed, rather than of its machine code, imports this in its
`conftest.py`. `make test-long` runs all of it as users get it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from tvm.backend.llvm import target


@contextlib.contextmanager
def as_written(config: pytest.Config) -> Iterator[None]:
    """For fixtures of a session, which are made before those of modules."""
    with pytest.MonkeyPatch.context() as patch:
        if config.option.markexpr == "not long":
            patch.setattr(target, "DEFAULT_LEVEL", 0)
        yield


@pytest.fixture(scope="module", autouse=True)  # of a folder that is no package, "package" means all
def code_as_it_is_written(request: pytest.FixtureRequest) -> Iterator[None]:
    with as_written(request.config):
        yield
