"""Numbers of imported models, of code that LLVM has not optimised: a seventh of its time.

`make test-long` runs all of it as users get it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tvm.backend.llvm import target


@pytest.fixture(scope="module", autouse=True)  # of a folder that is no package, "package" means all
def _code_as_it_is_written(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.config.option.markexpr == "not long":
            patch.setattr(target, "DEFAULT_LEVEL", 0)
        yield
