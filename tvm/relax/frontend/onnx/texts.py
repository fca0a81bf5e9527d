"""Strings of a model: tensors of their codes (`tvm.runtime.strings`), and which values they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, StringImm
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.runtime.strings import code_of

if TYPE_CHECKING:
    from .known_values import Array
    from .node import Node
    from .scope import Scope

_STRING = 8  # ONNX's number for the type
# What reads strings and makes none; of all others the first result is as the first input.
_TO_NUMBERS = frozenset((
    "Equal", "Shape", "Size", "RegexFullMatch", "TfIdfVectorizer", "IsNaN", "SequenceLength",
    "OneHotEncoder", "OneHot", "LabelEncoder", "CategoryMapper", "Cast", "CastLike",
    "ConstantOfShape", "If", "Loop", "Scan", "MurmurHash3",
))  # fmt: skip


def text_tensor(strings: Array) -> RelaxExpr:
    """Strings as a tensor of their codes; long ones are made known as the program runs."""
    texts = _decoded(strings.reshape(-1))
    codes = codes_of(texts)
    if codes.min(initial=0) >= 0:
        return Constant(codes.reshape(strings.shape))
    info = TensorStructInfo([len(texts)], "int64")
    words = [StringImm(text) for text in texts]
    flat = op.call_pure_packed("tvm.contrib.strings.of", *words, sinfo_args=info)
    return op.reshape(flat, list(strings.shape))


def codes_of(strings: Iterable[Any]) -> Array:
    """The codes (n,) of strings that are only compared with."""
    return np.array([code_of(text) for text in _decoded(strings)], np.int64)


def _decoded(strings: Iterable[Any]) -> list[str]:
    return [s.decode("utf-8", "replace") if isinstance(s, bytes) else str(s) for s in strings]


def texts_of(node: Node, texts: Iterable[str]) -> RelaxExpr:
    """Strings of an attribute as a tensor (n,)."""
    return node.bb.emit(text_tensor(np.array(list(texts), object)))


def constant_strings(node: Any, attrs: dict[str, Any]) -> Array | None:
    """The strings of a Constant node."""
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    value = attrs.get("value", attrs.get("value_string", attrs.get("value_strings")))
    if value is None:
        return None
    array = value if isinstance(value, np.ndarray) else np.array(value, object)
    return array if array.dtype.kind in "OSU" else None


def text_outputs(node: Any, scope: Scope) -> list[str]:
    """The names of those outputs of a node that hold strings."""
    given = _by_attributes(node)
    if given is not None:
        return [name for name, text in zip(node.output, given) if name and text]
    if node.op_type == "CategoryMapper" or _is_table(node):  # to the other of both
        return [] if scope.is_text(node.input[0]) else list(node.output)
    like = 1 if node.op_type in ("Where", "CastLike") else 0
    if len(node.input) <= like or not scope.is_text(node.input[like]):
        return []
    if node.op_type == "CastLike":
        return list(node.output)
    if node.op_type in _TO_NUMBERS:
        return []
    return list(node.output) if node.op_type == "Split" else list(node.output[:1])


def _by_attributes(node: Any) -> list[bool] | None:
    """Which outputs are strings, where the node itself says so."""
    attrs = {attr.name: attr for attr in node.attribute}
    if node.op_type == "Cast":
        return [attrs["to"].i == _STRING or attrs["to"].s.upper() == b"STRING"]
    if node.op_type == "CastMap":
        return ["cast_to" in attrs and attrs["cast_to"].s == b"TO_STRING"]
    if node.op_type == "LabelEncoder" and not _is_table(node):
        tensor = attrs.get("values_tensor")
        return ["values_strings" in attrs or (tensor is not None and tensor.t.data_type == _STRING)]
    if "classlabels_strings" in attrs and node.op_type != "ZipMap":
        return [bool(attrs["classlabels_strings"].strings)]
    graphs = [attr.g for attr in node.attribute if attr.HasField("g")]
    if graphs:
        extra = 1 if node.op_type == "Loop" else 0  # the condition goes first
        kinds = [value.type.tensor_type.elem_type for value in graphs[0].output[extra:]]
        return [kind == _STRING for kind in kinds]
    return None


def _is_table(node: Any) -> bool:
    return any(attr.name == "classes_strings" for attr in node.attribute)


def called(node: Node, name: str, *args: Any, infos: TensorStructInfo | TupleStructInfo) -> Any:
    """What the packed function `tvm.contrib.strings.<name>` gives; its shape only running tells."""
    parts: list[Any] = [StringImm(arg) if isinstance(arg, str) else arg for arg in args]
    call = op.call_pure_packed(f"tvm.contrib.strings.{name}", *parts, sinfo_args=infos)
    return node.bb.emit(call)
