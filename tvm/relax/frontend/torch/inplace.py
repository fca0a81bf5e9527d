"""Operators that write to their first operand, and when nobody else can see it.

A write to a tensor that an operator has just made, and of which there are no views, is the
operator without the write: whoever reads the tensor later reads the result. So is a write to a view
whose tensor nobody else looks at. Whatever is less plain has to be rewritten (`functionalize`).
"""

from __future__ import annotations

import copy
from typing import Any, Final

# operators that always give a tensor of their own, not a view of an operand
FRESH: Final = frozenset(
    {
        "abs", "add", "addmm", "amax", "amin", "arange", "avg_pool1d", "avg_pool2d", "avg_pool3d",
        "batch_norm", "bmm", "cat", "clamp", "clone", "conv1d", "conv2d", "conv3d",
        "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "cumsum", "div",
        "elu", "embedding", "empty", "empty_like", "eq", "exp", "full", "full_like", "gather", "ge",
        "gelu", "group_norm", "gt", "hardsigmoid", "hardswish", "hardtanh", "index_select",
        "instance_norm", "layer_norm", "le", "leaky_relu", "lift_fresh_copy", "linear", "log",
        "log_softmax", "lt", "matmul", "max_pool1d", "max_pool2d", "max_pool3d", "maximum", "mean",
        "minimum", "mish", "mm", "mul", "ne", "neg", "new_empty", "new_full", "new_ones",
        "new_zeros", "ones", "ones_like", "relu", "relu6", "rsqrt", "rsub",
        "scaled_dot_product_attention", "sigmoid", "silu", "softmax", "softplus", "sqrt", "stack",
        "sub", "sum", "tanh", "where", "zeros", "zeros_like",
    }
)  # fmt: skip

# operators whose result is their first operand, or a part of it in the same memory
_VIEWS: Final = frozenset(
    {
        "alias", "contiguous", "detach", "flatten", "movedim", "narrow", "permute", "reshape",
        "select", "slice", "squeeze", "transpose", "unflatten", "unsqueeze", "view",
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
    if not any(is_idle(node) for node in program.graph_module.graph.nodes):
        return program
    from torch.fx import GraphModule

    graph = copy.deepcopy(program.graph_module.graph)
    for node in list(graph.nodes):
        if is_idle(node):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    made = copy.copy(program)
    made._graph_module = GraphModule(program.graph_module, graph)
    return made


def is_idle(node: Any) -> bool:
    """Whether a node is a dropout, which an imported program leaves out."""
    return node.op == "call_function" and packet(node) in _IDLE


def writes(node: Any) -> bool:
    """Whether a node's operator writes to an operand."""
    if is_idle(node):
        return False
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and bool(schema is not None and schema.is_mutable)


def plainly_written(nodes: list[Any]) -> bool:
    """Whether all writes among the nodes of a graph are to tensors that nobody else sees."""
    return written_tensors(nodes) is not None


def written_tensors(nodes: list[Any]) -> dict[Any, Any] | None:
    """Of nodes that stand for a tensor that may be written: the node that made it.

    None where somebody else may see a write.
    """
    roots: dict[Any, Any] = {}
    for node in nodes:
        if not writes(node):
            if _is_fresh(node) or _is_all_that_is_seen(node, roots):
                roots[node] = node
            continue
        root = roots.get(node.args[0])
        if root is None or not _only_operand(node) or not _no_views(node, roots, root):
            return None
        roots[node] = root
    return roots


def _is_fresh(node: Any) -> bool:
    return node.op == "call_function" and packet(node) in FRESH


def _is_all_that_is_seen(node: Any, roots: dict[Any, Any]) -> bool:
    """Whether a node is a view of a tensor of which nobody else, from here on, sees anything."""
    if not _is_view(node) or node.args[0] not in roots:
        return False
    same = _same(roots, roots[node.args[0]])
    others = {user for one in same for user in one.users} - same - {node}
    return all(user < node and _is_fresh(user) for user in others)


def _is_view(node: Any) -> bool:
    return node.op == "call_function" and (packet(node) in _VIEWS or packet(node) in _IDLE)


def _same(roots: dict[Any, Any], root: Any) -> set[Any]:
    """The nodes that stand for one tensor."""
    return {one for one, its in roots.items() if its is root}


def packet(node: Any) -> str:
    """The name of a node's operator without its overload: `add` of `aten.add.Tensor`."""
    return str(getattr(node.target, "__name__", "")).partition(".")[0]


def _only_operand(node: Any) -> bool:
    """Whether the first operand is all that is written, and it is the result."""
    schema = node.target._schema
    written = [arg.alias_info is not None and arg.alias_info.is_write for arg in schema.arguments]
    return written[0] and not any(written[1:]) and len(schema.returns) == 1


def _no_views(node: Any, roots: dict[Any, Any], root: Any) -> bool:
    """Whether nothing before the write may share the tensor's memory."""
    readers = [user for one in _same(roots, root) for user in one.users if user is not node]
    return all(user > node or _is_fresh(user) or user in roots for user in readers)
