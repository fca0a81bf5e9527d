"""A program of `torch.export` as a Relax module with one function, `main`."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from tvm.error import OpAttributeUnImplemented, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import Constant, Var
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    TensorStructInfo,
)

from .base_fx_graph_translator import target_name
from .complex_numbers import complex_constant
from .dropout import warn_of_dropouts
from .dtypes import dtype_name, tensor_constant
from .functionalize import functionalized
from .inner_graphs import InnerGraphs, placeholders
from .inplace import plainly_written, without_dropout, writes, written_tensors
from .registry import functions
from .sizes import require
from .splitting import split_up
from .torchao import Composite, inner_tensors, is_composite

if TYPE_CHECKING:
    import torch
    from torch import fx

_WEIGHTS: Final = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")


class ExportedProgramImporter(InnerGraphs):
    """Converts the graph of an exported program, which is in operators of ATen."""

    def __init__(self) -> None:
        super().__init__()
        self._owner: Any = None
        self._tensors: dict[Any, Any] = {}  # of the graph at hand, see `written_tensors`

    def create_convert_map(self) -> dict[Any, Callable[[fx.Node], Any]]:
        """Operators by ATen's name, and what only a whole program tells."""
        own: dict[Any, Callable[[fx.Node], Any]] = {
            "item": self._item,
            "_local_scalar_dense": self._item,
            "_assert_scalar": self._assert_scalar,
        }
        return {**super().create_convert_map(), **own}

    # --- inputs ---

    def create_input_vars(
        self, exported_program: torch.export.ExportedProgram
    ) -> tuple[dict[str, Var], dict[str, Var]]:
        """Variables for parameters, buffers and constants; and those for what the user gives."""
        weights: dict[str, Var] = {}
        inputs: dict[str, Var] = {}
        held = {node.name: node.meta.get("val") for node in placeholders(exported_program.graph)}
        for value in held.values():
            self._symbols.know(getattr(value, "shape", ()))
        for spec in exported_program.graph_signature.input_specs:
            name = spec.arg.name
            if spec.kind.name in _WEIGHTS:
                tensor = _weight(exported_program, str(spec.target))
                for own, part in _plain_tensors(name, tensor):
                    if not part.is_complex():  # those are constants, of two parts
                        info = TensorStructInfo(list(part.shape), dtype_name(part.dtype))
                        weights[own] = Var(own, info)
            elif spec.kind.name == "USER_INPUT":
                var = self._input(name, held.get(name))
                if var is not None:
                    inputs[name] = var
            elif spec.kind.name != "TOKEN":  # those stand for the order of effects only
                raise OpAttributeUnImplemented(
                    message(
                        f"from_exported_program: input {name!r}",
                        found=f"a {spec.kind.name.lower()}",
                        legal="tensors, sizes and numbers",
                    )
                )
        return weights, inputs

    def _input(self, name: str, value: Any) -> Var | None:
        """A tensor, or a symbolic size; other values are part of the program already."""
        if hasattr(value, "shape"):
            shape = self._symbols.define(value.shape)
            return Var(name, TensorStructInfo(shape, dtype_name(value.dtype)))
        if hasattr(value, "node"):
            return Var(name, PrimStructInfo(value=self._symbols.extent(value)))
        return None

    # --- the program ---

    def from_exported_program(
        self,
        exported_program: torch.export.ExportedProgram,
        keep_params_as_input: bool,
        unwrap_unit_return_tuple: bool,
        no_bind_return_tuple: bool,
    ) -> IRModule:
        """The module; see the function of the same name."""
        warn_of_dropouts(_all_nodes(exported_program.graph_module))
        program, user_outputs = _functional(exported_program, self._is_known)
        program = split_up(program, self._is_known) or program
        graph = program.graph_module.graph
        self._check_graph(program.graph_module)
        self._symbols.limit(program.range_constraints)
        weights, inputs = self.create_input_vars(program)
        kept = self._bind_weights(program, weights, keep_params_as_input)
        attrs: dict[str, Any] = self._symbols.bounds(program.range_constraints)
        if keep_params_as_input:
            attrs["num_input"] = len(inputs)
            attrs["params"] = tuple(tensor_constant(tensor).data for _, tensor in kept)
        bb = self.block_builder
        with bb.function("main", [*inputs.values(), *(var for var, _ in kept)], attrs):
            with bb.dataflow():
                for node in placeholders(graph):
                    if node not in self.env:
                        self.env[node] = self._given(node, inputs)
                results = self._run(program.graph_module)
                if user_outputs is None:
                    user_outputs = _values(program)
                if len(user_outputs) < len(results):
                    results = [results[i] for i in user_outputs]
                output = self._emit_result(
                    results, unwrap_unit_return_tuple, no_bind_return_tuple
                )
            bb.emit_func_output(output)
        return bb.get()

    def from_graph(self, module: Any) -> IRModule:
        """The module of a graph in ATen's operators, whose inputs are its placeholders' values.

        A number among those is an extent of a tensor, or the value that torch guards.
        """
        self._check_graph(module)
        held = {node: node.meta["val"] for node in placeholders(module.graph)}
        for value in held.values():
            self._symbols.know(getattr(value, "shape", ()))
        inputs = {
            node: var
            for node, value in held.items()
            if hasattr(value, "shape") and (var := self._input(node.name, value)) is not None
        }
        bb = self.block_builder
        with bb.function("main", list(inputs.values())):
            with bb.dataflow():
                for node, value in held.items():
                    known = inputs.get(node, value)
                    if hasattr(known, "node"):
                        own = self._symbols.has(known)
                        known = self._symbols.extent(known) if own else known.__index__()
                    self.env[node] = known
                output = self._emit_result(self._run(module), False, False)
            bb.emit_func_output(output)
        return bb.get()

    def _bind_weights(
        self, program: Any, weights: dict[str, Var], keep_params: bool
    ) -> list[tuple[Var, Any]]:
        """Constants for the weights; parameters, if they stay inputs, with their tensors."""
        nodes = {node.name: node for node in placeholders(program.graph_module.graph)}
        kept: list[tuple[Var, Any]] = []
        made: dict[int, Constant] = {}
        for spec in program.graph_signature.input_specs:
            name = spec.arg.name
            if spec.kind.name not in _WEIGHTS:
                continue
            tensor = _weight(program, str(spec.target))
            values: dict[str, Any] = {}
            for own, part in _plain_tensors(name, tensor):
                if part.is_complex():
                    values[own] = complex_constant(part)
                elif keep_params and spec.kind.name == "PARAMETER":
                    kept.append((weights[own], part))
                    values[own] = weights[own]
                elif nodes[name].users:
                    values[own] = made.get(id(part)) or tensor_constant(part)
                    made[id(part)] = values[own]
            if values:
                self.env[nodes[name]] = _assembled(name, tensor, values)
        return kept

    def _given(self, node: fx.Node, inputs: dict[str, Var]) -> Any:
        """The value of a placeholder: a variable, a size, or a number of the program."""
        var = inputs.get(node.name)
        if var is None:
            return node.meta.get("val")
        info = var.struct_info
        return info.value if isinstance(info, PrimStructInfo) else var

    # --- the graph ---

    def _run(self, module: Any) -> Any:
        """Convert the nodes of a graph whose placeholders have values; what it gives."""
        outer = self._owner, self._tensors
        self._owner, self._tensors = module, written_tensors(list(module.graph.nodes)) or {}
        try:
            for node in module.graph.nodes:
                if node.op == "output":
                    return self._retrieve_args(node.args[0])
                if node.op == "get_attr":
                    self.env[node] = self._attribute(module, node)
                elif node.op == "call_function":
                    converter = self._find([target_name(node)])
                    assert converter is not None, "operators were checked before"
                    self._convert_node(node, converter)
                    self._fix_shape(node)
                    if writes(node):
                        self._write_through(node)
        finally:
            self._owner, self._tensors = outer
        raise AssertionError("a graph has an output")

    def _attribute(self, module: Any, node: fx.Node) -> Any:
        found = operator.attrgetter(str(node.target))(module)
        if not hasattr(found, "detach"):
            return found
        return complex_constant(found) if found.is_complex() else tensor_constant(found)

    def _fix_shape(self, node: fx.Node) -> None:
        """Where Relax does not see what torch knows of a shape, it is stated and checked."""
        value: Any = self.env[node]
        known: Any = node.meta.get("val")
        if self._spread or not isinstance(value, Var) or not hasattr(known, "shape"):
            return
        info = value.struct_info
        if not isinstance(info, TensorStructInfo):
            return
        if isinstance(info.shape, ShapeExpr):
            self._symbols.learn(known.shape, info.shape.values)
            if all(isinstance(extent, int) for extent in known.shape):
                return
        shape = self._symbols.shape(known.shape)
        if not self._is_shape(info, shape):
            wanted = TensorStructInfo(shape, info.dtype)
            self.env[node] = self.block_builder.match_cast(value, wanted)

    def _is_shape(self, info: TensorStructInfo, shape: list[Any]) -> bool:
        if not isinstance(info.shape, ShapeExpr):
            return False
        equal = self.block_builder.analyzer.can_prove_equal
        return all(a is b or equal(a, b) for a, b in zip(info.shape.values, shape))

    def _write_through(self, node: fx.Node) -> None:
        """Later readers of the tensor that was written to read the result.

        Its value does not tell which they are: a copy has the value of what it was made of.
        """
        written: Any = node.args[0]
        root = self._tensors.get(written, written)
        for other in [one for one, its in self._tensors.items() if its is root] or [written]:
            if other in self.env:
                self.env[other] = self.env[node]

    def _is_known(self, node: fx.Node) -> bool:
        if target_name(node) == "with_effects":
            return self._find([str(getattr(node.args[1], "__name__", node.args[1]))]) is not None
        return self._find([target_name(node)]) is not None

    def _check_graph(self, module: Any) -> None:
        missing: dict[str, list[fx.Node]] = {}
        for node in _all_nodes(module):
            if node.op == "call_function" and not self._is_known(node):
                missing.setdefault(target_name(node), []).append(node)
        self._check_unsupported(missing)

    # --- numbers that are read from tensors ---

    def _item(self, node: fx.Node) -> Any:
        """An integer is a symbol from here on, or is checked to be what torch derived for it."""
        value, known = self._retrieve_args(node.args[0]), node.meta.get("val")
        expr = getattr(getattr(known, "node", None), "expr", None)
        if isinstance(value, (int, PrimExpr)):
            return value
        if expr is None or not expr.is_integer:
            return functions()["item"](self.block_builder, value)
        return self._number(value, known)

    def _assert_scalar(self, node: fx.Node) -> None:
        """What torch assumed of sizes, checked when the program runs where it is not sure."""
        condition = self._retrieve_args(node.args[0])
        if isinstance(condition, PrimExpr):
            require(self.block_builder, condition)


