"""Make the certificates by which the ends of `tvm.rpc` and disco know each other.

    python -m tvm.exec.rpc_certificate FOLDER              # an authority, and a first end
    python -m tvm.exec.rpc_certificate FOLDER --new OTHER  # one more end, with a key of its own

FOLDER and OTHER are for TVM_RPC_TLS: `ca.pem`, `cert.pem`, `key.pem`. The key of the authority,
`ca-key.pem`, is in FOLDER alone; keep it where the ends are made, other machines need none.
It needs the package `cryptography` (`pip install "tvm-py[tls]"`).
"""

from __future__ import annotations

import argparse
import datetime
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.runtime.tls import NAME

_DAYS: Final = 825
_AUTHORITY: Final = "tvm-rpc authority"


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m tvm.exec.rpc_certificate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.add_argument("folder", type=Path, help="where the authority is, or is to be")
    found.add_argument("--new", type=Path, help="a folder for one more end")
    found.add_argument("--days", type=int, default=_DAYS, help="how long they are good for")
    return found


def make(folder: Path, new: Path | None = None, days: int = _DAYS) -> None:
    """Make an authority with a first end, or a further end of the authority in `folder`.

    Raises TVMError where files are there already, or missing, or `cryptography` is.
    """
    if not 0 < days < 36500:
        raise TVMError(message("certificates", found=f"{days} days", legal="1 to 36499 days"))
    if new is None:
        _refuse(folder, "ca.pem", "ca-key.pem", "cert.pem", "key.pem")
        key, authority = _authority(days)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / "ca-key.pem", _private(key))
        _write(folder / "ca.pem", _pem(authority))
    else:
        _refuse(new, "ca.pem", "cert.pem", "key.pem")
        key, authority = _read(folder)
        new.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(new / "ca.pem", _pem(authority))
    own, certificate = _end(key, authority, days)
    _write((new or folder) / "key.pem", _private(own))
    _write((new or folder) / "cert.pem", _pem(certificate))


def _refuse(folder: Path, *names: str) -> None:
    there = [name for name in names if (folder / name).exists()]
    if there:
        raise TVMError(
            message(
                f"new certificates in {folder}",
                found=f"{', '.join(there)} already there",
                legal="an empty folder",
            )
        )


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


# --- by `cryptography` ---


def _authority(days: int) -> tuple[Any, Any]:
    from cryptography import x509

    key = _new_key()
    name = _name(_AUTHORITY)
    built = _certificate(name, name, key, days).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    built = built.add_extension(_usage(sign_others=True), critical=True)
    return key, built.sign(key, _hash())


def _end(key: Any, authority: Any, days: int) -> tuple[Any, Any]:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID as Use

    own = _new_key()
    built = _certificate(_name(NAME), authority.subject, own, days)
    for extension, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(sign_others=False), True),
        (x509.SubjectAlternativeName([x509.DNSName(NAME)]), False),
        (x509.ExtendedKeyUsage([Use.SERVER_AUTH, Use.CLIENT_AUTH]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), False),
    ):
        built = built.add_extension(extension, critical=critical)
    return own, built.sign(key, _hash())


def _certificate(subject: Any, issuer: Any, key: Any, days: int) -> Any:
    from cryptography import x509

    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks differ
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )


def _usage(sign_others: bool) -> Any:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=not sign_others, key_cert_sign=sign_others, crl_sign=sign_others,
        content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1())


def _hash() -> Any:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def _name(text: str) -> Any:
    from cryptography import x509

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def _private(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization as form

    found: bytes = key.private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    return found


def _pem(certificate: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    found: bytes = certificate.public_bytes(Encoding.PEM)
    return found


def _read(folder: Path) -> tuple[Any, Any]:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key((folder / "ca-key.pem").read_bytes(), None)
        return key, x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    except (OSError, ValueError, TypeError) as err:
        raise TVMError(
            message(
                f"the authority in {folder}",
                found=str(err),
                legal="a folder that `python -m tvm.exec.rpc_certificate FOLDER` made",
            )
        ) from err


def main(arguments: Sequence[str] | None = None) -> None:
    """Make them."""
    args = parser().parse_args(arguments)
    try:
        make(args.folder, args.new, args.days)
    except ImportError as err:
        sys.exit(f'certificates need the package cryptography: pip install "tvm-py[tls]" ({err})')
    except (OSError, TVMError) as err:
        sys.exit(str(err))
    print(f"TVM_RPC_TLS={(args.new or args.folder).resolve()}")


if __name__ == "__main__":
    main()
