"""Values and errors that cross the ABI, and callbacks."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import testing
from tvm.error import InternalError, OpNotImplemented

pytestmark = pytest.mark.cpu


def test_values_come_back() -> None:
    assert testing.nop(1, "a", None) is None
    largest = 2**63 - 1
    assert testing.echo(np.int64(largest)) == largest
    node = tvm.tir.const(1, "int32")
    for value in ("text", b"bytes", None, True, 1.5, tvm.cpu(1), node):
        assert testing.echo(value) == value
        assert testing.identity_cpp(value) == value
    assert testing.object_use_count(tvm.runtime.convert([1, 2])) == 1


@pytest.mark.parametrize(
    "kind", [OpNotImplemented, InternalError, ValueError, TypeError, AttributeError]
)
def test_errors_keep_their_kind(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="myop") as caught:
        testing.test_raise_error(kind.__name__, "myop")
    assert type(caught.value) is kind


def test_callbacks() -> None:
    called: list[int] = []
    assert testing.test_wrap_callback(lambda: called.append(1))() is None
    assert called == [1]
    check = testing.test_check_eq_callback("where I am")
    check(2, 2)
    with pytest.raises(InternalError, match=r"1 vs\. 2\n  where: where I am"):
        check(1, 2)
    with pytest.raises(InternalError, match="ErrorTest"):
        testing.ErrorTest(0, 1)


def test_functions_are_found_by_name() -> None:
    wrapped = tvm.get_global_func("testing.test_wrap_callback")(lambda: None)
    assert wrapped() is None
    below = testing._ffi_api
    assert below.identity_cpp("text") == "text"
    assert below.device_test(tvm.cpu(2), 1, 2) == tvm.cpu(2)
    with pytest.raises(InternalError, match="where: here"):
        below.test_check_eq_callback("here")(1, 2)
    assert below.sleep_in_ffi(0.0) is None
    assert testing.run_check_signal(0) is None


def test_a_device_is_the_one_that_was_named() -> None:
    assert tvm.testing.device_test(tvm.cpu(2), 1, 2) == tvm.cpu(2)
    with pytest.raises(InternalError, match="the device is another"):
        tvm.testing.device_test(tvm.cpu(), 2, 0)
