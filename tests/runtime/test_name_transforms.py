"""Names that C takes."""

from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.relay.backend import name_transforms
from tvm.runtime.name_transforms import sanitize_name

pytestmark = pytest.mark.pure


def test_names_that_c_takes() -> None:
    names = ["a-b", "a.b/c", "_x", "1 2", "\u00e4"]
    assert [sanitize_name(name) for name in names] == ["a_b", "a_b_c", "_x", "1_2", "_"]
    assert name_transforms.sanitize_name is sanitize_name
    with pytest.raises(TVMError, match="Name is empty"):
        sanitize_name("")
