"""A class an ONNX operator, as code knows them that calls single converters of TVM.

`Add.get_converter(13)` gives a function of (builder, inputs, attributes, parameters): it converts
one node of that version as `from_onnx` does. The classes are made from the declared converters;
their methods `_impl_vN` are the versions of ONNX's own definitions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tvm.error import OpAttributeRequired, OpNotImplemented, message
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue, SeqExpr, ShapeExpr, Tuple, Var, VarBinding
from tvm.tir.expr import FloatImm, IntImm

from .bodies import schema_of
from .graph import GraphReader
from .known_values import as_array, as_size
from .registry import known_operators
from .scope import Scope

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder

OneNode: TypeAlias = "Callable[[BlockBuilder, Sequence[Any], dict[str, Any], Sequence[Any]], Any]"
_VERSION = "_impl_v"
# the domains whose operators have classes by their plain names, the first one first
_DOMAINS = ("", "com.microsoft")


class OnnxOpConverter:
    """One operator; a subclass has a class method `_impl_vN` for each version N it converts."""

    @classmethod
    def get_converter(cls, opset: int) -> OneNode:
        """The newest version up to `opset`; the oldest one for sets that are older than all."""
        found = [n.removeprefix(_VERSION) for n in dir(cls) if n.startswith(_VERSION)]
        versions = sorted(int(number) for number in found if number.isdigit())
        if not versions:
            raise OpNotImplemented(
                message(f"{cls.__name__}: no method converts it", legal=f"{_VERSION}1, ...")
            )
        fitting = [version for version in versions if version <= opset]
        converter: OneNode = getattr(cls, f"{_VERSION}{(fitting or versions[:1])[-1]}")
        return converter


class _Numeric(OnnxOpConverter):
    """An operator that numpy computes on constants."""

    numpy_op: Callable[..., Any]
    relax_op: Callable[..., Any]


class BinaryBase(_Numeric):
    """An operator on two tensors."""

    @classmethod
    def base_impl(cls, bb: Any, inputs: Any, attr: Any, params: Any) -> RelaxExpr:
        """`numpy_op` of two constants as a constant, `relax_op` of anything else."""
        first, second = inputs[0], inputs[1]
        if isinstance(first, Constant) and isinstance(second, Constant):
            return Constant(np.asarray(cls.numpy_op(first.data.numpy(), second.data.numpy())))
        made: RelaxExpr = cls.relax_op(first, second)
        return made


class BitwiseBase(BinaryBase):
    """An operator on the bits of two tensors of integers."""

    @classmethod
    def base_impl(cls, bb: Any, inputs: Any, attr: Any, params: Any) -> RelaxExpr:
        """As of any two tensors; refuses other types than integers with a ValueError."""
        for value in inputs[:2]:
            dtype = str(value.struct_info.dtype)
            if not dtype.startswith(("int", "uint")):
                raise ValueError(
                    message(f"{cls.__name__}: an operand", found=dtype, legal="integers")
                )
        return super().base_impl(bb, inputs, attr, params)


class MultiInputBase(_Numeric):
    """An operator on any number of tensors."""


class Pool(OnnxOpConverter):
    """A pool over windows."""

    @classmethod
    def get_pad_pair(
        cls, input1d: int, kernel1d: int, stride1d: int, mode: str
    ) -> tuple[int, int]:
        """The padding before and behind an axis for which every stride gives an element.

        An odd element goes behind, or before where `mode` is SAME_LOWER.
        """
        last = input1d % stride1d or stride1d
        total = max(kernel1d - last, 0)
        less = total // 2
        return (total - less, less) if "LOWER" in mode else (less, total - less)


_BINARY: dict[str, tuple[Any, Any]] = {
    "Add": (np.add, op.add), "Sub": (np.subtract, op.subtract),
    "Mul": (np.multiply, op.multiply), "Div": (np.divide, op.divide),
    "Pow": (np.power, op.power), "Mod": (np.mod, op.floor_mod),
    "And": (np.logical_and, op.logical_and), "Or": (np.logical_or, op.logical_or),
    "Xor": (np.logical_xor, op.logical_xor), "Less": (np.less, op.less),
    "LessOrEqual": (np.less_equal, op.less_equal), "Greater": (np.greater, op.greater),
    "GreaterOrEqual": (np.greater_equal, op.greater_equal),
}  # fmt: skip
_BITWISE: dict[str, tuple[Any, Any]] = {
    "BitwiseAnd": (np.bitwise_and, op.bitwise_and), "BitwiseOr": (np.bitwise_or, op.bitwise_or),
    "BitwiseXor": (np.bitwise_xor, op.bitwise_xor), "BitShift": (np.left_shift, op.left_shift),
}  # fmt: skip
_MULTI: dict[str, tuple[Any, Any]] = {
    "Min": (np.min, op.min), "Max": (np.max, op.max), "Mean": (np.mean, op.mean),
    "Sum": (np.sum, op.sum),
}  # fmt: skip
_NUMERIC = ((BinaryBase, _BINARY), (BitwiseBase, _BITWISE), (MultiInputBase, _MULTI))
BASES = (OnnxOpConverter, BinaryBase, BitwiseBase, MultiInputBase, Pool)


@functools.cache
def convert_map() -> dict[str, type[OnnxOpConverter]]:
    """The classes by the operators' names; with its domain where another one has the name."""
    found: dict[str, type[OnnxOpConverter]] = {}
    split = [(key.rpartition("."), since) for key, since in known_operators().items()]
    order = sorted(split, key=lambda one: (*_DOMAINS, one[0][0]).index(one[0][0]))
    for (domain, _, name), since in order:
        is_first = name not in found
        made = _made_class(name, domain, since, shares_name=is_first and bool(domain))
        found[name if is_first else f"{domain}.{name}"] = made
    return found


