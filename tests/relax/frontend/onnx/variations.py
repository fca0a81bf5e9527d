"""Variations of the cases that ONNX brings: open extents, other options, types and operator sets.

Each is one node, run by ONNX Runtime and by the interpreter of the imported module. What ONNX
Runtime refuses, or an option of which nothing is defined, is no variation.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from tests.relax.frontend.onnx.conformance import node_cases
from tests.relax.frontend.onnx.models import Array
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

OLDEST, NEWEST = 7, 24
# random, on strings or sequences, with graphs in them, or of which ONNX Runtime ends the process
SKIPPED = ("Random", "Bernoulli", "Multinomial", "Dropout", "String", "Regex", "Image", "Sequence",
           "Optional", "Loop", "Scan", "If", "Tfidf", "TfIdf", "Adam", "Adagrad", "Momentum",
           "GroupNormalization", "Split", "RMSNormalization", "Compress")  # fmt: skip
STRINGS = {
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "mode": ("nearest", "linear", "cubic", "constant", "reflect", "edge", "wrap", "bilinear",
             "bicubic", "DCR", "CRD"),
    "coordinate_transformation_mode": ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                       "align_corners", "asymmetric"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "padding_mode": ("zeros", "border", "reflection"),
    "reduction": ("none", "add", "mul", "max", "min", "sum"),
    "direction": ("forward", "reverse", "bidirectional", "LEFT", "RIGHT"),
    "approximate": ("none", "tanh"),
}  # fmt: skip
TYPES = {"float": "float32", "double": "float64"} | {
    name: name for name in ("float16", "int8", "int16", "int32", "int64", "uint8", "bool")
}


@dataclass(frozen=True)
class Variation:
    """One node with its inputs; those `frozen` are constants, extents of the others may be open."""

    name: str
    node: onnx.NodeProto
    opset: int
    inputs: Mapping[str, Array]
    frozen: tuple[str, ...] = ()
    is_open: bool = False

    def model(self) -> onnx.ModelProto:
        """The node as a model."""
        values, constants = [], []
        for name, array in self.inputs.items():
            if name in self.frozen:
                constants.append(numpy_helper.from_array(array, name))
                continue
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            shape = [f"{name}_{i}" if self.is_open else n for i, n in enumerate(array.shape)]
            values.append(helper.make_tensor_value_info(name, kind, shape))
        outputs = [onnx.ValueInfoProto(name=name) for name in self.node.output if name]
        graph = helper.make_graph([self.node], "g", values, outputs, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def given(self) -> dict[str, Array]:
        """The inputs of the model."""
        return {name: array for name, array in self.inputs.items() if name not in self.frozen}


def variations(rng: random.Random, options: int, step: int = 1) -> Iterator[Variation]:
    """Of each case: open extents, a few other options, older operator sets, other types.

    With a step, only every so many-th case.
    """
    for case in node_cases()[::step]:
        base = _base(case)
        if base is None:
            continue
        schema = _schema(base.node, base.opset)
        frozen = tuple(
            name for i, (name, array) in enumerate(base.inputs.items())
            if i and (array.dtype.kind == "i" or array.size <= 8)
        )  # fmt: skip
        yield replace(base, name=f"{base.name}: open", frozen=frozen, is_open=True)
        others = list(_other_options(base, schema))
        for name, node in rng.sample(others, min(options, len(others))):
            is_open = rng.random() < 0.5
            yield replace(base, name=f"{base.name}: {name}", node=node, frozen=frozen,
                          is_open=is_open)  # fmt: skip
        yield from _older(base, schema)
        yield from _other_types(replace(base, frozen=frozen), schema)


def _base(case: Any) -> Variation | None:
    """A case as it is, if it is one node of ONNX's own on tensors."""
    node = case.model.graph.node[0]
    if (
        case.name.endswith("_expanded") or len(case.model.graph.node) != 1 or node.domain
        or any(word in node.op_type for word in SKIPPED) or not case.data
    ):  # fmt: skip
        return None
    arrays = {value.name: array for value, array in zip(case.model.graph.input, case.data[0][0])}
    if not all(isinstance(a, np.ndarray) and a.dtype.kind in "iubf" for a in arrays.values()):
        return None
    opset = case.model.opset_import[0].version
    return Variation(case.name, node, opset, arrays) if opset <= NEWEST else None


def _schema(node: onnx.NodeProto, opset: int) -> Any:
    return onnx.defs.get_schema(node.op_type, opset, node.domain)


