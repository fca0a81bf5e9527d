"""Numbers of code that LLVM has not optimised: a seventh of its time.

A folder whose tests are of what is computed, rather than of its machine code, imports this in its
`conftest.py`. `make test-long` runs all of it as users get it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tvm.backend.llvm import target


@pytest.fixture(scope="module", autouse=True)  # of a folder that is no package, "package" means all
def code_as_it_is_written(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not long":
            patch.setattr(target, "DEFAULT_LEVEL", 0)
        yield
