"""Graphs through which torch records gradients: a function forward, and one backward.

Torch's `aot_autograd` makes both of a graph, in operators without writes. The operators of the
backward graph that have no converter (`relu`'s is `threshold_backward`) are written in others by
torch where it knows how; what is left runs on torch's own operators.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, TypeAlias

from tvm.error import OpNotImplemented, TVMError, message

from .base_fx_graph_translator import target_name
from .dropout import active_dropouts
from .dynamo_views import views_of_inputs

Compiler: TypeAlias = "Callable[[Any, Sequence[Any]], Callable[..., Any]]"

_REFUSED: Final = (TVMError, NotImplementedError)


def records_gradients(graph_module: Any, examples: Sequence[Any]) -> bool:
    """Whether torch would record how the results of a graph came from its inputs and weights."""
    torch: Any = import_module("torch")
    if not torch.is_grad_enabled() and not _enables(graph_module):
        return False
    tensors = (one for one in examples if isinstance(one, torch.Tensor))
    return any(one.requires_grad for one in (*tensors, *graph_module.parameters()))


def _enables(graph_module: Any) -> bool:
    """Whether a part of the graph stands under `torch.enable_grad()`."""
    nodes = (node for node in graph_module.graph.nodes if node.op == "call_function")
    return any(target_name(node) == "_set_grad_enabled" and node.args[0] for node in nodes)


def with_gradients(
    graph_module: Any, examples: Sequence[Any], compiled: Compiler, strict: bool
) -> Callable[..., Any]:
    """The graph as a function whose results know their gradients.

    What cannot be compiled runs on torch's operators; with `strict` a graph that cannot is refused.
    """
    if not import_module("torch").is_grad_enabled():  # aot_autograd would forget the gradients
        return _uncompiled(graph_module, "enable_grad() within no_grad()")
    common: Any = import_module("torch._dynamo.backends.common")
    boxed: Any = import_module("functorch.compile").make_boxed_func
    real: Any = import_module("torch._subclasses.fake_tensor").unset_fake_temporarily

    def forward(graph: Any, inputs: Sequence[Any]) -> Any:
        with real():  # constants of the graph are real tensors
            return boxed(_compiled(graph, inputs, compiled, strict))

    def backward(graph: Any, inputs: Sequence[Any]) -> Any:
        made: list[Callable[..., Any]] = []

        def run(*given: Any) -> Any:
            if not made:  # most calls of a model are never followed by one of its gradients
                with real():
                    made.append(_compiled(graph, inputs, compiled, strict=False, fixed=False))
            return made[0](*given)

        return boxed(run)

    made: Callable[..., Any] = common.aot_autograd(
        fw_compiler=forward, bw_compiler=backward, decompositions=_decompositions()
    )(graph_module, examples)
    return made


def _decompositions() -> dict[Any, Any]:
    """Torch's own ways to write gradients, and draws of chance, in plainer operators."""
    table = import_module("torch._decomp").decomposition_table
    kept = ("aten.native_dropout.", "aten._unsafe_masked_index_put_accumulate.")
    return {
        overload: made
        for overload, made in table.items()
        if "_backward" in str(overload) or str(overload).startswith(kept)
    }


def _compiled(
    graph: Any, inputs: Sequence[Any], compiled: Compiler, strict: bool, fixed: bool = True
) -> Callable[..., Any]:
    """The graph, compiled or on torch's operators; unless `fixed`, its numbers have to be sizes."""
    try:
        _check_dropouts(graph)
        if not fixed:
            _check_sizes(graph)
        return _apart(graph, compiled(graph, inputs))
    except _REFUSED as err:
        if strict:
            raise
        return _uncompiled(graph, str(err).splitlines()[0])


def _uncompiled(graph: Any, reason: str) -> Callable[..., Any]:
    warnings.warn(
        "torch.compile: a graph with gradients runs on torch's operators, not compiled: " + reason,
        stacklevel=2,
    )
    forward: Callable[..., Any] = graph.forward
    return forward


def _check_dropouts(graph: Any) -> None:
    """Refuse attention with a dropout, whose draws the graph of gradients would make again."""
    found = active_dropouts(graph.graph.nodes)
    if found:
        raise OpNotImplemented(message("torch: dropout", found=", ".join(found), legal="p=0"))


def _check_sizes(graph: Any) -> None:
    """Refuse a number that no tensor has as an extent: it would be fixed after the guards are."""
    values = [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]
    extents = {str(size) for value in values for size in getattr(value, "shape", ())}
    for value in values:
        if hasattr(value, "node") and str(value) not in extents:
            raise OpNotImplemented(message("torch: a number", found=str(value), legal="sizes"))


def _apart(graph: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results of their own memory, as torch watches over writes to each.

    What is kept for the gradient and what the user gets, who may write to it, would otherwise be
    two tensors in one place; torch notices writes to one and the same tensor only.
    """
    results = list(next(iter(reversed(graph.graph.nodes))).args[0])
    inputs = [node for node in graph.graph.nodes if node.op == "placeholder"]
    place = {node: number for number, node in enumerate(inputs)}
    views = set(views_of_inputs(graph))  # torch's own: it notices writes
    first = [results.index(one) if one is not None else 0 for one in results]

    def call(*given: Any) -> tuple[Any, ...]:
        made: list[Any] = []
        taken = {memory_of(one) for one in given} - {None}
        for number, value in enumerate(run(*given)):
            node = results[number]
            if node in place:
                value = given[place[node]]
            elif first[number] < number and node is not None:
                value = made[first[number]]
            elif number not in views and memory_of(value) in taken:
                value = value.clone()
            made.append(value)
            taken |= {memory_of(value)} - {None}
        return tuple(made)

    return call


def memory_of(value: Any) -> Any:
    """The address of a tensor's storage; None for what is no tensor."""
    return value.untyped_storage().data_ptr() if hasattr(value, "untyped_storage") else None