@functools.cache
def _history() -> dict[str, list[Any]]:
    """The definitions of each operator of ONNX's own, in all operator sets."""
    found: dict[str, list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and not schema.deprecated:
            found.setdefault(schema.name, []).append(schema)
    return found


def _other_options(base: Variation, schema: Any) -> Iterator[tuple[str, onnx.NodeProto]]:
    """The node with one attribute of another value, or without it."""
    have = {a.name: helper.get_attribute_value(a) for a in base.node.attribute}
    rank = next(iter(base.inputs.values())).ndim if base.inputs else 0
    for name, attribute in schema.attributes.items():
        for value in _values(name, attribute.type.name, have.get(name), rank):
            yield f"{name}={value}", _with(base.node, name, value)
        if name in have and not attribute.required:
            yield f"without {name}", _with(base.node, name, None)


def _values(name: str, kind: str, old: Any, rank: int) -> Sequence[Any]:
    if kind == "INT":
        if name in ("axis", "batch_axis", "time_axis"):
            return range(-rank, rank)
        if name == "to":
            return (1, 2, 3, 6, 7, 9, 10, 11)
        return () if name.endswith(("type", "precision", "mode")) else (0, 1)
    if kind == "FLOAT":
        return (0.5, 2.0)
    if kind == "INTS" and old is not None:
        if name in ("axes", "perm"):
            return (list(old)[::-1], [a - rank for a in old], [0], [-1])
        return (list(old)[::-1], [n + 1 for n in old], [1] * len(old), [2] * len(old))
    if kind == "INTS":
        spatial = max(rank - 2, 0)
        if name in ("strides", "dilations", "kernel_shape"):
            return ([1] * spatial, [2] * spatial, [3] * spatial)
        return ([1] * (2 * spatial), [0] * spatial + [1] * spatial) if name == "pads" else ()
    return STRINGS.get(name, ()) if kind == "STRING" else ()


def _with(node: onnx.NodeProto, name: str, value: Any) -> onnx.NodeProto:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    kept = [a for a in made.attribute if a.name != name]
    del made.attribute[:]
    made.attribute.extend(kept)
    if value is not None:
        made.attribute.append(helper.make_attribute(name, value))
    return made


def _older(base: Variation, schema: Any) -> Iterator[Variation]:
    """As older operator sets have it: what are inputs now were attributes."""
    for old in _history().get(schema.name, ()):
        if old.since_version >= schema.since_version:
            continue
        node, inputs = base.node, dict(base.inputs)
        for attribute in base.node.attribute:
            if attribute.name not in old.attributes:
                node = _with(node, attribute.name, None)
        names = [formal.name for formal in schema.inputs]
        while len(node.input) > old.max_input:
            last, formal = node.input[-1], names[len(node.input) - 1]
            node = _with(node, "", None)  # a copy
            del node.input[-1]
            array = inputs.pop(last, None)
            if array is not None and array.size and formal in old.attributes:
                plural = old.attributes[formal].type.name.endswith("S")
                value = array.tolist() if plural else array.reshape(-1)[0].item()
                node = _with(node, formal, value)
        opset = max(old.since_version, OLDEST)
        for is_open in (False, True):
            yield Variation(f"{base.name}: set {opset}, {is_open}", node, opset, inputs,
                            tuple(inputs)[1:], is_open)  # fmt: skip


def _other_types(base: Variation, schema: Any) -> Iterator[Variation]:
    """The inputs of one type as those of another."""
    formals: dict[str, list[str]] = {}
    for name, formal in zip(base.node.input, schema.inputs):
        formals.setdefault(formal.type_str, []).append(name)
    for constraint in schema.type_constraints:
        for text in constraint.allowed_type_strs:
            dtype = TYPES.get(text.removeprefix("tensor(").removesuffix(")"))
            names = [n for n in formals.get(constraint.type_param_str, ()) if n in base.inputs]
            if dtype is None or not names or base.inputs[names[0]].dtype == dtype:
                continue
            with np.errstate(all="ignore"):
                changed = {name: base.inputs[name].astype(dtype) for name in names}
            yield replace(base, name=f"{base.name}: {dtype}", inputs={**base.inputs, **changed})


def wanted(variation: Variation) -> list[Array] | None:
    """What ONNX Runtime gives; None where it refuses."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    content, given = variation.model().SerializeToString(), variation.given()
    try:
        found = onnxruntime.InferenceSession(content, options).run(None, given)
    except Exception:  # ONNX Runtime's refusals have many kinds, and no class in common
        return None
    return found if all(isinstance(value, np.ndarray) for value in found) else None


def difference(variation: Variation, results: Sequence[Array]) -> str:
    """How ours differ; empty where they do not, or where importing refuses and says why."""
    try:
        mod = from_onnx(variation.model())
    except TVMError:
        return ""
    given = [np.array(value, order="C") for value in variation.given().values()]
    found = Interpreter(mod).run("main", *given)
    got = list(found) if isinstance(found, (tuple, list)) else [found]
    for want, value in zip(results, got):
        have = np.asarray(value)
        if (have.shape, have.dtype) != (want.shape, want.dtype):
            return f"{variation.name}: {have.dtype}{have.shape}, not {want.dtype}{want.shape}"
        wide = have.astype(np.float64), want.astype(np.float64)
        half = want.dtype == np.float16
        if not np.allclose(*wide, rtol=2e-2 if half else 2e-4, atol=1e-2 if half else 2e-5,
                           equal_nan=True):  # fmt: skip
            return f"{variation.name}: {have.reshape(-1)[:8]}, not {want.reshape(-1)[:8]}"
    return ""
