"""An ONNX graph as a Relax function, node by node, each with the node's name as its source."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import ShapeError, message
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.host_tensor import HostTensor, as_host_tensor
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax import op
from tvm.relax.analysis.purity import find_impure_call
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, Tuple, TupleGetItem, Var
from tvm.relax.result_names import note_result_names
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo
from tvm.relax.transform.convert_to_dataflow import ConvertToDataflow
from tvm.support.naming import NameTable
from tvm.support.recursion import nested_programs
from tvm.support.suggest import did_you_mean
from tvm.tir.expr import IntImm

from .attributes import dtype_name, tensor_array, weight_extents, weights_of
from .calls import check_calls
from .checks import check_names, check_operators, has_branches
from .dimensions import UNKNOWN, Dimensions, declared, identifier, merged
from .given import Given, checked
from .graph import (
    ONNX_DOMAINS,
    GraphReader,
    OpConversionError,
    add_weight,
    names_read,
    source_span,
)  # fmt: skip
from .lists import is_open_list, rows_of
from .maps import TEXT, Held, checked_map, held_by
from .nchwc import block_size
from .ranks import infer_rank
from .scope import Scope


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
    opsets = _opsets_of(model, opset)
    functions = {(f.domain, f.name): f for f in getattr(model, "functions", ())}
    check_names(graph, functions)
    check_calls(graph.node, functions)
    with nested_programs():
        check_operators(graph.node, opsets, functions)
        importer = _Importer(opsets, functions, shape_dict or {}, dtype_dict, keep_params_in_input)
        return importer.run(graph, sanitize_input_names)


def _opsets_of(model: Any, given: int | None) -> dict[str, int]:
    """The version of each domain's operator set; `given` overrides that of ONNX's own."""
    found: dict[str, int] = {}
    for entry in getattr(model, "opset_import", ()):
        domain = "" if entry.domain in ONNX_DOMAINS else entry.domain
        found[domain] = max(int(entry.version), found.get(domain, 1))
    found[""] = given or found.get("", 1)
    return found


def _with_effects_declared(mod: IRModule) -> IRModule:
    """The module with functions that check something, and those that call them, declared impure."""
    functions = dict(mod.functions)
    settled = False
    while not settled:  # a function that becomes impure may make its callers so
        settled = True
        for var, func in functions.items():
            if isinstance(func, Function) and func.is_pure and find_impure_call(func, var):
                new = Function(
                    func.params, func.body, func.ret_struct_info, False, func.attrs, func.span
                )
                functions[var], var.struct_info_ = new, new.struct_info
                settled = False
    return mod.with_functions(functions)


def _tensor_type(value: Any) -> tuple[Any, bool, bool]:
    """The type of the tensors of an input; whether it is a sequence; whether it may be missing."""
    kind, optional = value.type, False
    if kind.WhichOneof("value") == "optional_type":
        kind, optional = kind.optional_type.elem_type, True
    is_sequence = kind.WhichOneof("value") == "sequence_type"
    kind = kind.sequence_type.elem_type if is_sequence else kind
    found = kind.WhichOneof("value") or "tensor_type"
    if found == "sparse_tensor_type":  # the caller writes it out
        return kind.sparse_tensor_type, is_sequence, optional
    if found != "tensor_type":
        raise OpConversionError(
            message(
                f"from_onnx: input {value.name!r} is of {found.replace('_type', '')} type",
                legal="tensors, sequences of tensors, either of which may be optional; maps",
            )
        )
    return kind.tensor_type, is_sequence, optional


def _is_map(value: Any) -> bool:
    return bool(value.type.WhichOneof("value") == "map_type")


class _Importer:
    def __init__(
        self,
        opsets: Mapping[str, int],
        functions: Mapping[tuple[str, str], Any],
        shapes: Mapping[str, Sequence[Any]],
        dtypes: str | Mapping[str, str] | None,
        keep_params: bool,
    ) -> None:
        self._shapes = shapes
        self._dtypes = dtypes
        self._keep_params = keep_params
        self._bb = BlockBuilder()
        self._functions = functions
        self._opsets = opsets
        self._scope = Scope(opsets)
        self._weights: list[HostTensor] = []
        self._weight_vars: list[Var] = []
        self._objects: dict[str, tuple[Var, Given | Held]] = {}

    def run(self, graph: Any, sanitize: bool) -> IRModule:
        read = names_read(graph.node, [value.name for value in graph.output])
        self._scope = Scope(self._opsets, read=read)
        weights = weight_extents(graph)
        inputs = [value for value in graph.input if value.name not in weights]
        self._check_shape_names([value.name for value in inputs])
        names = NameTable()
        shapes = [self._shape_of(graph, value) for value in inputs]
        dims = Dimensions([shape for shape in shapes if shape is not None])
        params = [
            self._input(value, shape, dims, names, sanitize) for value, shape in zip(inputs, shapes)
        ]
        for tensor in weights_of(graph):
            self._initializer(tensor, names, sanitize)
        known = [shape for shape in shapes if shape is not None]
        open_sizes = len(known) < len(shapes) or not all(
            isinstance(size, (int, IntImm)) for shape in known for size in shape
        )
        branches = has_branches(graph.node, self._functions, open_sizes)
        attrs: dict[str, object] = {"num_input": len(params)}
        if self._weights:
            attrs["params"] = tuple(self._weights)
        with self._bb.function("main", [*params, *self._weight_vars], attrs):
            self._bb.emit_func_output(self._body(graph, branches))
        mod = self._bb.get()
        if branches:
            mod = ConvertToDataflow()(_with_effects_declared(mod))
        note_result_names(mod, "main", [value.name for value in graph.output])
        return mod

    def _body(self, graph: Any, branches: bool) -> RelaxExpr:
        """Convert the nodes; all into one dataflow block, unless there are branches."""
        reader = GraphReader(self._bb, self._functions)
        reader.block = block_size(graph)
        if branches:
            self._check_objects(reader)
            return reader.results(
                graph.node, self._scope, lambda scope: self._outputs(reader, graph, scope)
            )
        with self._bb.dataflow():
            self._check_objects(reader)
            reader.nodes(graph.node, self._scope)
            output = self._outputs(reader, graph, self._scope)
            return self._bb.emit_output(self._last_call(output) or output)

    def _check_objects(self, reader: GraphReader) -> None:
        for name, (var, held) in self._objects.items():
            if isinstance(held, Given):
                value = checked(self._bb, var.name_hint, var, held)
                reader.given[value] = held
            else:
                value = checked_map(self._bb, var.name_hint, var, held)
                reader.maps[value] = held
            self._scope.bind(name, value)

    def _last_call(self, output: RelaxExpr) -> RelaxExpr | None:
        """The operator that computes the output last: it is bound to the result itself."""
        call = self._bb.lookup_binding(output) if isinstance(output, Var) else None
        if not isinstance(call, (Call, TupleGetItem)):
            return None
        in_tir = isinstance(call, Call) and call.op is Op.get("relax.call_tir")
        return None if in_tir else self._bb.withdraw(output)

    def _outputs(self, reader: GraphReader, graph: Any, scope: Scope) -> RelaxExpr:
        outputs = [self._output(reader.output(scope, value.name)) for value in graph.output]
        return outputs[0] if len(outputs) == 1 else Tuple(outputs)

    def _output(self, value: RelaxExpr) -> RelaxExpr:
        """A result as the caller gets it: of a sequence that is rows of a tensor, the rows."""
        if not is_open_list(value):
            return value
        rows = rows_of(self._bb, value)
        assert rows is not None, "an open list has rows"
        name = "vm.builtin.sequence_rows"
        return self._bb.emit(op.call_pure_packed(name, rows, sinfo_args=ObjectStructInfo()))

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

    def _shape_of(self, graph: Any, value: Any) -> list[Any] | None:
        """The extents of an input; None for one of unknown rank that nothing reads."""
        if _is_map(value):
            return None
        name, (tensor, is_sequence, optional) = value.name, _tensor_type(value)
        found = merged(name, declared(name, tensor), self._shapes.get(name))
        if found is not None:
            if UNKNOWN in found:
                warnings.warn(
                    f"Input {name} has unknown dimension shapes: {found}. "
                    "Specifying static values may improve performance",
                    stacklevel=4,
                )
            return found
        if is_sequence or optional:
            return None
        rank = infer_rank(graph, name)
        return None if rank is None else [f"{name}_{axis}" for axis in range(rank)]

    def _input(
        self, value: Any, shape: list[Any] | None, dims: Dimensions, names: NameTable,
        sanitize: bool,
    ) -> Var:  # fmt: skip
        if _is_map(value):
            return self._map(value, names.fresh(identifier(value.name) if sanitize else value.name))
        tensor, is_sequence, optional = _tensor_type(value)
        dtype = dtype_name(tensor.elem_type) or self._dtype_of(value.name)
        if dtype == "object":
            dtype = "int64"  # the codes of strings
            self._scope.mark_text(value.name)
        name = names.fresh(identifier(value.name) if sanitize else value.name)
        sizes = None if shape is None else [dims.size(value.name, dim) for dim in shape]
        info: StructInfo = TensorStructInfo(sizes, dtype)
        if is_sequence or optional:
            info = ObjectStructInfo()
        var = Var(name, info, source_span(value.name, 0))
        if is_sequence or optional:
            ndim = -1 if shape is None else len(shape)
            self._objects[value.name] = var, Given(dtype, ndim, is_sequence, optional)
        self._scope.bind(value.name, var)
        return var

    def _map(self, value: Any, name: str) -> Var:
        held = held_by(value.name, value.type.map_type)
        if held.values == TEXT:
            self._scope.mark_text(value.name)
        var = Var(name, ObjectStructInfo(), source_span(value.name, 0))
        self._objects[value.name] = var, held
        self._scope.bind(value.name, var)
        return var

    def _dtype_of(self, name: str) -> str:
        if isinstance(self._dtypes, str):
            return self._dtypes
        return str((self._dtypes or {}).get(name, "float32"))

    def _initializer(self, tensor: Any, names: NameTable, sanitize: bool) -> None:
        array = tensor_array(tensor)
        if self._keep_params and array.dtype.kind not in "OSU":
            name = names.fresh(identifier(tensor.name) if sanitize else tensor.name)
            info = TensorStructInfo(array.shape, str(array.dtype))
            var = Var(name, info, source_span(tensor.name, 0))
            self._weight_vars.append(var)
            self._weights.append(as_host_tensor(array))
            self._scope.bind(tensor.name, var)
            # integers tell sizes and axes: what follows from them is computed here
            self._scope.known.add_constant(tensor.name, array, given=array.dtype.kind == "f")
        else:
            add_weight(self._scope, tensor)
