"""Names of passes on a command line: `--disabled-pass FoldConstant,FuseOps`."""

from __future__ import annotations

import argparse

from tvm.relay import transform


def parse_pass_list_str(input_string: str) -> list[str]:
    """The names in a list with commas; argparse.ArgumentTypeError for those no pass has."""
    names = input_string.split(",")
    asked = [name.strip() for name in names]
    unknown = [name for name in asked if name and not callable(vars(transform).get(name))]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"Following passes are not registered within tvm: {', '.join(unknown)}."
        )
    return names
