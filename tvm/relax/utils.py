"""Tools around Relax programs, under the module name that TVM gives them."""

from __future__ import annotations

from .bind import copy_with_new_vars
from .expr import convert_to_expr
from .te_call import gen_call_tir_inputs

__all__ = ["convert_to_expr", "copy_with_new_vars", "gen_call_tir_inputs", "metadata_partitioner"]


def metadata_partitioner(rx_txt: str) -> list[str]:
    """A script text in two parts: the program, and the metadata section (from its brace on)."""
    mark = "metadata = tvm.ir.load_json("
    at = rx_txt.find(mark)
    if at < 0:
        raise ValueError("the text has no metadata section; print it with show_meta=True")
    body = rx_txt[at + len(mark) :]
    start = body.find("{")
    end = body.rfind("}")
    return [rx_txt[:at], body[start : end + 1]]