def _made_class(
    name: str, domain: str, since: Sequence[int], shares_name: bool
) -> type[OnnxOpConverter]:
    """The class; one that `shares_name` also converts ONNX's later operator of that name."""
    base: type[OnnxOpConverter] = Pool if name in ("MaxPool", "AveragePool") else OnnxOpConverter
    members: dict[str, Any] = {"__doc__": f"Converts nodes {name} of ONNX."}
    for kind, table in _NUMERIC:
        if name in table and not domain:
            base = kind
            members["numpy_op"], members["relax_op"] = table[name]
    for version in {*since, *_versions(name, domain)}:
        members[f"{_VERSION}{version}"] = _made_method(name, domain, version)
    if shares_name:
        for version in _versions(name, ""):
            members[f"{_VERSION}{version}"] = _made_method(name, "", version)
    return type(name, (base,), members)


def _versions(name: str, domain: str) -> list[int]:
    """The versions of the operator set that define the operator anew."""
    versions: list[int] = []
    schema = None if domain == "com.microsoft" else schema_of(name, domain, 10_000)
    while schema is not None and int(schema.since_version) not in versions:
        versions.append(int(schema.since_version))
        schema = schema_of(name, domain, versions[-1] - 1)
    return versions


def _made_method(name: str, domain: str, version: int) -> Any:
    def convert_node(
        cls: type[OnnxOpConverter], bb: BlockBuilder, inputs: Sequence[Any],
        attr: Mapping[str, Any], params: Sequence[Any],
    ) -> RelaxExpr:  # fmt: skip
        return convert_one(name, domain, version, bb, inputs, attr, params)

    return classmethod(convert_node)


def convert_one(
    name: str, domain: str, opset: int, bb: BlockBuilder, inputs: Sequence[Any],
    attr: Mapping[str, Any], params: Sequence[Any] = (),
) -> RelaxExpr:  # fmt: skip
    """What one node gives; a tuple when it has several outputs.

    `inputs` are expressions, None where one is left out; `attr` holds the attributes and under
    `tvm_custom` perhaps the node's `name` and `num_outputs`; `params` may hold weights as
    `get_constant` takes them, of which shapes and axes are read. Bindings go into the builder's
    open block; without one the expression holds them. A shape comes as a `ShapeExpr`.
    """
    attrs = dict(attr)
    custom = attrs.pop("tvm_custom", {})
    proto = _node(name, domain, opset, inputs, attrs, custom)
    scope = Scope({"": opset, domain: opset})

    def made() -> RelaxExpr:
        weights = params[1] if len(params) > 1 else {}
        for label, value in zip(proto.input, inputs):
            if label:
                _bind_input(bb, scope, label, value, weights)
        reader = GraphReader(bb, {})
        reader.nodes([proto], scope)
        results = [_result(bb, reader, scope, label, name) for label in proto.output]
        return results[0] if len(results) == 1 else Tuple(results)

    return made() if bb.has_open_block() else _closed(bb, made)


