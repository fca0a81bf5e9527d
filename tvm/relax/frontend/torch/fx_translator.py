"""A traced graph (`torch.fx`) as a Relax module with one function, `main`."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import Var, const
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info

from .base_fx_graph_translator import BaseFXGraphImporter, target_name
from .complex_numbers import complex_constant
from .dropout import warn_of_dropouts
from .dtypes import dtype_name, tensor_constant
from .fx_memory import FxMemory
from .modules import ModuleCall
from .registry import Converter, modules

if TYPE_CHECKING:
    from torch import fx

WRITING: Final = frozenset(
    {"iadd", "isub", "imul", "itruediv", "ifloordiv", "iand", "ior", "ixor", "ipow", "setitem"}
)


class MissingInput(TVMError, AssertionError):
    """A graph with more placeholders than inputs were given."""


class TorchFXImporter(BaseFXGraphImporter):
    """Converts a graph of functions of torch, methods of tensors and modules of `torch.nn`."""

    def __init__(self) -> None:
        super().__init__()
        self.named_modules: dict[str, Any] = {}
        self._custom: set[Any] = set()

    def create_input_vars(self, input_info: Sequence[tuple[Sequence[Any], Any]]) -> list[Var]:
        """A variable for each pair of a shape and a data type: inp_0, inp_1, ..."""
        made = []
        for i, given in enumerate(input_info):
            if not isinstance(given, (tuple, list)) or len(given) != 2:
                raise TypeError(
                    message(
                        f"from_fx: input_info[{i}]", found=repr(given),
                        legal="a shape and a data type, as in ((1, 3, 224, 224), 'float32')",
                    )
                )  # fmt: skip
            shape, dtype = given
            made.append(Var(f"inp_{i}", TensorStructInfo(list(shape), dtype_name(dtype))))
        return made

    def create_convert_map(self) -> dict[Any, Callable[[fx.Node], Any]]:
        """Functions and methods by name, and classes of `torch.nn`."""
        import torch

        found: dict[Any, Callable[[fx.Node], Any]] = dict(super().create_convert_map())
        found["getitem"] = self._getitem
        for name, converter in modules().items():
            kind = getattr(torch.nn, name, None)
            if kind is not None:
                found[kind] = functools.partial(self._convert_module, converter)
        return found

    def _arguments(self, node: fx.Node) -> tuple[list[Any], dict[str, Any]]:
        args, kwargs = super()._arguments(node)
        return _by_name(node, args, kwargs)

    def update_convert_map(self, custom_convert_map: Mapping[Any, Callable[..., Any]]) -> None:
        """Converters of the user's: `(node, importer)` to the value of the node."""
        self._custom.update(custom_convert_map)
        for key, converter in custom_convert_map.items():
            self.convert_map[key] = functools.partial(self._convert_custom, converter)

    def _convert_custom(self, converter: Callable[..., Any], node: fx.Node) -> Any:
        return converter(node, self)

    def _convert_module(self, converter: Converter, node: fx.Node) -> Any:
        module = self.named_modules[str(node.target)]
        args, kwargs = self._arguments(node)
        call = ModuleCall(self.block_builder, self._parameter)
        return converter(call, module, *args, **kwargs)

    def _parameter(self, tensor: Any) -> RelaxExpr:
        """A parameter or buffer; a constant the first time that it is asked for."""
        if tensor not in self.params:
            self.params[tensor] = tensor_constant(tensor)
        return self.params[tensor]

    def _converter_of(self, node: fx.Node) -> Callable[[fx.Node], Any] | None:
        if node.op == "call_module":
            module = self.named_modules[str(node.target)]
            found = self.convert_map.get(type(module))
            if found is None and type(module).__module__.startswith("torch.nn."):
                declared = modules().get(type(module).__name__)
                if declared is not None:
                    found = functools.partial(self._convert_module, declared)
            return found
        name = target_name(node)
        names = [name]
        if getattr(node.target, "__module__", None) in ("torch.nn.functional", "torch.functional"):
            names.insert(0, f"{name}.functional")
        elif node.op == "call_method":
            names.insert(0, f"{name}.method")
        return self._find(names)

    def _check_graph(self, graph: fx.Graph) -> None:
        missing: dict[str, list[fx.Node]] = {}
        for node in graph.nodes:
            if not node.op.startswith("call_") or self._converter_of(node) is not None:
                continue
            name = target_name(node)
            if node.op == "call_module":
                name = type(self.named_modules[str(node.target)]).__name__
            missing.setdefault(name, []).append(node)
        self._check_unsupported(missing)

    def _converted_here(self, graph: fx.Graph) -> Iterator[fx.Node]:
        """The nodes that no converter of the user's takes."""
        for node in graph.nodes:
            module = self.named_modules.get(str(node.target)) if node.op == "call_module" else None
            if not self._custom & {type(module), target_name(node)}:
                yield node

    def from_fx(
        self,
        model: Any,
        input_info: Sequence[tuple[Sequence[Any], Any]],
        keep_params_as_input: bool,
        unwrap_unit_return_tuple: bool,
        no_bind_return_tuple: bool,
        custom_convert_map: Mapping[Any, Callable[..., Any]] | None = None,
    ) -> IRModule:
        """The module; see the function of the same name."""
        if custom_convert_map:
            self.update_convert_map(custom_convert_map)
        self.named_modules = dict(model.named_modules())
        self._check_graph(model.graph)
        warn_of_dropouts(self._converted_here(model.graph), self.named_modules)
        inputs = self.create_input_vars(input_info)
        kept = self._kept_params(model) if keep_params_as_input else []
        attrs: dict[str, Any] = {}
        if keep_params_as_input:
            attrs["num_input"] = len(inputs)
            attrs["params"] = tuple(tensor_constant(tensor).data for _, tensor in kept)
        bb = self.block_builder
        with bb.function("main", [*inputs, *(var for var, _ in kept)], attrs):
            with bb.dataflow():
                result = self._run(model, list(inputs))
                output = self._emit_result(
                    result, unwrap_unit_return_tuple, no_bind_return_tuple
                )
            bb.emit_func_output(output)
        return bb.get()

    def _kept_params(self, model: Any) -> list[tuple[Var, Any]]:
        """Variables for the parameters, by name, with their tensors."""
        kept = []
        for name, param in sorted(model.named_parameters(), key=lambda pair: str(pair[0])):
            var = Var(name, TensorStructInfo(list(param.shape), dtype_name(param.dtype)))
            self.params[param] = var
            kept.append((var, param))
        return kept

    def _run(self, model: Any, inputs: list[Var]) -> Any:
        from torch import fx

        count = len(inputs)
        memory = FxMemory(self.env, self.named_modules)
        infos = [tir_vars_in_struct_info(var.struct_info) for var in inputs]
        sizes = {symbol.name: symbol for found in infos for symbol in found}
        for node in model.graph.nodes:
            if node.op == "placeholder":
                if _is_number(node):
                    self._bind_size(node, sizes)
                    continue
                if not inputs:
                    raise MissingInput(
                        message(
                            f"from_fx: the graph's input {node.name!r} has no entry in input_info",
                            found=f"{count} entries",
                            legal="one entry an input",
                        )
                    )
                self.env[node] = inputs.pop(0)
            elif node.op == "output":
                return fx.node.map_arg(node.args[0], self._returned)
            elif node.op == "get_attr":
                self.env[node] = self._fetch_attr(model, str(node.target))
            else:
                converter = self._converter_of(node)
                assert converter is not None, "operators were checked before"
                self._convert_node(node, converter)
                self._write_through(node, memory)
        raise AssertionError("a graph has an output")

    def _returned(self, node: fx.Node) -> Any:
        """A value that is a result: all sizes of a tensor are a shape, known numbers scalars."""
        value = self.env[node]
        if _is_size(node):
            return ShapeExpr(list(value))
        name = target_name(node)
        if isinstance(value, int) and name == "numel":
            return const(value, "int32")
        if isinstance(value, int) and name.startswith("sym_size"):
            return self.block_builder.emit(const(value, "int32"))
        return value

    def _bind_size(self, node: fx.Node, sizes: Mapping[str, Any]) -> None:
        """An input that is a number: an extent of a tensor, or else fixed and guarded by torch."""
        size = node.meta.get("example_value", node.meta.get("val"))
        size = node.meta["grapharg"].example if size is None else size
        found = sizes.get(str(size))
        if found is not None or node.users:
            self.env[node] = size.__index__() if found is None else found

    def _fetch_attr(self, model: Any, target: str) -> Any:
        found = operator.attrgetter(target)(model)
        if not hasattr(found, "detach"):
            return found
        return complex_constant(found) if found.is_complex() else self._parameter(found)

    def _write_through(self, node: fx.Node, memory: FxMemory) -> None:
        """An operator that writes to its first operand: later readers see what it wrote."""
        written: Any = node.args[0] if node.args else None
        value = self.env[node]
        if written not in self.env or not self._writes(node) or not isinstance(value, RelaxExpr):
            memory.note(node)
            return
        memory.write(node, written, value, self._convert_anew)

    def _writes(self, node: fx.Node) -> bool:
        """Whether a node writes to its first operand."""
        if node.op == "call_module":
            return bool(getattr(self.named_modules[str(node.target)], "inplace", False))
        name = target_name(node)
        _, options = _by_name(node, list(node.args), dict(node.kwargs))
        if name in WRITING or options.get("inplace"):
            return True
        named = name.endswith("_") and not name.endswith("__")
        return named and name not in ("and_", "or_", "not_", "is_", "requires_grad_")

    def _convert_anew(self, node: fx.Node) -> None:
        """A node's value of what its operands are now."""
        converter = self._converter_of(node)
        assert converter is not None, "operators were checked before"
        self._convert_node(node, converter)


