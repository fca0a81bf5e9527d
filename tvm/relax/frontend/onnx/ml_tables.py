"""Classic models' preparation of tables (ai.onnx.ml): scaling, labels, columns, missing values."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .node import Node
from .registry import Result, convert
from .texts import codes_of, texts_of

DOMAIN = "ai.onnx.ml."


def as_float(node: Node, i: int = 0) -> RelaxExpr:
    """An input as float32, which these operators compute in, unless it is float64."""
    if node.dtype(i) in ("float32", "float64"):
        return node[i]
    return node.bb.emit(op.astype(node[i], "float32"))


def class_labels(node: Node, integers: str) -> list[int] | list[str]:
    """The labels of a classifier."""
    return list(node.attr("classlabels_strings") or node.attr(integers, []))


@convert(DOMAIN + "ZipMap")
def zip_map(node: Node) -> Result:
    """Scores by label for each row, as the table of scores: maps are no tensors here."""
    texts = node.attr("classlabels_strings") or node.attr("classlabels_int64s", [])
    warnings.warn(
        f"ONNX ZipMap {node.name!r}: instead of maps the result is the table of scores, "
        f"its columns are {list(texts)}",
        stacklevel=2,
    )
    return [node.ref(0)]


@convert(DOMAIN + "Scaler")
def scaler(node: Node) -> Result:
    """(x - offset) * scale."""
    offset, scale = (
        Constant(np.asarray(node.attr(name, default), np.float32))
        for name, default in (("offset", [0.0]), ("scale", [1.0]))
    )
    value = op.astype(node[0], "float32")
    return op.multiply(op.subtract(value, offset), scale)


@convert(DOMAIN + "Normalizer")
def normalizer(node: Node) -> Result:
    """Each row over its norm; rows of zeros stay."""
    norm = str(node.attr("norm", "MAX"))
    value = node.bb.emit(op.astype(node[0], "float32"))
    sizes: dict[str, Callable[[], RelaxExpr]] = {
        "MAX": lambda: op.max(value, [-1], keepdims=True),
        "L1": lambda: op.sum(op.abs(value), [-1], keepdims=True),
        "L2": lambda: op.sqrt(op.sum(op.multiply(value, value), [-1], keepdims=True)),
    }
    if norm not in sizes:
        raise node.invalid("norm", norm, ", ".join(sizes))
    size = node.bb.emit(sizes[norm]())
    zero, one = (Constant(np.float32(v)) for v in (0, 1))
    return op.divide(value, op.where(op.equal(size, zero), one, size))


@convert(DOMAIN + "Binarizer")
def binarizer(node: Node) -> Result:
    """1 above a threshold, 0 else."""
    bound = Constant(np.asarray(node.attr("threshold", 0.0), node.dtype(0)))
    return op.astype(op.greater(node[0], bound), node.dtype(0))


@convert(DOMAIN + "Imputer")
def imputer(node: Node) -> Result:
    """Values that stand for missing ones, replaced, column by column."""
    dtype = node.dtype(0)
    floating = dtype.startswith("float")
    new = node.attr("imputed_value_floats" if floating else "imputed_value_int64s")
    if not new:
        raise node.invalid("the imputed values", "none", "one, or one a column")
    default = 0.0 if floating else 0
    old = node.attr("replaced_value_float" if floating else "replaced_value_int64", default)
    missing = (
        op.isnan(node[0])
        if floating and np.isnan(old)
        else op.equal(node[0], Constant(np.asarray(old, dtype)))
    )
    return op.where(missing, Constant(np.asarray(new, dtype)), node[0])


@convert(DOMAIN + "ArrayFeatureExtractor")
def array_feature_extractor(node: Node) -> Result:
    """Columns by their numbers."""
    indices = node.bb.emit(op.reshape(node[1], [-1]))
    value = node[0]
    if node.rank(0) == 1:
        value = node.bb.emit(op.expand_dims(value, [0]))
    return op.take(value, indices, -1)


@convert(DOMAIN + "FeatureVectorizer")
def feature_vectorizer(node: Node) -> Result:
    """Columns of all inputs side by side, each cut or filled to its size."""
    parts = []
    for i, size in enumerate(node.attr("inputdimensions")):
        value = node.bb.emit(op.astype(node[i], "float32"))
        if node.rank(i) == 1:
            value = node.bb.emit(op.reshape(value, [-1, 1]))
        have = int(value.struct_info.shape.values[1])  # type: ignore[attr-defined]
        if have < size:
            value = node.bb.emit(op.nn.pad(value, [0, 0, 0, int(size) - have]))
        elif have > size:
            value = node.bb.emit(op.strided_slice(value, [1], [0], [int(size)]))
        parts.append(value)
    return op.concat(parts, 1)


@convert(DOMAIN + "OneHotEncoder")
def one_hot_encoder(node: Node) -> Result:
    """A new last axis, 1 where the element is that category; `zeros=0` refuses others."""
    strings = node.attr("cats_strings")
    known = np.asarray(node.attr("cats_int64s", []), node.dtype(0))
    categories = Constant(codes_of(strings) if strings else known)
    found = node.bb.emit(op.equal(op.expand_dims(node[0], [-1]), categories))
    if not node.attr("zeros", 1):
        every = node.bb.emit(op.min(op.max(op.astype(found, "int32"), -1)))
        text = f"ONNX OneHotEncoder {node.name!r}: an element is none of its categories"
        text = text.replace("{", "{{").replace("}", "}}")
        fits = op.not_equal(every, Constant(np.zeros((), "int32")))
        node.bb.emit(op.assert_op(fits, format=text))
    return op.astype(found, "float32")


@convert(DOMAIN + "LabelEncoder")
def label_encoder(node: Node) -> Result:
    """Each element by a table of keys and values; another than the keys becomes the default."""
    classes = node.attr("classes_strings")
    if classes:  # the first version's table, in both directions
        return _between(node, classes, range(len(classes)))
    keys, values = _table(node, "keys"), _table(node, "values")
    default = node.attr("default_tensor")
    if default is None:
        name, other = {"f": ("default_float", -0.0), "i": ("default_int64", -1)}.get(
            values.dtype.kind, ("default_string", "_Unused")
        )
        default = np.asarray(node.attr(name, other), values.dtype)
    return _looked_up(node, keys, values, default.reshape(-1)[:1].astype(values.dtype))


@convert(DOMAIN + "CategoryMapper")
def category_mapper(node: Node) -> Result:
    """Strings to numbers or numbers to strings, by a table."""
    return _between(node, node.attr("cats_strings", []), node.attr("cats_int64s", []))


def _between(node: Node, strings: Any, numbers: Any) -> RelaxExpr:
    """To the other of both columns of a table."""
    texts, codes = np.asarray(list(strings), object), np.asarray(list(numbers), np.int64)
    if node.is_text(0):
        default = np.asarray([node.attr("default_int64", -1)], np.int64)
        return _looked_up(node, texts, codes, default)
    default = np.asarray([node.attr("default_string", "_Unused")], object)
    return _looked_up(node, codes, texts, default)


def _looked_up(node: Node, keys: Any, values: Any, default: Any) -> RelaxExpr:
    """The value of each element, which is a key; else the default."""
    floating = keys.dtype.kind == "f"
    keys = codes_of(keys) if keys.dtype.kind in "OSU" else keys.astype(node.dtype(0))
    shape = [1] * node.rank(0)
    same: RelaxExpr = op.equal(op.expand_dims(node[0], [-1]), Constant(keys.reshape([*shape, -1])))
    # since version 4 a NaN is a key like any other
    if node.opset >= 4 and floating and np.isnan(keys).any():
        nan = Constant(np.isnan(keys).reshape([*shape, -1]))
        same = op.logical_or(same, op.logical_and(op.expand_dims(op.isnan(node[0]), [-1]), nan))
    # the last entry of the table is the default, where a row of marks that are all false ends
    same = node.bb.emit(op.astype(same, "int64"))
    found = op.max(same, [-1])
    class_index = op.where(
        op.equal(found, Constant(np.asarray(1, np.int64))),
        op.argmax(same, -1), Constant(np.asarray(len(keys), np.int64)),
    )  # fmt: skip
    table = np.append(values, default)
    strings = table.dtype.kind in "OSU"
    return op.take(
        texts_of(node, table) if strings else Constant(table), node.bb.emit(class_index), 0
    )


def _table(node: Node, what: str) -> Any:
    kinds = (("tensor", None), ("int64s", np.int64), ("floats", np.float32), ("strings", object))
    for name, dtype in kinds:
        found = node.attr(f"{what}_{name}")
        if found is not None:
            return np.asarray(found, dtype).reshape(-1)
    legal = f"{what}_tensor, {what}_int64s, {what}_floats or {what}_strings"
    raise node.invalid(what, "none", legal)
