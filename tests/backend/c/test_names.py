"""Names that C takes."""

from __future__ import annotations

import pytest

from tvm.backend.c.names import KEYWORDS, LIBRARY

pytestmark = pytest.mark.pure


def test_library_functions_know_their_header() -> None:
    assert LIBRARY["expf"] == LIBRARY["exp"] == "math.h"
    assert LIBRARY["memcpy"] == "string.h"
    assert not KEYWORDS & set(LIBRARY)
