"""Code for machines that are not here."""

from __future__ import annotations

from pathlib import Path

import pytest

import tvm
from tvm.runtime.generated_code import GeneratedCode, load_from_bytes

pytestmark = pytest.mark.pure


def test_what_it_holds_survives_as_bytes() -> None:
    made = GeneratedCode("asm", {"f": "ADD", "g": b"\x00\xff"})
    again = load_from_bytes(made.save_to_bytes())
    assert (again.language, again.functions) == ("asm", made.functions)
    assert again.function_names() == ["f", "g"]
    assert again.inspect_source() == "ADD"
    assert again.is_binary_serializable()
    assert not again.is_runnable()


def test_it_is_written_whole(tmp_path: Path) -> None:
    GeneratedCode("asm", {"f": "ADD", "g": b"\xff"}).write_to_file(str(tmp_path / "x.asm"))
    assert (tmp_path / "x.asm").read_bytes() == b"ADD\n\xff"


def test_it_does_not_run() -> None:
    with pytest.raises(tvm.TVMError, match="code in asm, which does not run here"):
        GeneratedCode("asm", {"f": "ADD"})["f"](1)
