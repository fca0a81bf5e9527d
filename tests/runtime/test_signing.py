"""Signatures of files: what a trusted key signed is loaded, and nothing else."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.error import SignatureError
from tvm.runtime import signing

pytest.importorskip("cryptography")
pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with keys, and files that `mine` signed."""
    folder = tmp_path_factory.mktemp("shop")
    for name in ("mine", "other"):
        signing.generate_key(folder / name)
    x = tvm.te.placeholder((4,), name="x")
    for name, factor in (("m", 2.0), ("n", 3.0)):
        y = tvm.te.compute((4,), lambda i: x[i] * factor, name="y")  # noqa: B023
        built = tvm.compile(tvm.te.create_prim_func([x, y]), target="llvm")
        for suffix in (".so", ".tar", ".o"):
            built.export_library(str(folder / f"{name}{suffix}"))
            signing.sign(folder / f"{name}{suffix}", folder / "mine.key")
    tvm.runtime.save_param_dict_to_file({"w": np.ones(3, "float32")}, folder / "m.params")
    signing.sign(folder / "m.params", folder / "mine.key")
    return folder


@pytest.fixture
def place(shop: Path, tmp_path: Path) -> Path:
    """A copy of it to damage."""
    for path in shop.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def twice(module: Any) -> list[float]:
    out = tvm.runtime.empty((4,), "float32")
    module["main"](tvm.runtime.tensor(np.arange(4, dtype="float32")), out)
    return list(out.numpy())


@pytest.mark.parametrize("suffix", [".so", ".tar", ".o"])
def test_what_a_trusted_key_signed_is_loaded(shop: Path, suffix: str) -> None:
    path = shop / f"m{suffix}"
    keys = [shop / "other.pub", shop / "mine.pub"]
    assert twice(tvm.runtime.load_module(path, trusted_keys=keys)) == [0, 2, 4, 6]
    text = keys[1].read_text()
    assert twice(tvm.runtime.load_module(path, trusted_keys=[text])) == [0, 2, 4, 6]


def test_parameters(place: Path) -> None:
    path = place / "m.params"
    found = tvm.runtime.load_param_dict_from_file(path, trusted_keys=[place / "mine.pub"])
    assert found["w"].numpy().sum() == 3
    tvm.runtime.save_param_dict_to_file({"w": np.zeros(3, "float32")}, path)
    with pytest.raises(SignatureError, match="does not fit"):
        tvm.runtime.load_param_dict_from_file(path, trusted_keys=[place / "mine.pub"])


