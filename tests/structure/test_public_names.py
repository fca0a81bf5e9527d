"""The public names are those of TVM v0.22, with the same parameters and defaults."""

from __future__ import annotations

import pytest

from tests.structure import reference

pytestmark = pytest.mark.pure

# Every name of these modules (and of those below them) is there; add a module when it is whole.
COMPLETE: tuple[str, ...] = ("tvm.error",)


@pytest.mark.parametrize("module", COMPLETE)
def test_module_is_complete(module: str) -> None:
    below = [e for e in reference.entries() if f"{e.module}.".startswith(f"{module}.")]
    assert below, f"no such module in {reference.DATA}"
    faults = [f for e in below if (f := reference.fault(e))]
    assert not faults, "\n" + "\n".join(faults)


def test_no_floor_loses_names() -> None:
    now = reference.counts()
    lost = {n: (was, now[n]) for n, was in reference.recorded().items() if now[n] < was}
    assert not lost, f"names as in the reference, before and now: {lost}"


def sample(a: int, b: str = "x", *rest: int, c: bool = True) -> None: ...


@pytest.mark.parametrize(
    ("signature", "agrees"),
    [
        ("(a, b='x', *rest, c=True)", True),
        ("(a, b='x', *rest)", True),
        ("(a, b='y', *rest, c=True)", False),
        ("(b, a)", False),
        ("(a, b='x', d=None)", False),
        ("(b='x')", False),
        ("(a, b=SOME_NAME)", True),
    ],
)
def test_parameters_are_compared(signature: str, agrees: bool) -> None:
    entry = reference.Entry("m", "", "sample", signature)
    assert (reference.mismatch(entry, sample) is None) is agrees
