"""Shapes of inputs on a command line: `x:[1,3,224,224] ids:[-1,10]`."""

from __future__ import annotations

import argparse
import re
from typing import Any, Final

from tvm.relay.ty import Any as AnyDim

_LEGAL: Final = (
    'input shapes must be of the form "input_name:[dim1,dim2,...,dimn] input_name2:[dim1,dim2]"'
)
_ONE: Final = re.compile(
    r"(?P<name>[\w./:\-]+?)\s*:\s*\[(?P<shape>\s*-?\d+(?:\s*,\s*-?\d+)*\s*)\][\s,]*"
)


def parse_shape_string(inputs_string: str) -> dict[str, list[Any]]:
    """Shapes by names of inputs. A negative extent may be any: `relay.Any()`.

    Raises argparse.ArgumentTypeError for any other form.
    """
    text, at = inputs_string.strip(), 0
    shapes: dict[str, list[Any]] = {}
    while at < len(text) or not shapes:
        found = _ONE.match(text, at)
        if found is None:
            raise argparse.ArgumentTypeError(f"{_LEGAL}; found {text[at:]!r}")
        extents = [int(extent) for extent in found["shape"].split(",")]
        shapes[found["name"]] = [AnyDim() if extent < 0 else extent for extent in extents]
        at = found.end()
    return shapes