def flipped(place: Path) -> None:
    content = bytearray((place / "m.so").read_bytes())
    content[len(content) // 2] ^= 1
    (place / "m.so").write_bytes(content)


def longer(place: Path) -> None:
    with (place / "m.so").open("ab") as file:
        file.write(b"\0")


def of_another_file(place: Path) -> None:
    (place / "m.so.sig").write_bytes((place / "n.so.sig").read_bytes())


def exchanged(place: Path) -> None:
    (place / "m.so").write_bytes((place / "n.so").read_bytes())


def of_another_form(place: Path) -> None:
    (place / "m.so").write_bytes((place / "m.tar").read_bytes())
    (place / "m.so.sig").write_bytes((place / "m.tar.sig").read_bytes())


def stripped(place: Path) -> None:
    (place / "m.so.sig").unlink()


def emptied(place: Path) -> None:
    (place / "m.so.sig").write_text("")


def without_lines(place: Path) -> None:
    (place / "m.so.sig").write_text("tvm-signature 1\n")


def by_another(place: Path) -> None:
    stripped(place)
    signing.sign(place / "m.so", place / "other.key")


def renamed_key(place: Path) -> None:
    """The key of the line is the trusted one, the signature another's."""
    mine = (place / "m.so.sig").read_text().split()[3]
    by_another(place)
    head, line = (place / "m.so.sig").read_text().splitlines()
    kind, _, signature = line.split()
    (place / "m.so.sig").write_text(f"{head}\n{kind} {mine} {signature}\n")


def zeros(place: Path) -> None:
    head, line = (place / "m.so.sig").read_text().splitlines()
    kind, key, _ = line.split()
    (place / "m.so.sig").write_text(f"{head}\n{kind} {key} {'A' * 86}==\n")


def no_text(place: Path) -> None:
    (place / "m.so.sig").write_bytes(b"\xff" * 90)


def half_a_line(place: Path) -> None:
    content = (place / "m.so.sig").read_bytes()
    (place / "m.so.sig").write_bytes(content[:-40])


def huge(place: Path) -> None:
    (place / "m.so.sig").write_bytes(b"tvm-signature 1\n" * 100_000)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (flipped, "does not fit"), (longer, "does not fit"), (of_another_file, "does not fit"),
        (exchanged, "does not fit"), (of_another_form, "does not fit"),
        (stripped, "there is no m.so.sig"), (emptied, "begins with ''"),
        (without_lines, "no signature"), (by_another, "signatures of 1 other keys"),
        (renamed_key, "does not fit"), (zeros, "does not fit"), (no_text, "no text"),
        (half_a_line, "the line 'ed25519"), (huge, "1,600,000 bytes"),
    ],
)  # fmt: skip
def test_what_no_trusted_key_signed_is_refused(
    place: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(place)
    with pytest.raises(SignatureError, match=said):
        tvm.runtime.load_module(place / "m.so", trusted_keys=[place / "mine.pub"])


def test_every_flipped_byte_of_a_signature_is_refused(place: Path) -> None:
    good = (place / "m.params.sig").read_bytes()
    keys = [(place / "mine.pub").read_text()]
    for at in range(len(good) - 1):
        changed = bytearray(good)
        changed[at] ^= 1
        if changed.split() == good.split():
            continue
        (place / "m.params.sig").write_bytes(changed)
        with pytest.raises(SignatureError):
            signing.verify(place / "m.params", keys)


def test_the_environment_refuses_what_is_not_signed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TVM_TRUSTED_KEYS", str(place / "mine.pub"))
    assert twice(tvm.runtime.load_module(place / "m.so")) == [0, 2, 4, 6]
    for name in ("m.so.sig", "m.o.sig", "m.params.sig"):
        (place / name).unlink()
    for load in (
        lambda: tvm.runtime.load_module(place / "m.so"),
        lambda: tvm.runtime.load_static_library(str(place / "m.o"), ["main"]),
        lambda: tvm.runtime.load_param_dict_from_file(place / "m.params"),
        lambda: tvm.get_global_func("runtime.ModuleLoadFromFile")(str(place / "m.so"), ""),
    ):
        with pytest.raises(SignatureError, match="there is no"):
            load()
    monkeypatch.setenv("TVM_TRUSTED_KEYS", str(place / "gone.pub"))
    with pytest.raises(SignatureError, match="read a public key"):  # a wrong policy is not none
        tvm.runtime.load_module(place / "m.so")
    with pytest.raises(SignatureError):
        tvm.runtime.load_module(place / "m.so", trusted_keys=[])


def test_what_was_checked_is_what_is_loaded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is exchanged between the check and the loader."""
    check = signing.signed_bytes

    def slow(*args: Any) -> bytes:
        content = check(*args)
        exchanged(place)
        return content

    monkeypatch.setattr(signing, "signed_bytes", slow)
    loaded = tvm.runtime.load_module(place / "m.so", trusted_keys=[place / "mine.pub"])
    assert twice(loaded) == [0, 2, 4, 6]


def test_several_signers(place: Path) -> None:
    signing.sign(place / "m.so", place / "other.key")
    for name in ("mine", "other"):
        key = (place / f"{name}.pub").read_text().strip()
        assert signing.verify(place / "m.so", [place / f"{name}.pub"]) == key
    exchanged(place)  # what no longer fits is left out
    signing.sign(place / "m.so", place / "other.key")
    assert len((place / "m.so.sig").read_text().splitlines()) == 2


def test_keys_are_kept_from_others_and_not_written_over(place: Path) -> None:
    if sys.platform != "win32":
        signing.generate_key(place / "new")
        assert stat.S_IMODE((place / "new.key").stat().st_mode) == 0o600
    before = (place / "mine.key").read_bytes()
    with pytest.raises(SignatureError, match="a file of that name"):
        signing.generate_key(place / "mine")
    assert (place / "mine.key").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"text", b"\xff\xfe", b"ed25519 AAAA\n"])
def test_what_is_no_key_is_refused(place: Path, content: bytes) -> None:
    (place / "bad.key").write_bytes(content)
    with pytest.raises(SignatureError, match="read a private key"):
        signing.sign(place / "m.so", place / "bad.key")
    with pytest.raises(SignatureError, match="read a public key"):
        signing.verify(place / "m.so", [place / "bad.key"])


def test_without_the_package(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.ed25519", None)
    with pytest.raises(SignatureError, match=r"pip install \"tvm-py\[sign\]\""):
        tvm.runtime.load_module(place / "m.so", trusted_keys=[place / "mine.pub"])
