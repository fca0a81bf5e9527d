"""Kinds and their options, against the reference."""

from __future__ import annotations

import pytest

from tests.structure.reference import DATA
from tvm.target.kind import KINDS, TargetKind
from tvm.target.target import Target

pytestmark = pytest.mark.pure


def test_kinds_have_the_options_of_the_reference() -> None:
    for line in (DATA / "target_kinds.txt").read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name = line.split(" ", 1)[0]
        options = line.split("): ", 1)[1] if "): " in line else ""
        names = [part.split(":")[0].strip() for part in options.split(",") if ":" in part]
        known = KINDS[name].options
        assert [n for n in names if n not in known] == [], name


def test_kinds_compare_by_name() -> None:
    assert KINDS["llvm"] == "llvm"
    assert str(KINDS["llvm"]) == "llvm"
    assert TargetKind.options_from_name("llvm")["mcpu"] == "string"
    with pytest.raises(ValueError, match="did you mean 'metal'"):
        TargetKind.options_from_name("metall")


@pytest.mark.parametrize("kind", ["c", "llvm", "cuda"])
@pytest.mark.parametrize(
    "option", ["runtime=c", "system-lib", "executor=aot", "link-params=1", "unpacked-api=1"]
)
def test_executors_and_runtimes_are_no_options_of_targets(kind: str, option: str) -> None:
    with pytest.raises(ValueError, match="has no option"):
        Target(f"{kind} -{option}")