def _node(
    name: str, domain: str, opset: int, inputs: Sequence[Any], attrs: Mapping[str, Any],
    custom: Mapping[str, Any],
) -> Any:  # fmt: skip
    import onnx

    schema = schema_of(name, domain, opset)
    count = custom.get("num_outputs")
    if count is None:
        count = 1 if schema is None else max(int(schema.min_output), 1)
        if schema is not None and schema.max_output > len(schema.outputs):
            raise OpAttributeRequired(
                message(
                    f"ONNX {name}: how many outputs the node has is missing",
                    legal="attr['tvm_custom'] = {'num_outputs': a number}",
                )
            )
    labels = ["" if value is None else f"input_{i}" for i, value in enumerate(inputs)]
    outputs = [f"output_{i}" for i in range(int(count))]
    node = onnx.helper.make_node(name, labels, outputs, custom.get("name", name), domain=domain)
    for key, value in sorted(attrs.items()):
        if value is not None:
            if isinstance(value, np.ndarray):
                value = onnx.numpy_helper.from_array(value)
            declared = schema.attributes.get(key) if schema is not None else None
            kind = None if declared is None or value != [] else int(declared.type)
            node.attribute.append(onnx.helper.make_attribute(key, value, attr_type=kind))
    return node


def _bind_input(
    bb: BlockBuilder, scope: Scope, name: str, value: Any, weights: Mapping[str, Any]
) -> None:
    """An input as the graph's reader knows values: an expression, with its numbers if known."""
    if isinstance(value, ShapeExpr):
        scope.known.set(name, as_array([as_size(extent) for extent in value.values]))
    elif isinstance(value, PrimValue):
        number, dtype = value.value, str(value.value.dtype)
        if isinstance(number, (IntImm, FloatImm)):
            array = np.asarray(number.value, dtype)
        else:
            array = np.empty((), object)
            array[()] = number
        scope.known.set(name, array, dtype)
    elif isinstance(value, Constant):
        scope.bind(name, value)
        scope.known.add_constant(name, value.data.numpy())
    elif isinstance(value, Var):
        scope.bind(name, value)
        if value.name_hint in weights:
            weight = weights[value.name_hint][1]
            array = weight if isinstance(weight, np.ndarray) else weight.numpy()
            scope.known.add_constant(name, array, given=True)
    else:
        scope.bind(name, bb.emit(value))


def _result(
    bb: BlockBuilder, reader: GraphReader, scope: Scope, label: str, name: str
) -> RelaxExpr:
    """An output: sizes that are known as a shape, which later nodes read as such."""
    found = scope.known.typed(label) if scope.made(label) is None else None
    if found is None or found[0].ndim != 1 or found[1] != "int64":
        return reader.output(scope, label)
    if name != "Shape" and found[0].dtype != object:
        return reader.output(scope, label)
    return ShapeExpr([as_size(extent) for extent in found[0]])


def _closed(bb: BlockBuilder, made: Callable[[], RelaxExpr]) -> RelaxExpr:
    """An expression that holds the bindings it needs."""
    bb.begin_scope(None)
    bb.begin_binding_block()
    try:
        result = made()
    finally:
        block = bb.end_block()
        bb.end_scope()
    bindings = block.bindings
    if not bindings:
        return result
    last = bindings[-1]
    if len(bindings) == 1 and isinstance(last, VarBinding) and last.var is result:
        return last.value
    return bb.normalize(SeqExpr([block], result))
