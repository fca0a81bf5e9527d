"""Operators without a converter, split up into others as torch itself defines them.

`stft` is a gather, a product and `_fft_r2c`; `fake_quantize_per_tensor_affine` a rounding between
bounds. What has a converter stays whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MAX_ROUNDS = 8  # what is split up may have to be split again; the deepest known takes three


def split_up(program: Any, is_known: Callable[[Any], bool]) -> Any | None:
    """The program with the operators split up that are not known; None if some cannot be."""
    for _ in range(MAX_ROUNDS):
        missing = {node.target for node in _calls(program) if not is_known(node)}
        if not missing:
            return program
        table = _definitions(missing)
        if len(table) < len(missing):
            return None
        try:
            program = program.run_decompositions(table)
        except Exception:  # a definition of torch's own that does not run
            return None
    return None


def _calls(program: Any) -> list[Any]:
    """The calls in a program's graph and in the graphs within it."""
    graphs = [one.graph for one in program.graph_module.modules() if hasattr(one, "graph")]
    return [node for graph in graphs for node in graph.nodes if node.op == "call_function"]


def _definitions(operators: set[Any]) -> dict[Any, Callable[..., Any]]:
    """What torch knows of the operators' definitions by others."""
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    composite = default_decompositions()
    found: dict[Any, Callable[..., Any]] = {}
    for one in operators:
        if one in decomposition_table:
            found[one] = decomposition_table[one]
        elif one in composite:
            found[one] = composite[one]
    return found