def _all_nodes(module: Any) -> Iterator[Any]:
    """The nodes of a graph and of the graphs in it."""
    for one in module.modules():
        if hasattr(one, "graph"):
            yield from one.graph.nodes


def _plain_tensors(name: str, tensor: Any) -> Iterator[tuple[str, Any]]:
    """A weight, or the tensors that one of a wrapping class is made of, with their names."""
    if not is_composite(tensor):
        yield name, tensor
        return
    for attr, part in inner_tensors(tensor).items():
        yield from _plain_tensors(f"{name}_{attr}", part)


def _assembled(name: str, tensor: Any, values: dict[str, Any]) -> Any:
    """The value of a weight, from the values of the tensors that it is made of."""
    if not is_composite(tensor):
        return values[name]
    parts = inner_tensors(tensor)
    return Composite({a: _assembled(f"{name}_{a}", part, values) for a, part in parts.items()})


def _weight(program: Any, target: str) -> Any:
    """A parameter, a buffer, or a constant of the program."""
    state = program.state_dict
    return state[target] if target in state else program.constants[target]


def _values(program: Any) -> list[int]:
    """Which results of a program are values; tokens are none."""
    specs = program.graph_signature.output_specs
    return [i for i, spec in enumerate(specs) if spec.kind.name != "TOKEN"]


