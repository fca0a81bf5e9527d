"""What is asked of a model before it is read: that there is a rule for each of its operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tvm.error import ArgumentValueError, OpNotImplemented, message
from tvm.support.suggest import near_names

from .bodies import has_body
from .graph import Functions, contributed, inner_graphs, node_name, operator_name, opset_of
from .registry import find_converter, known_operators

# Operators that will not come, and why.
REFUSED = {
    "ai.onnx.preview.training.Gradient": "tvm.relax.transform.Gradient differentiates a module",
}


def check_names(graph: Any, functions: Functions) -> None:
    """Refuse names that are no text: protobuf gives what is no UTF-8 as bytes."""
    stack: list[tuple[str, Any]] = [("the graph", graph)]
    stack += [(f"function {key[1]!r}", body) for key, body in functions.items()]
    while stack:
        where, body = stack.pop()
        for kind in ("input", "output", "initializer", "value_info"):
            for value in getattr(body, kind, ()):
                _require_text(value if isinstance(value, (str, bytes)) else value.name, where)
        for node in body.node:
            _require_text(node.op_type, where)
            here = f"a node {node.op_type} of {where}"
            for name in (node.name, node.domain, *node.input, *node.output):
                _require_text(name, here)
            for attribute in node.attribute:
                _require_text(attribute.name, here)
            stack += [(here, inner) for inner in inner_graphs(node)]


def _require_text(name: str | bytes, where: str) -> None:
    if isinstance(name, bytes):
        raise ArgumentValueError(
            message("read a model", found=f"the name {name[:80]!r}", where=where, legal="UTF-8")
        )


def check_operators(nodes: Iterable[Any], opsets: Mapping[str, int], functions: Functions) -> None:
    """Refuse the model with all operators at once that have no rule."""
    missing: dict[str, list[str]] = {}
    for number, node in _walk(nodes, functions, set()):
        name = operator_name(node)
        if (node.domain, node.op_type) in functions:
            continue
        version = opset_of(opsets, node.domain)
        found = find_converter(name, version) or contributed(node)
        if found is None and not has_body(node.op_type, node.domain, version):
            missing.setdefault(name, []).append(node_name(node, number))
    if missing:
        raise OpNotImplemented(_refusal(missing, opset_of(opsets, "")))


def _refusal(missing: Mapping[str, list[str]], opset: int) -> str:
    shown = [
        f"{name} ({', '.join(nodes)})" + (f": {REFUSED[name]}" if name in REFUSED else "")
        for name, nodes in sorted(missing.items())
    ]
    plural = "s" if len(shown) > 1 else ""
    return message(
        "The following operators are not supported for frontend ONNX: "
        + ", ".join(sorted(missing)),
        found=f"{len(shown)} operator{plural} without a converter:\n" + "\n".join(shown),
        where=f"operator set {opset}",
        legal=f"{len(known_operators())} operators are known, among them "
        + ", ".join(_nearest(missing)),
    )


def _walk(
    nodes: Iterable[Any], functions: Functions, seen: set[tuple[str, str]]
) -> Iterator[tuple[int, Any]]:
    """All nodes, with those of graphs within, and of the model's functions that are called."""
    for number, node in enumerate(nodes):
        yield number, node
        for graph in inner_graphs(node):
            yield from _walk(graph.node, functions, seen)
        key = (node.domain, node.op_type)
        if key in functions and key not in seen:
            seen.add(key)
            yield from _walk(functions[key].node, functions, seen)


def has_branches(nodes: Iterable[Any], functions: Functions, open_sizes: bool) -> bool:
    """Whether a node may become a branch, loop or check, which stand outside of dataflow blocks.

    With `open_sizes` inputs have extents that are not known: it may be asked whether they are one.
    """

    def may_branch(node: Any) -> bool:
        asks = _refuses_elements(node) or (open_sizes and _squeezes_every_one(node))
        return bool(inner_graphs(node)) or asks

    return any(may_branch(node) for _, node in _walk(nodes, functions, set()))


def _squeezes_every_one(node: Any) -> bool:
    return node.op_type == "Squeeze" and len(node.input) == 1 and not node.attribute


_CHECKED = ("CropAndResize", "GatedDeltaNet", "MaxRoiPool", "VarlenCausalConvWithState")


def _refuses_elements(node: Any) -> bool:
    """An encoder of nothing but its categories, regions of numbered pictures, packed sequences."""
    zeros = [attribute.i for attribute in node.attribute if attribute.name == "zeros"]
    is_strict = node.op_type == "OneHotEncoder" and zeros == [0]
    return is_strict or node.op_type in _CHECKED


def _nearest(missing: Mapping[str, object]) -> list[str]:
    """A few known operators, those with names like the missing ones first."""
    known = known_operators()
    near = [name for wanted in missing for name in near_names(wanted, known)]
    return list(dict.fromkeys([*near, "Conv", "Gemm", "MatMul", "Relu"]))[:6]
