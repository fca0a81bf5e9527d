"""Operators on strings, which run as packed functions on codes; and pictures from their files."""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import PrimValue, StringImm
from tvm.relax.extents import fresh_extent
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo
from tvm.support.re2 import PatternError, compiled
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert
from .texts import called

_FORMATS = ("RGB", "BGR", "Grayscale")


def filled(node: Node, name: str, *args: Any, shape: Any, dtype: str) -> RelaxExpr:
    """What a packed function writes into a tensor of a known shape."""
    info = TensorStructInfo(shape, dtype)
    return op.call_dps_packed(f"tvm.contrib.strings.{name}", list(args), info)


@convert("StringConcat")
def string_concat(node: Node) -> Result:
    """Each string of the first followed by that of the second; shapes are broadcast."""
    joined = node.bb.normalize(op.add(node[0], node[1])).struct_info  # broadcast like a sum
    shape = joined.shape  # type: ignore[attr-defined]
    return filled(node, "concat", node[0], node[1], shape=shape, dtype="int64")


@convert("StringSplit")
def string_split(node: Node) -> Result:
    """The pieces between delimiters along a new axis, filled up with ""; and their numbers.

    Without a delimiter runs of white space divide (of ONNX Runtime only spaces do).
    """
    rank = node.rank(0)
    most = int(node.attr("maxsplit", -1))
    pieces = TensorStructInfo(None, "int64", None, rank + 1)
    infos = TupleStructInfo([pieces, TensorStructInfo(None, "int64", None, rank)])
    delimiter = str(node.attr("delimiter", "") or "")
    made = called(node, "split", node[0], delimiter, PrimValue(most), infos=infos)
    return [made[0], node.bb.match_cast(node.bb.emit(made[1]), node.info(0))]


@convert("StringNormalizer")
def string_normalizer(node: Node) -> Result:
    """Strings in lower or upper case, without stop words.

    The attribute `locale` is not read: cases are those of Unicode, which no locale changes but
    those of Turkish and Lithuanian.
    """
    rank = node.rank(0)
    first = node.shape(0)[0]
    if rank not in (1, 2) or (rank == 2 and isinstance(first, IntImm) and first.value != 1):
        raise node.unfit(0, "words (n,) or (1, n)", f"the shape {tuple(node.shape(0))}")
    case = str(node.attr("case_change_action", "NONE"))
    if case not in ("NONE", "LOWER", "UPPER"):
        raise node.invalid("case_change_action", case, "NONE, LOWER, UPPER")
    stop = [str(word) for word in node.attr("stopwords", [])]
    sensitive = PrimValue(int(node.attr("is_case_sensitive", 0)))
    info = TensorStructInfo(None, "int64", None, rank)
    kept: RelaxExpr = called(node, "normalize", node[0], case, sensitive, *stop, infos=info)
    return kept


@convert("RegexFullMatch")
def regex_full_match(node: Node) -> Result:
    """Whether a pattern of RE2 matches each whole string."""
    pattern = str(node.required("pattern"))
    try:
        compiled(pattern)
    except PatternError as err:
        raise node.invalid("pattern", pattern, f"RE2's syntax without scripts: {err}") from None
    args = (node[0], StringImm(pattern))
    return filled(node, "full_match", *args, shape=node.shape(0), dtype="bool")


@convert("com.microsoft.Tokenizer")
def tokenizer(node: Node) -> Result:
    """Tokens of each string along a new last axis."""
    token = str(node.attr("tokenexp", "") or "")
    separators = [str(one) for one in node.attr("separators", [])]
    if separators == [""]:
        token, separators = ".", []  # single characters
    elif separators:
        token = ""
    for name, pattern in (("tokenexp", token), *(("separators", one) for one in separators)):
        try:
            empty = compiled(pattern).fullmatch("") is not None
        except PatternError as err:
            raise node.invalid(name, pattern, f"RE2's syntax without scripts: {err}") from None
        if name == "separators" and empty:
            raise node.invalid(name, pattern, "patterns of one character or more")
    if not token and not separators:
        raise node.invalid("separators, tokenexp", "neither", "one of them")
    rank, pad = node.rank(0), str(node.required("pad_value"))
    numbers = [PrimValue(int(node.required(name))) for name in ("mark", "mincharnum")]
    info = TensorStructInfo(None, "int64", None, rank + 1)
    made = called(node, "tokenize", node[0], pad, *numbers, token, *separators, infos=info)
    symbol = fresh_extent("tokens")
    shape = [*node.shape(0), symbol]
    return [node.bb.match_cast(made, TensorStructInfo(shape, "int64"))]


@convert("com.microsoft.MurmurHash3")
def murmur_hash(node: Node) -> Result:
    """A hash of 32 bits of each string or number."""
    seed = PrimValue(int(node.attr("seed", 0)))
    dtype = "uint32" if node.attr("positive", 1) else "int32"
    args = (node[0], PrimValue(int(node.is_text(0))), seed)
    return filled(node, "murmur", *args, shape=node.shape(0), dtype=dtype)


def cast_text(node: Node, dtype: str) -> RelaxExpr:
    """Strings of numbers, or numbers of strings."""
    if node.is_text(0) and dtype == "object":
        return node[0]
    if dtype == "object":
        return filled(node, "from_numbers", node[0], shape=node.shape(0), dtype="int64")
    wide = "float32" if dtype in ("float16", "bfloat16") or dtype.startswith("float8") else dtype
    numbers = filled(node, "to_numbers", node[0], shape=node.shape(0), dtype=wide)
    return numbers if wide == dtype else op.astype(node.bb.emit(numbers), dtype)


def unique_text(node: Node) -> Result:
    """Strings, each once, in order or as they come first; where, which, how many."""
    if node.attr("axis") is not None:
        raise node.invalid("axis", node.attr("axis"), "none, where the values are strings")
    flat = node.bb.emit(op.reshape(node[0], [-1]))
    info = TensorStructInfo(None, "int64", None, 1)
    ordered = PrimValue(int(node.attr("sorted", 1)))
    made = called(node, "unique", flat, ordered, infos=TupleStructInfo([info] * 4))
    return [made[i] for i in range(node.output_count)]


@convert("ImageDecoder")
def image_decoder(node: Node) -> Result:
    """The picture in a file's bytes (n,) uint8, as (height, width, channels), by Pillow."""
    kind = str(node.attr("pixel_format", "RGB"))
    if kind not in _FORMATS:
        raise node.invalid("pixel_format", kind, ", ".join(_FORMATS))
    info = TensorStructInfo(None, "uint8", None, 3)
    name = "tvm.contrib.images.decode"
    return op.call_pure_packed(name, node[0], StringImm(kind), sinfo_args=info)