def _is_traced_away(node: fx.Node) -> bool:
    """Whether a node is none any more where torch traces the program anew.

    A part under `autocast` that is not switched off is written with its casts then; what is
    between the marks of `vmap` is written with an axis more.
    """
    if target_name(node) == "wrap_with_autocast":
        return node.args[2] is not False
    return getattr(node.target, "__module__", None) == "torch._functorch.predispatch"


def _functional(
    program: Any, is_known: Callable[[Any], bool]
) -> tuple[Any, list[int] | None]:
    """The program without writes to tensors, and which of its results are the user's.

    A program that is functional is taken as it is, with all of its results; so is none with
    `autocast` or `vmap`, which are in a program that torch has traced anew as plain operators.
    """
    nodes = list(_all_nodes(program.graph_module))
    if not any(map(_is_traced_away, nodes)):
        if not any(writes(node) for node in nodes) or plainly_written(nodes):
            return program, None
        rewritten = functionalized(program, is_known)
        if rewritten is not None:
            return rewritten, None
    made = without_dropout(program).run_decompositions({})
    kept, changed = [], []
    for i, spec in enumerate(made.graph_signature.output_specs):
        if spec.kind.name == "USER_OUTPUT":
            kept.append(i)
        elif spec.target is not None and not str(spec.target).endswith("num_batches_tracked"):
            changed.append(str(spec.target))
    if changed:
        warnings.warn(
            "from_exported_program: the model changes "
            + ", ".join(changed)
            + "; the new values are not returned. Import program.run_decompositions({}), which "
            "returns them before its other results.",
            stacklevel=4,
        )
    return made, kept


def from_exported_program(
    exported_program: torch.export.ExportedProgram,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
) -> IRModule:
    """A Relax module with a function `main` that computes the program.

    Weights become constants, or with `keep_params_as_input` parameters after the inputs (their
    values in the attribute `params`, see `detach_params`). The result is a tuple;
    `unwrap_unit_return_tuple` gives the only tensor of a tuple of one, `no_bind_return_tuple`
    binds the results one by one. Dynamic dimensions are symbolic variables; their ranges are in
    the attributes `tir_var_lower_bound` and `tir_var_upper_bound`.

    Raises an error that lists every operator without a converter, with the lines it came from.
    """
    if not hasattr(exported_program, "graph_signature"):
        raise TypeError(
            message(
                "from_exported_program: the program",
                found=type(exported_program).__name__,
                legal="a torch.export.ExportedProgram, as torch.export.export(model, args) makes",
            )
        )
    return ExportedProgramImporter().from_exported_program(
        exported_program, keep_params_as_input, unwrap_unit_return_tuple, no_bind_return_tuple
    )
