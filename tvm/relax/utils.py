"""Tools around Relax programs, under the module name that TVM gives them."""

from __future__ import annotations

import re

from .bind import copy_with_new_vars
from .expr import convert_to_expr
from .te_call import gen_call_tir_inputs
from .type_converter import args_converter

__all__ = [
    "args_converter", "convert_to_expr", "copy_with_new_vars", "gen_call_tir_inputs",
    "metadata_partitioner",
]  # fmt: skip


_METADATA = re.compile(r'metadata = tvm\.ir\.load_json\("""(.*?)"""\)\n*', re.DOTALL)


def metadata_partitioner(rx_txt: str) -> list[str]:
    """A script text in two parts: the program, and the JSON of its metadata section."""
    found = _METADATA.search(rx_txt)
    if found is None:
        raise ValueError("The metadata was not found: print the program with show_meta=True")
    return [rx_txt[: found.start()] + rx_txt[found.end() :], found[1]]
