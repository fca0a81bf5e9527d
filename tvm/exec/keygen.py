"""`tvm keygen NAME`: a key that signs files, and the public one that others trust."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvm.error import message
from tvm.exec.command import Mistake, Outcome
from tvm.exec.files import check_output
from tvm.runtime import signing


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", type=Path, metavar="NAME", help="writes NAME.key (keep it) and NAME.pub (give it)"
    )


def run(args: argparse.Namespace) -> Outcome:
    if not args.name.name:
        raise Mistake(message("tvm keygen", found="no name", legal="a name for the files"))
    check_output(Path(f"{args.name}.key"), "the key")
    private, public = signing.generate_key(args.name)
    return Outcome(
        f"wrote {private}, which signs: keep it\nwrote {public}, which others trust: give it",
        {"private": str(private), "public": str(public)},
    )
