"""Dropouts in training, which imported programs leave out: said once an import."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, Final

from .base_fx_graph_translator import target_name

_EMPTY: Final[dict[str, Any]] = {}
_DROPOUTS: Final = frozenset(
    {
        "alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout",
        "feature_dropout",
    }
)  # fmt: skip
# dropouts among the options of an operator: where the probability stands
_WITHIN: Final = {
    "scaled_dot_product_attention": 4,
    "_scaled_dot_product_attention_math": 4,
    "_scaled_dot_product_flash_attention": 3,
    "_scaled_dot_product_flash_attention_for_cpu": 3,
}


def warn_of_dropouts(nodes: Iterable[Any], modules: Mapping[str, Any] = _EMPTY) -> None:
    """Say which dropouts of a model in training mode the import leaves out."""
    found = active_dropouts(nodes, modules)
    if found:
        warnings.warn(
            f"torch: {', '.join(found)} in training: an imported program computes without dropout, "
            "as a model in evaluation mode (model.eval()) does",
            stacklevel=4,
        )


def active_dropouts(nodes: Iterable[Any], modules: Mapping[str, Any] = _EMPTY) -> list[str]:
    """The names of operators and modules that would drop values, each once, in order."""
    found = {}
    for node in nodes:
        if node.op == "call_module":
            found.update(dict.fromkeys(_of_module(modules.get(str(node.target)))))
        elif node.op.startswith("call_"):
            name = target_name(node).partition(".")[0]
            if _drops(name.rstrip("_"), node):
                found[name] = None
    return list(found)


def _of_module(module: Any) -> list[str]:
    """Of a module that is one node: its own dropout, and those within it."""
    if module is None:
        return []
    kinds = ((type(one).__name__, one) for one in module.modules())
    return [
        name
        for name, one in kinds
        if one.training
        and getattr(one, "p" if "Dropout" in name else "dropout", 0) not in (0, 0.0, None)
        and ("Dropout" in name or name == "MultiheadAttention")
    ]


def _drops(name: str, node: Any) -> bool:
    if name in _WITHIN:
        place = _WITHIN[name]
        given = node.args[place] if len(node.args) > place else node.kwargs.get("dropout_p", 0)
        return _may_be(given)
    if name not in _DROPOUTS:
        return False
    given = [*node.args, None, None, None]
    p = node.kwargs.get("p", given[1])
    train = node.kwargs.get("train", node.kwargs.get("training", given[2]))
    if train is None:  # what torch.nn.functional does unless told
        train = not name.endswith("alpha_dropout")
    return (p is None or _may_be(p)) and bool(train)


def _may_be(probability: Any) -> bool:
    """Whether it is above zero, or a value that only the run tells."""
    return not isinstance(probability, (int, float)) or probability > 0
