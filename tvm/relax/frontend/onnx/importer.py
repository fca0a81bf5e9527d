"""An ONNX graph as a Relax function, node by node, each with the node's name as its source."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, SupportsIndex

from tvm.error import OpError, OpNotImplemented, ShapeError, TVMError, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.span import SourceName, Span, span_scope
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Tuple, TupleGetItem, Var
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.support.naming import NameTable
from tvm.support.suggest import did_you_mean, near_names
from tvm.tir.expr import SizeVar

from .attributes import dtype_name, node_attributes, tensor_array
from .known_values import KnownValues
from .node import Node
from .registry import find_converter, known_operators

ONNX_DOMAINS = ("", "ai.onnx")


def from_onnx(
    model: Any,
    shape_dict: Mapping[str, Sequence[Any]] | None = None,
    dtype_dict: str | Mapping[str, str] | None = "float32",
    opset: int | None = None,
    keep_params_in_input: bool = False,
    sanitize_input_names: bool = True,
) -> IRModule:
    """A Relax module with a function `main` that computes the model.

    `model` is an onnx.ModelProto or GraphProto. `shape_dict` fixes shapes of inputs by name,
    `dtype_dict` types of inputs that the model leaves open. Weights become constants, or with
    `keep_params_in_input` parameters after the inputs (their values in the attribute `params`).
    Raises OpNotImplemented that lists every operator without a converter, with its nodes.
    """
    graph = getattr(model, "graph", model)
    if not hasattr(graph, "node") or not hasattr(graph, "initializer"):
        raise TypeError(
            message(
                "from_onnx: the model is no ONNX model",
                found=type(model).__name__,
                legal="onnx.ModelProto or onnx.GraphProto, as onnx.load(path) gives it",
            )
        )
    version = opset or _opset_of(model)
    _check_operators(graph, version)
    importer = _Importer(version, shape_dict or {}, dtype_dict, keep_params_in_input)
    return importer.run(graph, sanitize_input_names)


def _opset_of(model: Any) -> int:
    """The version of ONNX's own operator set; 1 when the model says none."""
    imports = getattr(model, "opset_import", ())
    versions = [int(entry.version) for entry in imports if entry.domain in ONNX_DOMAINS]
    return max(versions, default=1)


def _check_operators(graph: Any, opset: int) -> None:
    """Refuse the model with all operators at once that have no converter."""
    missing: dict[str, list[str]] = {}
    for number, node in enumerate(graph.node):
        name = _operator(node)
        if find_converter(name, opset) is None:
            missing.setdefault(name, []).append(_node_name(node, number))
    if not missing:
        return
    shown = [f"{name} ({', '.join(nodes)})" for name, nodes in sorted(missing.items())]
    plural = "s" if len(shown) > 1 else ""
    raise OpNotImplemented(
        message(
            "The following operators are not supported for frontend ONNX: "
            + ", ".join(sorted(missing)),
            found=f"{len(shown)} operator{plural} without a converter:\n" + "\n".join(shown),
            where=f"operator set {opset}",
            legal=f"{len(known_operators())} operators are known, among them "
            + ", ".join(_nearest(missing)),
        )
    )


def _operator(node: Any) -> str:
    """The operator as converters are declared for it: with its domain, if that is not ONNX's."""
    return str(node.op_type if node.domain in ONNX_DOMAINS else f"{node.domain}.{node.op_type}")


def _nearest(missing: Mapping[str, object]) -> list[str]:
    """A few known operators, those with names like the missing ones first."""
    known = known_operators()
    near = [name for wanted in missing for name in near_names(wanted, known)]
    return list(dict.fromkeys([*near, "Conv", "Gemm", "MatMul", "Relu"]))[:6]


def _node_name(node: Any, number: int) -> str:
    """The node's own name, else one from its operator and place."""
    return str(node.name) or f"{node.op_type}_{number}"


