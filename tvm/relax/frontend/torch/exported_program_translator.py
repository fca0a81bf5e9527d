"""A program of `torch.export` as a Relax module with one function, `main`."""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tvm import tir
from tvm.error import OpAttributeUnImplemented, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import op
from tvm.relax.expr import Constant, Var
from tvm.relax.frontend.branches import either
from tvm.relax.loops import scan, while_loop
from tvm.relax.struct_info import (
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
)
from tvm.tir.analysis import undefined_vars

from .base_fx_graph_translator import BaseFXGraphImporter, target_name
from .complex_numbers import complex_constant
from .dropout import warn_of_dropouts
from .dtypes import dtype_name, tensor_constant
from .functionalize import functionalized
from .inplace import plainly_written, without_dropout, writes, written_tensors
from .registry import functions
from .sizes import require
from .splitting import split_up
from .symbols import Symbols
from .torchao import Composite, inner_tensors, is_composite
from .values import cast, tensor_of

if TYPE_CHECKING:
    import torch
    from torch import fx

_WEIGHTS: Final = ("PARAMETER", "BUFFER", "CONSTANT_TENSOR")


class ExportedProgramImporter(BaseFXGraphImporter):
    """Converts the graph of an exported program, which is in operators of ATen."""

    def __init__(self) -> None:
        super().__init__()
        self._symbols = Symbols()
        self._owner: Any = None
        self._tensors: dict[Any, Any] = {}  # of the graph at hand, see `written_tensors`

    def create_convert_map(self) -> dict[Any, Callable[[fx.Node], Any]]:
        """Operators by ATen's name, and the calls of graphs within the graph."""
        own: dict[Any, Callable[[fx.Node], Any]] = {
            "getitem": self._getitem,
            "wrap_with_set_grad_enabled": functools.partial(self._inlined, 1),
            "wrap_with_autocast": functools.partial(self._inlined, 4),
            "invoke_subgraph": self._invoked,
            "with_effects": self._with_effects,
            "cond": self._cond,
            "while_loop": self._while_loop,
            "scan": self._scan,
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
        held = {node.name: node.meta.get("val") for node in _placeholders(exported_program.graph)}
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
                for node in _placeholders(graph):
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

    def _bind_weights(
        self, program: Any, weights: dict[str, Var], keep_params: bool
    ) -> list[tuple[Var, Any]]:
        """Constants for the weights; parameters, if they stay inputs, with their tensors."""
        nodes = {node.name: node for node in _placeholders(program.graph_module.graph)}
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
        if not isinstance(value, Var) or not hasattr(known, "shape"):
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

    def _number(self, value: Any, known: Any) -> Any:
        """The integer in a tensor as a symbol."""
        bb = self.block_builder
        number = bb.emit(op.reshape(cast(bb, value, "int64"), [1]))
        shape = bb.emit(op.tensor_to_shape(number))
        self._symbols.know([known])
        extent = self._symbols.define([known])[0]
        bb.match_cast(shape, ShapeStructInfo([extent]))
        return self._symbols.extent(known)

    def _assert_scalar(self, node: fx.Node) -> None:
        """What torch assumed of sizes, checked when the program runs where it is not sure."""
        condition = self._retrieve_args(node.args[0])
        if isinstance(condition, PrimExpr):
            require(self.block_builder, condition)

    # --- graphs within the graph ---

    def _call(self, module: Any, args: Sequence[Any]) -> Any:
        for node, value in zip(_placeholders(module.graph), args):
            self.env[node] = value
        return self._run(module)

    def _inlined(self, place: int, node: fx.Node) -> Any:
        """A part of the graph under another mode of torch's."""
        module, *args = self._retrieve_args(node.args)[place:]
        return self._call(module, args)

    def _invoked(self, node: fx.Node) -> Any:
        module, _, *args = self._retrieve_args(node.args)
        return self._call(module, args)

    def _with_effects(self, node: fx.Node) -> Any:
        """An operator between two tokens: its results behind the token, which is no value."""
        _, target, *rest = node.args
        graph = node.graph
        with graph.inserting_before(node):
            plain = graph.call_function(target, tuple(rest), dict(node.kwargs))
        plain.meta = dict(node.meta)
        try:
            converter = self._find([target_name(plain)])
            assert converter is not None, "operators were checked before"
            found = converter(plain)
        finally:
            graph.erase_node(plain)
        return (None, *found) if isinstance(found, (tuple, list)) else (None, found)

    def _cond(self, node: fx.Node) -> Any:
        """A function with two branches; what is known not to be a tensor is in both the same."""
        chosen, on_true, on_false, *rest = self._retrieve_args(node.args)
        operands = list(rest[0]) if rest else []
        if isinstance(chosen, bool):
            return self._call(on_true if chosen else on_false, operands)
        bb = self.block_builder
        held = bb.normalize_argument(op.reshape(cast(bb, tensor_of(bb, chosen), "bool"), ()))
        values = [bb.normalize_argument(v) if isinstance(v, RelaxExpr) else v for v in operands]
        outer = [v for v in values if isinstance(v, Var)]
        kept: list[Any] = []

        def way(module: Any, around: Sequence[Any]) -> list[Any]:
            left = iter(around)
            given = [next(left) if isinstance(v, Var) else v for v in values]
            kept[:] = self._call(module, given)
            return [tensor_of(bb, value) for value in kept if value is not None]

        yes, no = (functools.partial(way, module) for module in (on_true, on_false))
        found = iter(either(bb, held, outer, yes, no, _symbols_in([operands])))
        infos = node.meta["val"]
        return tuple(
            None if old is None else self._shaped(next(found), info)
            for old, info in zip(kept, infos)
        )

    def _shaped(self, value: RelaxExpr, known: Any) -> Any:
        """A result of branches with the extents that torch has for it, or a number as a symbol."""
        bb = self.block_builder
        if not hasattr(known, "shape"):
            return self._number(value, known)
        info = value.struct_info
        assert isinstance(info, TensorStructInfo), "branches give tensors"
        if isinstance(info.shape, ShapeExpr):
            return value
        self._symbols.know(known.shape)
        return bb.match_cast(
            value, TensorStructInfo(self._symbols.define(known.shape), str(info.dtype))
        )

    def _while_loop(self, node: fx.Node) -> Any:
        """A function that calls itself; numbers of the state are tensors in it."""
        test, body, carried, *rest = self._retrieve_args(node.args)
        bb = self.block_builder
        state = [bb.normalize_argument(tensor_of(bb, value)) for value in carried]
        outer = [value for value in (rest[0] if rest else ()) if isinstance(value, Var)]

        def operands(state: Sequence[Any], around: Sequence[Any]) -> list[Any]:
            left = iter(around)
            given = rest[0] if rest else ()
            return [*state, *(next(left) if isinstance(v, Var) else v for v in given)]

        def holds(state: Sequence[Any], around: Sequence[Any]) -> RelaxExpr:
            found = self._call(test, operands(state, around))
            found = found[0] if isinstance(found, tuple) else found
            return op.reshape(cast(bb, tensor_of(bb, found), "bool"), ())

        def turn(state: Sequence[Any], around: Sequence[Any]) -> list[Any]:
            return [tensor_of(bb, value) for value in self._call(body, operands(state, around))]

        found = while_loop(bb, state, outer, holds, turn, _symbols_in(rest))
        return tuple(found)

    def _scan(self, node: fx.Node) -> Any:
        """A loop along the first axis; what its turns give is written into place."""
        combine, carried, along, *rest = self._retrieve_args(node.args)
        bb = self.block_builder
        state = [bb.normalize_argument(tensor_of(bb, value)) for value in carried]
        given = list(rest[0]) if rest else []
        outer = [value for value in given if isinstance(value, RelaxExpr)]
        infos = self._rows_of(node, len(state))

        def turn(now: Any, slices: Any, around: Any) -> Any:
            left = iter(around)
            more = [next(left) if isinstance(v, RelaxExpr) else v for v in given]
            found = self._call(combine, [*now, *slices, *more])
            values = [bb.normalize_argument(tensor_of(bb, value)) for value in found]
            return values[: len(state)], values[len(state) :]

        last, rows = scan(bb, state, list(along), outer, turn, infos, _symbols_in(rest))
        return tuple([*last, *rows])

    def _rows_of(self, node: fx.Node, states: int) -> list[TensorStructInfo]:
        """What one turn gives, as torch noted it of the whole."""
        return [
            TensorStructInfo([*self._symbols.shape(one.shape[1:])], dtype_name(one.dtype))
            for one in node.meta["val"][states:]
        ]


def _symbols_in(values: Any) -> list[tir.Var]:
    """The symbols of sizes that a graph within the graph is given."""
    flat = [one for part in values for one in part]
    found = [v for one in flat if isinstance(one, PrimExpr) for v in undefined_vars(one)]
    return list(dict.fromkeys(found))


def _placeholders(graph: Any) -> Iterator[Any]:
    return (node for node in graph.nodes if node.op == "placeholder")


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


def _casts(node: fx.Node) -> bool:
    """Whether a node is a part of the program under `autocast` that is not switched off."""
    return target_name(node) == "wrap_with_autocast" and node.args[2] is not False


def _functional(
    program: Any, is_known: Callable[[Any], bool]
) -> tuple[Any, list[int] | None]:
    """The program without writes to tensors, and which of its results are the user's.

    A program that is functional is taken as it is, with all of its results. Casts of `autocast`
    are in none: torch writes them where it traces the program anew.
    """
    nodes = list(_all_nodes(program.graph_module))
    if not any(map(_casts, nodes)):
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
