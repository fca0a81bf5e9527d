"""Which test compares which name of TOPI: watched while the tests run, not found in their text.

`compared.txt` promises a test for each public function. A test that is promised for some is watched
and has to call them, and to compare numbers. `pytest -n0 tests/topi --update-golden` writes the
file anew from what all tests call; of a part of them it leaves the promises of the others.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

from tests.structure import reference
from tests.topi import numerics
from tvm import te
from tvm.support import arguments

RECORD = Path(__file__).with_name("compared.txt")
_TESTS = str(RECORD.parent)
_DECORATORS = (te.tag.__file__, arguments.__file__)
_COMPARISONS = frozenset(
    f.__code__
    for f in (numerics.close, inspect.unwrap(np.testing.assert_allclose),
              inspect.unwrap(np.testing.assert_array_equal))
)  # fmt: skip


def public_functions() -> dict[CodeType, str]:
    """The code of each public function, and its name as `tvm.topi.math.exp`."""
    found = {}
    for entry in reference.entries():
        if not entry.module.startswith("tvm.topi") or entry.owner:
            continue                     # before its home is looked for, which imports it
        home = reference.home_of(entry)
        if home is None:
            continue
        code = getattr(inspect.unwrap(getattr(home, entry.name)), "__code__", None)
        if code is not None:  # a class has none
            found[code] = f"{entry.module}.{entry.name}"
    return found


def promised(record: Path = RECORD) -> dict[str, str]:
    """The test that compares each function, as `nn/test_pooling.py::test_max[2]`."""
    lines = record.read_text(encoding="utf-8").splitlines() if record.is_file() else []
    return dict(line.split(" ", 1) for line in lines)


def write(
    seen: dict[str, tuple[set[str], bool]], whole_files: bool = True, record: Path = RECORD
) -> None:
    """Promise for each function the first test that called it, one that compared arrays if any.

    Promises of tests that did not run stay, unless the test's file ran whole without it.
    """
    ran = {test.partition("::")[0] for test in seen} if whole_files else set()
    chosen = {
        name: test
        for name, test in promised(record).items()
        if test not in seen and test.partition("::")[0] not in ran
    }
    for comparing in (True, False):
        for test, (names, compared) in seen.items():
            if compared is comparing:
                for name in names:
                    chosen.setdefault(name, test)
    text = "".join(f"{name} {chosen[name]}\n" for name in sorted(chosen))
    record.write_text(text, encoding="utf-8")


@contextmanager
def watched(wanted: Set[CodeType] = frozenset()) -> Iterator[set[CodeType]]:
    """The code objects that tests themselves call within the block, or until all `wanted` are seen.

    Watching makes each call several times slower, so it ends as early as it can.
    """
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        caller = frame.f_back
        while caller and caller.f_code.co_filename in _DECORATORS:  # of a decorated function
            caller = caller.f_back
        if caller and caller.f_code.co_filename.startswith(_TESTS):
            codes.add(frame.f_code)
            if wanted and codes >= wanted:
                sys.setprofile(outer)

    outer = sys.getprofile()
    sys.setprofile(note)
    try:
        yield codes
    finally:
        sys.setprofile(outer)


def compares(codes: set[CodeType]) -> bool:
    """Whether arrays were compared."""
    return not _COMPARISONS.isdisjoint(codes)
