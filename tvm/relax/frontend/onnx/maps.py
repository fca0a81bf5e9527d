"""Maps that the caller gives, and what reads them: objects, which packed functions look up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tvm import tir
from tvm.error import OpAttributeInvalid, message
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import PrimValue, StringImm
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo

from .attributes import dtype_name
from .graph import OpConversionError
from .node import Node
from .registry import Result, convert

DOMAIN = "ai.onnx.ml."
TEXT = "text"
_CASTS = {"TO_FLOAT": "float32", "TO_INT64": "int64", "TO_STRING": TEXT}


@dataclass(frozen=True)
class Held:
    """The types of a map's keys and values, by name; "text" where they are strings."""

    keys: str
    values: str


def held_by(name: str, kind: Any) -> Held:
    """What an input of this map type holds."""
    values = kind.value_type.tensor_type.elem_type
    keys, values = (_dtype_name(which) for which in (kind.key_type, values))
    if keys not in (TEXT, "int64") or values not in (TEXT, "int64", "float32", "float64"):
        raise OpConversionError(
            message(
                f"from_onnx: input {name!r} is a map of {keys} to {values}",
                legal="strings or int64 to strings, int64, float32 or float64",
            )
        )
    return Held(keys, values)


def _dtype_name(elem_type: int) -> str:
    found = dtype_name(elem_type) or "nothing"
    return TEXT if found == "object" else found


def checked_map(bb: BlockBuilder, name: str, value: RelaxExpr, held: Held) -> RelaxExpr:
    """The caller's map, looked at before anything reads it."""
    names = map(StringImm, (name, held.keys, held.values))
    call = op.call_pure_packed(
        "tvm.contrib.maps.given", value, *names, sinfo_args=ObjectStructInfo()
    )
    return bb.emit(call)


@convert(DOMAIN + "DictVectorizer")
def dict_vectorizer(node: Node) -> Result:
    """The values of a vocabulary's keys, as one row."""
    held = _held(node)
    texts = list(node.attr("string_vocabulary") or [])
    keys = texts or list(node.attr("int64_vocabulary") or [])
    if (TEXT if texts else "int64") != held.keys:
        found = f"a vocabulary of {TEXT if texts else 'int64'}"
        raise node.invalid("vocabulary", found, f"keys of the map: {held.keys}")
    wanted = [StringImm(_text(key)) if texts else PrimValue(int(key)) for key in keys]
    return _row(node, "vectorize", held.values, *wanted, length=tir.IntImm("int64", len(keys)))


@convert(DOMAIN + "CastMap")
def cast_map(node: Node) -> Result:
    """The values of a map from integers in the order of its keys, or where the keys say, cast."""
    if _held(node).keys != "int64":
        raise node.invalid("keys", "strings", "int64, which tell the order")
    to, form = _text(node.attr("cast_to", "TO_FLOAT")), _text(node.attr("map_form", "DENSE"))
    if to not in _CASTS:
        raise node.invalid("cast_to", to, ", ".join(_CASTS))
    if form not in ("DENSE", "SPARSE"):
        raise node.invalid("map_form", form, "DENSE, SPARSE")
    most = int(node.attr("max_map", 1)) if form == "SPARSE" else -1
    if form == "SPARSE" and most < 1:
        raise node.invalid("max_map", most, "1 or more where the form is SPARSE")
    length = tir.SizeVar("entries", "int64") if most < 0 else tir.IntImm("int64", most)
    return _row(node, "cast", _CASTS[to], PrimValue(most), length=length)


def _held(node: Node) -> Held:
    found = node.reader.maps.get(node[0])
    if found is None:
        asked = f"ONNX {node.op_type} {node.name!r}: the input is no map"
        raise OpAttributeInvalid(message(asked, legal="an input of the model of map type"))
    return found


def _row(
    node: Node, name: str, dtype: str, *args: RelaxExpr, length: tir.PrimExpr
) -> RelaxExpr:
    info = TensorStructInfo(None, "int64" if dtype == TEXT else dtype, None, 2)
    call = op.call_pure_packed(
        f"tvm.contrib.maps.{name}", node[0], StringImm(dtype), *args, sinfo_args=info
    )
    one = tir.IntImm("int64", 1)
    return node.bb.match_cast(node.bb.emit(call), TensorStructInfo([one, length], info.dtype))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
