"""Operators that are functions: bodies of ONNX's own definitions, and those a model brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.tir.expr import IntImm

# Operators of ONNX Runtime's own set that ONNX took over, and in which version of its set.
ADOPTED = {"LinearAttention": 27}


def schema_of(op_type: str, domain: str, opset: int) -> Any | None:
    """ONNX's definition of an operator in a version of its operator set, or None.

    An operator younger than that version is as it is now.
    """
    import onnx

    if domain == "com.microsoft" and op_type in ADOPTED:
        domain, opset = "", ADOPTED[op_type]
    domain = "" if domain == "ai.onnx" else domain
    newest = onnx.defs.onnx_opset_version()
    for version in (max(0, min(opset, newest)), newest):  # a file may say any number
        try:
            return onnx.defs.get_schema(op_type, version, domain)
        except onnx.defs.SchemaError:
            continue
    return None


def has_body(op_type: str, domain: str, opset: int) -> bool:
    """Whether ONNX defines the operator by a body of other operators."""
    schema = schema_of(op_type, domain, opset)
    return schema is not None and bool(_versions(schema))


def body_of(node: Any, opset: int, infos: list[Any]) -> Any | None:
    """The body of a node as a FunctionProto, for inputs of these struct infos; None without one."""
    import onnx

    schema = schema_of(node.op_type, node.domain, opset)
    versions = [] if schema is None else _versions(schema)
    if schema is None or not versions or _asks_for_more(node, schema):
        return None
    # the newest body that an operator set up to the model's gives; the oldest if all are newer
    version = max((v for v in versions if v <= opset), default=min(versions))
    if version in schema.function_opset_versions:
        content = schema.get_function_with_opset_version(version)
    else:
        types = [_type_of(info).SerializeToString() for info in infos]
        content = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), types
        )
    if not content:
        return None
    body = onnx.FunctionProto.FromString(content)
    if not body.opset_import and not schema.domain:
        body.opset_import.append(onnx.helper.make_opsetid("", version))
    return body


def _asks_for_more(node: Any, schema: Any) -> bool:
    """Whether a node of an adopted operator has attributes set that ONNX's own has not."""
    others = [attr for attr in node.attribute if attr.name not in schema.attributes]
    return any(attr.i for attr in others)


def _versions(schema: Any) -> list[int]:
    found = [
        *schema.function_opset_versions, *schema.context_dependent_function_opset_versions,
    ]  # fmt: skip
    return [int(version) for version in found]


def with_defaults(node: Any, opset: int) -> Any:
    """The node with the attributes that its definition gives when they are left out."""
    schema = schema_of(node.op_type, node.domain, opset)
    given = {attr.name for attr in node.attribute}
    defaults = {} if schema is None else schema.attributes
    missing = [
        attr.default_value
        for name, attr in defaults.items()
        if name not in given and attr.default_value.name
    ]
    if not missing:
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    copy.attribute.extend(missing)
    return copy


def bound_attributes(node: Any, given: Mapping[str, Any]) -> Any:
    """A node of a body, its references to attributes of the function replaced by their values."""
    if not _has_reference(node):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attr in node.attribute:
        if not attr.ref_attr_name:
            new = copy.attribute.add()
            new.CopyFrom(attr)
            if attr.HasField("g"):
                nodes = [bound_attributes(inner, given) for inner in attr.g.node]
                del new.g.node[:]
                new.g.node.extend(nodes)
        elif attr.ref_attr_name in given:
            new = copy.attribute.add()
            new.CopyFrom(given[attr.ref_attr_name])
            new.name = attr.name
    return copy


def _has_reference(node: Any) -> bool:
    return any(
        attr.ref_attr_name
        or (attr.HasField("g") and any(_has_reference(inner) for inner in attr.g.node))
        for attr in node.attribute
    )


def _type_of(info: Any) -> Any:
    """The type of a value, as ONNX writes it."""
    import onnx

    if isinstance(info, TupleStructInfo):
        inner = _type_of(info.fields[0]) if info.fields else onnx.TypeProto()
        return onnx.helper.make_sequence_type_proto(inner)
    if not isinstance(info, TensorStructInfo):
        return onnx.TypeProto()
    kind = element_type(str(info.dtype))
    if not isinstance(info.shape, ShapeExpr):
        return onnx.helper.make_tensor_type_proto(kind, None)
    extents = [e.value if isinstance(e, IntImm) else str(e) for e in info.shape.values]
    return onnx.helper.make_tensor_type_proto(kind, extents)


def element_type(dtype: str) -> int:
    """ONNX's number of a data type."""
    import onnx

    for number in onnx.TensorProto.DataType.values():
        if number and str(_numpy_name(number)) == dtype:
            return int(number)
    return 0


def _numpy_name(number: int) -> str:
    import onnx

    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(number).name)
    except (KeyError, ValueError):
        return ""
