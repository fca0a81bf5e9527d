"""A parser that looks at a command line before all of its arguments are known."""

from __future__ import annotations

import argparse
from typing import Any


class TVMCSuppressedArgumentParser(argparse.ArgumentParser):
    """Takes what `parent` knows, and leaves alone what it does not: no error, no help, no exit.

        known, rest = TVMCSuppressedArgumentParser(main_parser).parse_known_args(argv)
    """

    def __init__(self, parent: argparse.ArgumentParser, **kwargs: Any) -> None:
        super().__init__(add_help=False, **kwargs)
        for action in parent._actions:
            if action.option_strings and not isinstance(
                action, (argparse._HelpAction, argparse._SubParsersAction)
            ):
                self._add_action(action)

    def exit(self, status: int = 0, message: str | None = None) -> None:  # type: ignore[override]
        """Go on: the full parser tells what is wrong."""
