"""Tags against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.target.nvidia_gpus import NVIDIA_GPUS
from tvm.target.tag import find_tag, list_tags

pytestmark = pytest.mark.pure
DATA = Path(__file__).parents[1] / "structure" / "data" / "target_tags.txt"


def test_every_tag_of_the_reference_is_known() -> None:
    rows = [line.split() for line in DATA.read_text().splitlines() if "/" in line.split(" ")[0]]
    assert len(rows) > 250
    assert [row[0] for row in rows if find_tag(row[0]) is None] == []


def test_gpus_have_the_architecture_of_the_reference() -> None:
    rows = [line.split() for line in DATA.read_text().splitlines() if line.startswith("nvidia/")]
    wanted = {row[0]: row[1] for row in rows if len(row) == 2}
    targets = list_tags()
    listed_twice = {name for names in NVIDIA_GPUS.values() for name in names.split()
                    if sum(name in n.split() for n in NVIDIA_GPUS.values()) > 1}  # fmt: skip
    wrong = [
        name for name, arch in wanted.items()
        if targets[name].arch != arch and name.removeprefix("nvidia/") not in listed_twice
    ]  # fmt: skip
    assert wrong == []
