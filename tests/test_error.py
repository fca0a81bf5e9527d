"""The form of messages, and which built-in errors ours are."""

from __future__ import annotations

import pytest

from tvm import error

pytestmark = pytest.mark.pure


def test_message_has_a_line_for_each_part() -> None:
    text = error.message("do it", found="this\nand that", where="here", legal="those")
    assert text == "do it\n  found: this\n         and that\n  where: here\n  legal: those"
    assert error.message("do it") == "do it"


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (error.CheckError, error.InternalError),
        (error.ShapeError, ValueError),
        (error.DTypeError, TypeError),
        (error.ArgumentCountError, TypeError),
        (error.ArgumentNameError, AssertionError),
        (error.ReturnTypeError, TypeError),
        (error.ArgumentValueError, ValueError),
        (error.BoundsError, IndexError),
        (error.ConfigError, AttributeError),
        (error.TargetError, ValueError),
        (error.OpNotImplemented, NotImplementedError),
        (error.RPCSessionTimeoutError, TimeoutError),
    ],
)
def test_kinds_are_caught_as_users_expect(kind: type[Exception], base: type[Exception]) -> None:
    assert issubclass(kind, base)
    assert issubclass(kind, error.TVMError)
    assert issubclass(error.TVMError, RuntimeError)


def test_own_kinds_cross_compiled_code() -> None:
    import tvm

    @error.register_error
    class MoonError(RuntimeError):
        pass

    def fail() -> None:
        raise MoonError("no cheese")

    with pytest.raises(MoonError, match="no cheese"):
        tvm.runtime.convert(fail)()
