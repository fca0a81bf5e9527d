"""The command line `tvmc`. It ends with 0, 4 (refused) or 5 (a package is not installed)."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.base import __version__

from .autotuner import add_tune_parser
from .compiler import add_compile_parser
from .config_options import convert_config_json_to_cli, read_and_convert_json_into_dict
from .errors import TVMCException, TVMCImportError
from .runner import add_run_parser

REGISTERED_PARSER: Final[list[Callable[..., None]]] = [
    add_compile_parser, add_run_parser, add_tune_parser,
]  # fmt: skip
_LOGGER: Final = logging.getLogger("TVMC")


def register_parser(make_subparser: Callable[..., None]) -> Callable[..., None]:
    """Decorate `make(subparsers, main_parser, config)`, which adds a command of its own."""
    REGISTERED_PARSER.append(make_subparser)
    return make_subparser


def _main(argv: Sequence[str]) -> int:
    """Run a command line without the program's name; its exit code."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument("--config", default="default")
    try:
        known, rest = first.parse_known_args(argv)
        config = convert_config_json_to_cli(read_and_convert_json_into_dict(known))
        if "--config" not in " ".join(argv):
            config = []
        parser = _parser(config)
        if not argv:
            parser.print_help()
            return 0
        args = parser.parse_args(rest)
        _LOGGER.setLevel(max(logging.DEBUG, logging.ERROR - 10 * args.verbose))
        if args.version:
            print(__version__)
            return 0
        if not hasattr(args, "func"):
            parser.error("missing subcommand")
        done: int = args.func(args)
        return done
    except TVMCImportError as error:
        print(f'Package "{error}" is not installed. Hint: pip install {error}', file=sys.stderr)
        return 5
    except TVMCException as error:
        print(f"Error: {error}", file=sys.stderr)
        return 4


def _parser(config: Sequence[dict[str, Any]]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvmc", description="TVM compiler driver", add_help=True,
        epilog="For a command's arguments: tvmc COMMAND --help",
    )  # fmt: skip
    parser.add_argument(
        "--config", default="default", help="configuration: a file of JSON, or its name"
    )
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(title="commands")
    for add in REGISTERED_PARSER:
        add(commands, parser, config)
    return parser


def main() -> int:
    """Run this process's command line."""
    return _main(sys.argv[1:])
