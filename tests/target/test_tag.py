"""Tags against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.target.nvidia_gpus import NVIDIA_GPUS
from tvm.target.tag import find_tag, list_tags, register_tag

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


@pytest.mark.parametrize(("name", "config", "words"), [
    ("odd/text", "cuda", "the target of 'odd/text' is a str; legal: a dict"),
    ("odd/kind", {"kind": "nothing"}, "'nothing'"),
    ("odd/option", {"kind": "cuda", "num-legs": 3}, "num-legs"),
])  # fmt: skip
def test_a_tag_that_is_refused_leaves_nothing_behind(name, config, words) -> None:
    with pytest.raises(TVMError, match=words):
        register_tag(name, config)
    assert find_tag(name) is None


def test_the_name_of_a_tag_is_text() -> None:
    with pytest.raises(TypeError, match="register_tag: the name is a list"):
        register_tag(["a"], {"kind": "cuda"})
