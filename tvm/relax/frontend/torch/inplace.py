"""Operators that write to their first operand, and when nobody else can see it.

A write to a tensor that an operator has just made, and of which there are no views, is the
operator without the write: whoever reads the tensor later reads the result. Whatever is less plain
is left to torch, which rewrites programs so that they write nothing.
"""

from __future__ import annotations

import copy
from typing import Any, Final

# operators that always give a tensor of their own, not a view of an operand
FRESH: Final = frozenset(
    {
        "add", "addmm", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bmm", "cat",
        "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
        "convolution", "div", "embedding", "exp", "gelu", "group_norm", "instance_norm",
        "layer_norm", "linear", "matmul", "max_pool1d", "max_pool2d", "max_pool3d", "mean", "mm",
        "mul", "relu", "sigmoid", "silu", "softmax", "stack", "sub", "sum", "tanh",
    }
)  # fmt: skip


# operators that do nothing outside of training
_IDLE: Final = frozenset(
    {
        "alpha_dropout", "dropout", "feature_alpha_dropout", "feature_dropout", "alpha_dropout_",
        "dropout_", "feature_alpha_dropout_", "feature_dropout_",
    }
)  # fmt: skip


def without_dropout(program: Any) -> Any:
    """The program without dropouts, which torch itself would split into draws of chance."""
    if not any(_is_idle(node) for node in program.graph_module.graph.nodes):
        return program
    from torch.fx import GraphModule

    graph = copy.deepcopy(program.graph_module.graph)
    for node in list(graph.nodes):
        if _is_idle(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    made = copy.copy(program)
    made._graph_module = GraphModule(program.graph_module, graph)
    return made


def _is_idle(node: Any) -> bool:
    return node.op == "call_function" and _packet(node) in _IDLE


def writes(node: Any) -> bool:
    """Whether a node's operator writes to an operand."""
    if _is_idle(node):
        return False
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and bool(schema is not None and schema.is_mutable)


def plainly_written(nodes: list[Any]) -> bool:
    """Whether all writes among the nodes of a graph are to tensors that nobody else sees."""
    roots: dict[Any, Any] = {}  # of a node: the one that made the tensor it stands for
    for node in nodes:
        if not writes(node):
            if _is_fresh(node):
                roots[node] = node
            continue
        root = roots.get(node.args[0])
        if root is None or not _only_operand(node) or not _no_views(node, roots, root):
            return False
        roots[node] = root
    return True


def _is_fresh(node: Any) -> bool:
    return node.op == "call_function" and _packet(node) in FRESH


def _packet(node: Any) -> str:
    return str(getattr(node.target, "__name__", "")).partition(".")[0]


def _only_operand(node: Any) -> bool:
    """Whether the first operand is all that is written, and it is the result."""
    schema = node.target._schema
    written = [arg.alias_info is not None and arg.alias_info.is_write for arg in schema.arguments]
    return written[0] and not any(written[1:]) and len(schema.returns) == 1


def _no_views(node: Any, roots: dict[Any, Any], root: Any) -> bool:
    """Whether nothing before the write may share the tensor's memory."""
    same = [one for one, its in roots.items() if its is root]
    readers = [user for one in same for user in one.users if user is not node]
    return all(user > node or _is_fresh(user) or user in roots for user in readers)
