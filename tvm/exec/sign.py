"""`tvm sign FILE --key NAME.key`: the signature of a file, written beside it as FILE.sig."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvm.exec.command import Outcome
from tvm.exec.files import check_input, check_output
from tvm.runtime import signing


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, nargs="+", metavar="FILE", help="what is signed")
    parser.add_argument(
        "--key", type=Path, required=True, metavar="NAME.key", help="what tvm keygen wrote"
    )


def run(args: argparse.Namespace) -> Outcome:
    check_input(args.key, "the key")
    for path in args.file:
        check_input(path, "the file")
        check_output(path.with_name(path.name + signing.SUFFIX), "the signature")
    made = [str(signing.sign(path, args.key)) for path in args.file]
    return Outcome("\n".join(f"wrote {path}" for path in made), {"signatures": made})
