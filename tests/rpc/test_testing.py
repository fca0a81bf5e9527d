"""The functions to try sessions out with are there without an import."""

from __future__ import annotations

import pytest

import tvm

pytestmark = pytest.mark.cpu


def test_they_do_what_their_names_say() -> None:
    assert tvm.get_global_func("rpc.test.addone")(1) == 2
    assert tvm.get_global_func("rpc.test.strcat")("a", 1) == "a:1"
    with pytest.raises(ValueError, match="abc"):
        tvm.get_global_func("rpc.test.except")("abc")
