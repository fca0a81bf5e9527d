"""`tvm sign`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.exec import cli
from tvm.runtime import signing

pytest.importorskip("cryptography")


def test_files_are_signed(tmp_path: Path) -> None:
    signing.generate_key(tmp_path / "k")
    files = [tmp_path / "a.so", tmp_path / "b.params"]
    for path in files:
        path.write_text(path.name)
    assert cli.main(["sign", *map(str, files), "--key", str(tmp_path / "k.key")]) == 0
    for path in files:
        signing.verify(path, [tmp_path / "k.pub"])


def test_what_cannot_sign_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    signing.generate_key(tmp_path / "k")
    (tmp_path / "a.so").write_text("code")
    for file, key, said in (
        ("a.so", "k.pub", "read a private key"),
        ("a.so", "gone.key", "cannot read the key"),
        ("gone.so", "k.key", "cannot read the file"),
    ):
        assert cli.main(["sign", str(tmp_path / file), "--key", str(tmp_path / key)]) == 1
        assert said in capsys.readouterr().err
    assert not (tmp_path / "a.so.sig").exists()
