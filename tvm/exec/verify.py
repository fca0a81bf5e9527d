"""`tvm verify FILE --trusted-key NAME.pub`: which of the trusted keys signed a file."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvm.error import message
from tvm.exec.command import Mistake, Outcome
from tvm.exec.files import check_input
from tvm.exec.library import add_trust
from tvm.runtime import signing


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="what is signed")
    add_trust(parser)


def run(args: argparse.Namespace) -> Outcome:
    check_input(args.file, "the file")
    keys = args.trusted_key or signing.trusted_by_environment()
    if not keys:
        legal = f"--trusted-key NAME.pub, or {signing.ENVIRONMENT}"
        raise Mistake(message("tvm verify", found="no trusted key", legal=legal))
    key = signing.verify(args.file, keys)
    return Outcome(f"{args.file}: signed by {key}", {"file": str(args.file), "key": key})
