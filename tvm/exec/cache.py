"""`tvm cache [clear]`: what the compile cache holds; `clear` empties it."""

from __future__ import annotations

import argparse

from tvm.backend.llvm import cache
from tvm.exec.command import Outcome


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("show", "clear"), default="show",
        help="show what it holds (default), or empty it",
    )  # fmt: skip


def run(args: argparse.Namespace) -> Outcome:
    used = cache.usage()
    if args.action == "clear":
        cache.clear()
        left = cache.usage()
        gone = used.bytes - left.bytes
        return Outcome(
            f"cleared {cache.folder()}: {used.files - left.files} files, {gone:,} bytes",
            {"folder": str(cache.folder()), "files": used.files - left.files, "bytes": gone},
        )
    found = described()
    state = "" if cache.enabled() else "; switched off (TVM_CACHE)"
    return Outcome(
        f"{cache.folder()}: {used.files} files, {used.bytes:,} of {cache.limit():,} bytes{state}",
        found,
    )


def described() -> dict[str, object]:
    """The cache as a record."""
    used = cache.usage()
    return {
        "folder": str(cache.folder()), "enabled": cache.enabled(), "files": used.files,
        "bytes": used.bytes, "limit": cache.limit(),
    }  # fmt: skip