def _is_number(node: fx.Node) -> bool:
    """Whether an input of a graph that torch has compiled from a function is no tensor."""
    if "grapharg" in node.meta:
        return node.meta["grapharg"].fake_tensor is None
    return isinstance(node.meta.get("val"), (int, float)) or hasattr(node.meta.get("val"), "node")


def _is_size(node: fx.Node) -> bool:
    """Whether a node is `x.size()` or `x.shape`."""
    name = target_name(node)
    if name == "size":
        return len(node.args) == 1 and not node.kwargs
    return name == "getattr" and node.args[1:] == ("shape",)


def _by_name(
    node: fx.Node, args: list[Any], kwargs: dict[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Arguments of `torch.nn.functional` by their names there; other calls stay as they are."""
    target = node.target
    if not isinstance(target, FunctionType) or target.__module__ != "torch.nn.functional":
        return args, kwargs
    names = _signature(target)
    if names is None or len(args) > len(names):
        return args, kwargs
    return [], {**dict(zip(names, args)), **kwargs}


@functools.cache
def _signature(func: FunctionType) -> tuple[str, ...] | None:
    """The names of a function's parameters; None if it takes any number of them."""
    parameters = inspect.signature(func).parameters.values()
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return tuple(p.name for p in parameters)


def from_fx(
    model: Any,
    input_info: Sequence[tuple[Sequence[Any], Any]],
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[Any, Callable[..., Any]] | None = None,
) -> IRModule:
    """A Relax module with a function `main` that computes a torch.fx.GraphModule.

    `input_info` has a shape and a data type for each input. Weights become constants, or with
    `keep_params_as_input` parameters after the inputs (their values in the attribute `params`).
    Where the graph gives a tuple, `unwrap_unit_return_tuple` gives the only tensor of a tuple of
    one, and `no_bind_return_tuple` binds the results one by one. `custom_convert_map` adds
    converters, `(node, importer)` to a value, by name of function or method or by module class.
    """
    if not hasattr(model, "graph"):
        raise TypeError(
            message(
                "from_fx: the model",
                found=type(model).__name__,
                legal="a torch.fx.GraphModule, as torch.fx.symbolic_trace(model) gives it",
            )
        )
    return TorchFXImporter().from_fx(
        model,
        input_info,
        keep_params_as_input,
        unwrap_unit_return_tuple,
        no_bind_return_tuple,
        custom_convert_map,
    )
