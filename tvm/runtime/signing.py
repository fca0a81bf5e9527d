"""Who made a file: ed25519 signatures beside files, and the keys that a process trusts.

`model.so.sig` beside `model.so` has a line for each signer: its public key, its signature. Signed
are the suffix, which decides how a file is read, and BLAKE2b-512 of all bytes. Where keys are
trusted, by argument or by TVM_TRUSTED_KEYS (paths of `.pub` files), no loader sees a file without a
signature of one of them; what is loaded is a private copy of the bytes that were checked, so that
nobody exchanges them meanwhile.

It needs the package `cryptography` (`pip install "tvm-py[sign]"`).
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import importlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import SignatureError, message
from tvm.support.scratch import scratch

from .files import read_regular, write_beside

ENVIRONMENT: Final = "TVM_TRUSTED_KEYS"
SUFFIX: Final = ".sig"
_KIND: Final = "ed25519"
_HEAD: Final = "tvm-signature 1"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64
_MAX_BYTES: Final = 1 << 16  # of a file of keys or signatures
Keys = Iterable["str | os.PathLike[str]"]


def generate_key(path: str | os.PathLike[str]) -> tuple[Path, Path]:
    """A new private key in `path`.key, which its owner alone can read, and its public one in
    `path`.pub. SignatureError if one of the files is there already.
    """
    private, public = Path(f"{os.fspath(path)}.key"), Path(f"{os.fspath(path)}.pub")
    for file in (private, public):
        if file.exists() or file.is_symlink():
            raise SignatureError(
                message(f"a new key {str(file)!r}", found="a file of that name", legal="a new name")
            )
    key = _by("asymmetric.ed25519").Ed25519PrivateKey.generate()
    form = _by("serialization")
    content = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    # never readable to others, not even for a moment
    with os.fdopen(os.open(private, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file_:
        file_.write(content)
    write_beside(public, f"{_KIND} {_text(_raw(key.public_key()))}\n".encode())
    return private, public


def sign(path: str | os.PathLike[str], key: str | os.PathLike[str]) -> Path:
    """Add the signature of the private key in file `key` to those of `path`; the file of them.

    Signatures that no longer fit the file are left out.
    """
    signer = _private(key)
    digest = _digest(read_regular(path), Path(path).suffix)
    beside = _beside(path)
    lines = [_HEAD]
    own = _raw(signer.public_key())
    for other, signature in _signatures(beside) if beside.exists() else ():
        if other != own and _fits(other, signature, digest):
            lines.append(f"{_KIND} {_text(other)} {_text(signature)}")
    lines.append(f"{_KIND} {_text(own)} {_text(signer.sign(digest))}")
    write_beside(beside, "".join(f"{line}\n" for line in lines).encode())
    return beside


def verify(path: str | os.PathLike[str], trusted_keys: Keys) -> str:
    """The trusted key that signed a file, as `ed25519 ...`; SignatureError if none did."""
    signed = _signer(path, read_regular(path), Path(path).suffix, _public_keys(trusted_keys))
    return f"{_KIND} {_text(signed)}"


def trusted_by_environment() -> list[str] | None:
    """The keys that TVM_TRUSTED_KEYS names; None if it is not set."""
    given = os.environ.get(ENVIRONMENT, "")
    return [part for part in given.split(os.pathsep) if part] if given else None


def required(trusted_keys: Keys | None) -> list[bytes] | None:
    """Of which public keys one has to have signed what is loaded; None if nobody has to.

    None stands for what the environment says, and no keys at all for nobody who is trusted.
    """
    keys = trusted_by_environment() if trusted_keys is None else trusted_keys
    return None if keys is None else _public_keys(keys)


def signed_bytes(
    path: str | os.PathLike[str], trusted_keys: Keys | None = None, suffix: str | None = None
) -> bytes:
    """The content of a file, which one of the trusted keys signed, if it has to be."""
    content, keys = read_regular(path), required(trusted_keys)
    if keys is not None:
        _signer(path, content, Path(path).suffix if suffix is None else suffix, keys)
    return content


def signed_copy(path: str, trusted_keys: Keys | None, suffix: str) -> str:
    """`path` itself if nobody has to have signed it, else the path of a copy that was checked."""
    if required(trusted_keys) is None:
        return path
    content = signed_bytes(path, trusted_keys, suffix)
    folder = tempfile.mkdtemp(dir=_copies().name)
    copy = Path(folder) / Path(path).name
    copy.write_bytes(content)
    return str(copy)


@functools.cache
def _copies() -> tempfile.TemporaryDirectory[str]:
    """The folder of copies: the system reads parts of a library for as long as it is loaded."""
    return scratch("tvm-signed-")


# --- what is signed, and by whom ---


def _beside(path: str | os.PathLike[str]) -> Path:
    return Path(f"{os.fspath(path)}{SUFFIX}")


def _digest(content: bytes, suffix: str) -> bytes:
    """What a signature is made of."""
    whole = hashlib.blake2b(content, digest_size=64).hexdigest()
    return f"{_HEAD}\n{suffix}\n{whole}\n".encode(errors="surrogateescape")


def _signer(
    path: str | os.PathLike[str], content: bytes, suffix: str, keys: Sequence[bytes]
) -> bytes:
    """Which of the keys signed the content."""
    asked = f"load {os.fspath(path)!r}, signed by a trusted key"
    legal = f"a file that one of {len(keys)} trusted keys signed (tvm sign), as it was signed"
    beside = _beside(path)
    try:
        found = _signatures(beside)
    except FileNotFoundError:
        raise SignatureError(
            message(asked, found=f"no signature: there is no {beside.name}", legal=legal)
        ) from None
    by_trusted = [(key, signature) for key, signature in found if key in keys]
    if not by_trusted:
        said = f"signatures of {len(found)} other keys" if found else "no signature"
        raise SignatureError(message(asked, found=said, where=str(beside), legal=legal))
    digest = _digest(content, suffix)
    for key, signature in by_trusted:
        if _fits(key, signature, digest):
            return key
    said = "a signature that does not fit: of another file, or this one was changed"
    raise SignatureError(message(asked, found=said, where=str(beside), legal=legal))


def _fits(key: bytes, signature: bytes, digest: bytes) -> bool:
    public = _by("asymmetric.ed25519").Ed25519PublicKey.from_public_bytes(key)
    refused = importlib.import_module("cryptography.exceptions").InvalidSignature
    try:
        public.verify(signature, digest)
    except refused:
        return False
    return True


def _signatures(beside: Path) -> list[tuple[bytes, bytes]]:
    """The keys and signatures of a file of them."""
    head, *lines = _lines(beside, "a file of signatures") or [""]
    if head != _HEAD:
        raise _unreadable(beside, "a file of signatures", f"it begins with {head[:40]!r}")
    found = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        key, _, signature = rest.partition(" ")
        sizes = (_KEY_BYTES, _SIGNATURE_BYTES)
        parts = [_binary(text, size) for text, size in zip((key, signature), sizes)]
        if kind != _KIND or parts[0] is None or parts[1] is None:
            raise _unreadable(beside, "a file of signatures", f"the line {line[:40]!r}")
        found.append((parts[0], parts[1]))
    return found


# --- keys ---


def _public_keys(given: Keys) -> list[bytes]:
    """The keys that are given as `ed25519 ...` or as paths of files with lines of that form."""
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    found: list[bytes] = []
    for key in given:
        if isinstance(key, str) and key.startswith(f"{_KIND} "):
            lines, where = [key.strip()], Path("the key itself")
        else:
            where = Path(key)
            try:
                lines = _lines(where, "a public key")
            except OSError as err:
                raise _unreadable(where, "a public key", err.strerror or str(err)) from err
        for line in lines:
            kind, _, rest = line.partition(" ")
            raw = _binary(rest.split(" ")[0], _KEY_BYTES)
            if kind != _KIND or raw is None:
                raise _unreadable(where, "a public key", f"the line {line[:40]!r}")
            found.append(raw)
        if not lines:
            raise _unreadable(where, "a public key", "an empty file")
    return found


def _private(path: str | os.PathLike[str]) -> Any:
    try:
        key = _by("serialization").load_pem_private_key(read_regular(path), None)
    except (OSError, ValueError, TypeError) as err:
        raise _unreadable(Path(path), "a private key", _first_line(err)) from err
    if not isinstance(key, _by("asymmetric.ed25519").Ed25519PrivateKey):
        raise _unreadable(Path(path), "a private key", f"a key of {type(key).__name__}")
    return key


def _lines(path: Path, what: str) -> list[str]:
    try:
        content = read_regular(path)
        if len(content) > _MAX_BYTES:
            raise _unreadable(path, what, f"{len(content):,} bytes")
        return [line.strip() for line in content.decode().splitlines() if line.strip()]
    except UnicodeDecodeError as err:
        raise _unreadable(path, what, f"no text: {err.reason}") from err


def _unreadable(path: Path, what: str, found: str) -> SignatureError:
    return SignatureError(
        message(
            f"read {what}", found=found, where=str(path),
            legal="what `tvm keygen` and `tvm sign` write",
        )
    )  # fmt: skip


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _binary(text: str, size: int) -> bytes | None:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    # one text a value: the last letter of some has bits that nobody reads
    return raw if len(raw) == size and _text(raw) == text else None


def _raw(public: Any) -> bytes:
    form = _by("serialization")
    found: bytes = public.public_bytes(form.Encoding.Raw, form.PublicFormat.Raw)
    return found


def _first_line(err: Exception) -> str:
    return (str(err).splitlines() or [type(err).__name__])[0]


def _by(part: str) -> Any:
    """A part of `cryptography`, which is loaded where signatures are made or checked."""
    try:
        return importlib.import_module(f"cryptography.hazmat.primitives.{part}")
    except ImportError as err:
        raise SignatureError(
            message(
                "signatures", found=f"no package cryptography ({err})",
                legal='pip install "tvm-py[sign]"',
            )
        ) from err  # fmt: skip
