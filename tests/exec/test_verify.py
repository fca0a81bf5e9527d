"""`tvm verify`, and the option of `tvm run` and `tvm bench`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.exec import cli
from tvm.runtime import signing

pytest.importorskip("cryptography")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A signed file."""
    signing.generate_key(tmp_path / "k")
    (tmp_path / "a.so").write_text("code")
    signing.sign(tmp_path / "a.so", tmp_path / "k.key")
    return tmp_path


def test_it_tells_the_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["verify", str(folder / "a.so"), "--trusted-key", str(folder / "k.pub")]
    assert cli.main(words) == 0
    assert (folder / "k.pub").read_text().strip() in capsys.readouterr().out
    (folder / "a.so").write_text("Code")
    assert cli.main(words) == 1
    assert "does not fit" in capsys.readouterr().err


def test_without_a_trusted_key_nothing_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["verify", str(folder / "a.so")]) == 1
    assert "no trusted key" in capsys.readouterr().err


def test_libraries_of_others_are_not_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.so.sig").unlink()
    trust = ["--trusted-key", str(folder / "k.pub")]
    for words in (["bench"], ["run", "--inputs", "in.npz", "--outputs", str(folder / "o.npz")]):
        assert cli.main([words[0], str(folder / "a.so"), *words[1:], *trust]) == 1
        assert "there is no a.so.sig" in capsys.readouterr().err
