"""`tvm keygen`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.exec import cli
from tvm.runtime import signing

pytest.importorskip("cryptography")


def test_a_pair_of_keys_that_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["keygen", str(tmp_path / "k")]) == 0
    assert "k.pub" in capsys.readouterr().out
    (tmp_path / "file").write_text("content")
    signing.sign(tmp_path / "file", tmp_path / "k.key")
    signing.verify(tmp_path / "file", [tmp_path / "k.pub"])


def test_keys_are_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["keygen", str(tmp_path / "k")]) == 0
    before = (tmp_path / "k.key").read_bytes()
    assert cli.main(["keygen", str(tmp_path / "k")]) == 1
    assert "a file of that name" in capsys.readouterr().err
    assert (tmp_path / "k.key").read_bytes() == before
    assert cli.main(["keygen", str(tmp_path / "no" / "k")]) == 1
    assert "is not a directory" in capsys.readouterr().err
