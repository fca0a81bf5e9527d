"""Converters: one function an ONNX operator, versioned by the operator set it follows."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from tvm.ir.expr import RelaxExpr

if TYPE_CHECKING:
    from .node import Node
    from .scope import Ref

# a sequence of outputs may name values that importing knows, or that stand elsewhere
Result: TypeAlias = "RelaxExpr | Sequence[RelaxExpr | Ref]"
Converter: TypeAlias = "Callable[[Node], Result]"


class AsDefined(Exception):
    """What a converter raises for a node that is best read by the body that ONNX gives it."""


_FAMILIES = (
    "aliases", "attended_steps", "attention", "block_quantized", "causal", "control", "decoding",
    "delta_net", "elementwise", "encoded", "experts", "gates", "generation", "image", "linear",
    "maps", "masked_pool", "microsoft", "ml_models", "ml_tables", "ml_trees", "nchwc",
    "ngram_hashes", "ngrams", "nn", "packed_blocks", "packed_hashes", "packed_rows", "quantized",
    "quantized_microsoft", "random", "recurrent", "reduction", "region", "rotary", "selection",
    "sequence", "shape", "signal", "sparse_attention", "streams", "strings", "tensor",
    "token_paths", "training", "whisper", "words",
)  # fmt: skip
_CONVERTERS: dict[str, list[tuple[int, Converter]]] = {}
_loaded = False


def convert(*op_types: str, since: int = 1) -> Callable[[Converter], Converter]:
    """Declare the converter of one or more operators, from operator set `since` on."""

    def register(func: Converter) -> Converter:
        for op_type in op_types:
            versions = _CONVERTERS.setdefault(op_type, [])
            assert all(version != since for version, _ in versions), f"{op_type} is declared twice"
            versions.append((since, func))
            versions.sort(key=lambda pair: pair[0])
        return func

    return register


def _load() -> None:
    global _loaded
    if not _loaded:
        for family in _FAMILIES:
            importlib.import_module(f"{__package__}.{family}")
        _loaded = True


def find_converter(op_type: str, opset: int) -> Converter | None:
    """The converter for an operator as operator set `opset` defines it, or None.

    Exporters write operators beside a set that is older than they are: those are as they are now.
    """
    _load()
    versions = _CONVERTERS.get(op_type, [])
    fitting = [func for since, func in versions if since <= opset]
    candidates = fitting or [func for _, func in versions]
    return candidates[-1] if candidates else None


def known_operators() -> dict[str, list[int]]:
    """All operators with the operator sets from which on they have a converter."""
    _load()
    return {name: [since for since, _ in pairs] for name, pairs in sorted(_CONVERTERS.items())}