class _Importer:
    def __init__(
        self,
        opset: int,
        shapes: Mapping[str, Sequence[Any]],
        dtypes: str | Mapping[str, str] | None,
        keep_params: bool,
    ) -> None:
        self._opset = opset
        self._shapes = shapes
        self._dtypes = dtypes
        self._keep_params = keep_params
        self._bb = BlockBuilder()
        self._values: dict[str, RelaxExpr] = {}
        self._known = KnownValues()
        self._sizes: dict[str, SizeVar] = {}
        self._weights: list[Any] = []
        self._weight_vars: list[Var] = []

    def run(self, graph: Any, sanitize: bool) -> IRModule:
        initializers = {tensor.name: tensor for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in initializers]
        self._check_shape_names([value.name for value in inputs])
        names = NameTable()
        params = [self._input(value, names, sanitize) for value in inputs]
        for tensor in graph.initializer:
            self._initializer(tensor, names, sanitize)
        attrs: dict[str, object] = {"num_input": len(params)}
        if self._weights:
            attrs["params"] = tuple(self._weights)
        with self._bb.function("main", [*params, *self._weight_vars], attrs):
            with self._bb.dataflow():
                for number, node in enumerate(graph.node):
                    self._convert(node, number)
                outputs = [self._output(value.name) for value in graph.output]
                result = outputs[0] if len(outputs) == 1 else Tuple(outputs)
                final = self._bb.emit_output(result)
            self._bb.emit_func_output(final)
        names_out = [value.name for value in graph.output]
        mod = self._bb.get()
        main = mod["main"].with_attr("output_names", tuple(names_out))
        mod["main"] = main
        return mod

    # --- inputs ---

    def _check_shape_names(self, inputs: Sequence[str]) -> None:
        for name in self._shapes:
            if name not in inputs:
                raise ShapeError(
                    message(
                        f"from_onnx: shape_dict names {name!r}, which is no input of the model"
                        f"{did_you_mean(name, inputs)}",
                        legal=", ".join(inputs),
                    )
                )

    def _input(self, value: Any, names: NameTable, sanitize: bool) -> Var:
        tensor_type = value.type.tensor_type
        own: list[Any] = []
        for axis, dim in enumerate(tensor_type.shape.dim):
            if dim.HasField("dim_value"):
                own.append(int(dim.dim_value))
            else:
                own.append(dim.dim_param or f"{value.name}_{axis}")
        given = self._shapes.get(value.name)
        if given is not None:
            own = self._merged_shape(value.name, own, list(given))
        shape = [self._size(value.name, dim) for dim in own]
        dtype = dtype_name(tensor_type.elem_type) or self._dtype_of(value.name)
        if dtype == "object":
            raise OpConversionError(
                message(
                    f"from_onnx: input {value.name!r} holds strings",
                    legal="tensors of numbers or of truth values",
                )
            )
        name = names.fresh(_identifier(value.name) if sanitize else value.name)
        var = Var(name, TensorStructInfo(shape, dtype), _span(value.name, 0))
        self._values[value.name] = var
        return var

    def _merged_shape(self, name: str, own: list[Any], given: list[Any]) -> list[Any]:
        fits = not own or len(own) == len(given)
        if fits:
            fits = all(
                not isinstance(a, int) or not isinstance(b, int) or a == b
                for a, b in zip(own, given)
            )
        if not fits:
            raise ShapeError(
                message(
                    f"from_onnx: shape_dict gives input {name!r} a shape that the model rules out",
                    found=str(given),
                    legal=str(own),
                )
            )
        return given

    def _size(self, name: str, dim: Any) -> PrimExpr | int:
        if isinstance(dim, str):
            key = _identifier(dim)
            if key not in self._sizes:
                self._sizes[key] = SizeVar(key, "int64")
            return self._sizes[key]
        if isinstance(dim, PrimExpr):
            return dim
        if not isinstance(dim, SupportsIndex) or dim.__index__() < 0:
            raise ShapeError(
                message(
                    f"from_onnx: an extent of input {name!r} is no size",
                    found=repr(dim),
                    legal="a number that is not negative, a name, or a tir expression",
                )
            )
        return dim.__index__()

    def _dtype_of(self, name: str) -> str:
        if isinstance(self._dtypes, str):
            return self._dtypes
        return str((self._dtypes or {}).get(name, "float32"))

    def _initializer(self, tensor: Any, names: NameTable, sanitize: bool) -> None:
        array = tensor_array(tensor)
        if self._keep_params and array.dtype.kind == "f":
            name = names.fresh(_identifier(tensor.name) if sanitize else tensor.name)
            info = TensorStructInfo(array.shape, str(array.dtype))
            var = Var(name, info, _span(tensor.name, 0))
            self._weight_vars.append(var)
            self._weights.append(Constant(array))
            self._values[tensor.name] = var
        else:
            self._values[tensor.name] = Constant(array, None, _span(tensor.name, 0))
        self._known.add_constant(tensor.name, array)

    # --- nodes ---

    def _convert(self, node: Any, number: int) -> None:
        name = _node_name(node, number)
        self._check_inputs(node, name)
        attrs = node_attributes(node)
        if self._known.evaluate(node.op_type, node.input, node.output, attrs, self._info):
            # a shape computation: its value is known, and is made a tensor only where one is read
            return
        converter = find_converter(_operator(node), self._opset)
        assert converter is not None, "operators were checked before"
        span = _span(name, number + 1)
        with span_scope(span):
            view = Node(
                node.op_type,
                name,
                self._bb,
                list(node.input),
                self._read,
                self._known.get,
                attrs,
                self._opset,
                len(node.output),
            )
            try:
                self._bind(node, converter(view), name)
            except OpError:
                raise
            except (TVMError, TypeError, ValueError, IndexError) as err:
                raise OpConversionError(
                    message(
                        f"from_onnx: node {name!r} ({node.op_type}) cannot be converted",
                        found=str(err),
                        where=f"node number {number} of the graph",
                    )
                ) from err

    def _check_inputs(self, node: Any, name: str) -> None:
        """Every value that a node reads must have been made before it."""
        for read in node.input:
            if read and read not in self._values and self._known.get(read) is None:
                self._refuse_unmade(read, f"input of node {name!r} ({node.op_type})")

    def _refuse_unmade(self, name: str, where: str) -> NoReturn:
        raise TVMError(
            message(
                f"from_onnx: no node or input gives the value {name!r}"
                f"{did_you_mean(name, self._values)}",
                where=where,
                legal="a graph in which every value is made before it is read",
            )
        )

    def _bind(self, node: Any, result: RelaxExpr | list[RelaxExpr], name: str) -> None:
        if isinstance(result, list):
            parts = [self._emit(part, name) for part in result]
        else:
            value = self._emit(result, name)
            info = value.struct_info
            if isinstance(info, TupleStructInfo) and len(node.output) >= 1:
                parts = [self._bb.emit(TupleGetItem(value, i)) for i in range(len(info.fields))]
            else:
                parts = [value]
        for output, part in zip(node.output, parts):
            if output:
                self._values[output] = part

    def _emit(self, value: RelaxExpr, name: str) -> RelaxExpr:
        normal = self._bb.normalize(value)
        if isinstance(normal, (Var, Constant)):
            return normal
        return self._bb.emit(normal)

    def _read(self, name: str) -> RelaxExpr:
        value = self._values.get(name)
        if value is None:
            known = self._known.get(name)
            assert known is not None, "the caller looked whether the value is there"
            value = self._known.as_expr(self._bb, known)
            self._values[name] = value
        return value

    def _output(self, name: str) -> RelaxExpr:
        if name not in self._values and self._known.get(name) is None:
            self._refuse_unmade(name, "output of the model")
        return self._read(name)

    def _info(self, name: str) -> tuple[Sequence[Any] | None, str] | None:
        """Shape and dtype of a value that has been made, or None."""
        value = self._values.get(name)
        info = None if value is None else value.struct_info_
        if not isinstance(info, TensorStructInfo):
            return None
        shape = info.shape.values if isinstance(info.shape, ShapeExpr) else None
        return shape, str(info.dtype)


class OpConversionError(OpError, ValueError):
    """A node whose inputs or attributes do not fit together."""


def _span(name: str, number: int) -> Span:
    """The source of a node: its name, and its number in the graph as the line."""
    return Span(SourceName(name), number, number, 1, 1)


def _identifier(name: str) -> str:
    """The name as a Python identifier."""
    word = re.sub(r"\W", "_", name)
    return word if word and not word[0].isdigit() else f"input_{word}"
