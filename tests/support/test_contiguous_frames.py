"""Functions whose frames lie together: they do and say what they did."""

from __future__ import annotations

import inspect

import pytest

from tvm.support.contiguous_frames import contiguous_frames

pytestmark = pytest.mark.pure


@contiguous_frames
def depth(count: int, *, step: int = 1) -> int:
    """How deep it goes."""
    if count < 0:
        raise ValueError("below the ground")
    return step + depth(count - step, step=step) if count else 0


def test_arguments_results_and_errors_pass() -> None:
    assert depth(20) == 20
    assert depth(20, step=5) == 20
    with pytest.raises(ValueError, match="below the ground"):
        depth(3, step=2)


def test_it_looks_as_it_did() -> None:
    assert depth.__name__ == "depth"
    assert depth.__doc__ == "How deep it goes."
    assert str(inspect.signature(depth)) == "(count: 'int', *, step: 'int' = 1) -> 'int'"
