"""What both importers of torch's graphs share: nodes one by one, each with its line as the span."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from tvm.error import (
    OpAttributeUnImplemented,
    OpError,
    OpNotImplemented,
    TVMError,
    message,
)
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.span import SourceName, Span, span_scope
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Tuple, Var, convert_to_expr
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.fit_operands import with_fitting_operands
from tvm.support.suggest import near_names

from .complex_numbers import complex_form, is_complex
from .dtypes import COMPLEX, dtype_name, tensor_constant
from .registry import Converter, functions, spellings
from .values import size_of

if TYPE_CHECKING:
    from torch import fx

# options that say nothing about values
_SILENT: Final = frozenset(
    {
        "_stacklevel", "async", "antialias", "copy", "device", "foreach", "generator", "implicit",
        "inplace", "layout", "memory_format", "non_blocking", "out", "pin_memory",
        "requires_grad", "size_average", "reduce", "training",
    }
)  # fmt: skip
_SAME: Final = {"self": "input", "axis": "dim", "keepdims": "keepdim", "x": "input"}


class UnsupportedOperators(OpNotImplemented, AssertionError):
    """Operators of a graph that have no converter, all at once."""


class OpConversionError(OpError, ValueError):
    """A node whose inputs or options do not fit together."""


class UnsupportedOption(OpConversionError, OpAttributeUnImplemented):
    """A node with an option that Relax has no meaning for."""


class BaseFXGraphImporter:
    """Converters by name, and the values of the nodes that have been converted.

    `convert_map` takes a node to its value; `env` holds the values; `params` the parameters;
    `block_builder` the function that is being made.
    """

    def __init__(self) -> None:
        self.env: dict[fx.Node, Any] = {}
        self.params: dict[Any, RelaxExpr] = {}
        self.block_builder: BlockBuilder = BlockBuilder()
        self.convert_map: dict[Any, Callable[[fx.Node], Any]] = self.create_convert_map()

    # --- small questions ---

    @staticmethod
    def _convert_data_type(input_type: Any, env: Any = None) -> str:
        """The name of a data type of torch."""
        known = env is not None and input_type in env
        return dtype_name(env[input_type] if known else input_type)

    @staticmethod
    def _convert_torch_tensor_to_relax(tensor: Any) -> Constant:
        """A tensor of torch as a constant."""
        return tensor_constant(tensor)

    @staticmethod
    def shape_of(tensor: Any) -> Any:
        """The shape of a Relax expression or of a tensor of torch."""
        if isinstance(tensor, RelaxExpr):
            info = tensor.struct_info
            if not isinstance(info, TensorStructInfo):
                raise TypeError(message("shape_of", found=str(info), legal="a tensor"))
            return info.shape
        if hasattr(tensor, "shape"):
            return tensor.shape
        raise ValueError(message("shape_of", found=type(tensor).__name__, legal="a tensor"))

    def retrieve_args(self, node: fx.Node) -> Any:
        """The arguments of a node, with the values of the nodes among them."""
        return self._retrieve_args(node.args)

    def _retrieve_args(self, value: Any) -> Any:
        if _is_node(value):
            return self.env[value]
        if isinstance(value, tuple):
            return tuple(self._retrieve_args(one) for one in value)
        if isinstance(value, list):
            return [self._retrieve_args(one) for one in value]
        if isinstance(value, dict):
            return {key: self._retrieve_args(one) for key, one in value.items()}
        if isinstance(value, slice):
            return slice(*(self._retrieve_args(v) for v in (value.start, value.stop, value.step)))
        return value

    # --- converters ---

    def create_convert_map(self) -> dict[Any, Callable[[fx.Node], Any]]:
        """A function from nodes to values for each operator, by torch's name without overloads."""
        known = {
            name: functools.partial(self._convert_function, converter)
            for name, converter in functions().items()
        }
        return {**known, "split": self._split, "unsafe_split": self._split}

    def _find(self, names: Iterable[str]) -> Callable[[fx.Node], Any] | None:
        """The converter of the first spelling that has one."""
        for name in names:
            for spelling in spellings(name):
                found = self.convert_map.get(spelling)
                if found is not None:
                    return found
        return None

    def _convert_function(self, converter: Converter, node: fx.Node) -> Any:
        args, kwargs = self._arguments(node)
        if is_complex([*args, *kwargs.values()]):
            converter = complex_form(target_name(node), converter)
        return converter(self.block_builder, *args, **_accepted(converter, kwargs))

    def _split(self, node: fx.Node) -> Any:
        """Along an open axis there are as many pieces as torch has fixed."""
        args, kwargs = self._arguments(node)
        made = node.meta.get("val", node.meta.get("example_value"))
        converter = functions()["split"]
        if is_complex(args):
            return self._convert_function(converter, node)
        pieces = len(made) if isinstance(made, (tuple, list)) else None
        return converter(
            self.block_builder, *args, **_accepted(converter, kwargs), pieces=pieces
        )

    def _arguments(self, node: fx.Node) -> tuple[list[Any], dict[str, Any]]:
        args = [_plain(arg) for arg in self._retrieve_args(node.args)]
        given = self._retrieve_args(node.kwargs)
        return args, {name: _plain(value) for name, value in given.items()}

    # --- nodes ---

    def _emitted(self, value: Any) -> Any:
        """The value with its expressions bound to variables."""
        if isinstance(value, (tuple, list)):
            return tuple(self._emitted(one) for one in value)
        if isinstance(value, PrimExpr):
            return size_of(self.block_builder.analyzer.simplify(value))
        if not isinstance(value, RelaxExpr) or isinstance(value, (Var, Constant)):
            return value
        normal = self.block_builder.normalize(value)
        if isinstance(normal, (Var, Constant)):
            return normal
        return self.block_builder.emit(
            with_fitting_operands(self.block_builder, normal, normal)
        )

    def _convert_node(self, node: fx.Node, converter: Callable[[fx.Node], Any]) -> None:
        """Bind a node's value; an error says which node, and the line it came from."""
        span = node_span(node)
        with span_scope(span):
            try:
                self.env[node] = self._emitted(converter(node))
            except OpConversionError:
                raise
            except _CAUGHT as err:
                kind = UnsupportedOption if isinstance(err, NotImplementedError) else None
                raise (kind or OpConversionError)(
                    message(
                        f"torch: node {node.name!r} ({target_name(node)}) cannot be converted",
                        found=f"{type(err).__name__}: {err}"
                        if isinstance(err, (KeyError, AttributeError, AssertionError))
                        else str(err),
                        where=source_location(node),
                    )
                ) from err

    def _getitem(self, node: fx.Node) -> Any:
        """A part of a tuple; parts that nobody asked for are not computed."""
        source: Any = node.args[0]
        index = self._retrieve_args(node.args[1])
        value = self._retrieve_args(source)
        if not (isinstance(value, tuple) and isinstance(index, int)):
            converter = functions()["getitem"]
            return converter(self.block_builder, value, _plain(index))
        part = value[index]
        if _is_deferred(part):
            if not node.users:
                return part
            part = self._emitted(part())
            if _is_node(source):
                parts = list(value)
                parts[index] = part
                self.env[source] = tuple(parts)
        return part

    def _check_unsupported(self, missing: dict[str, list[fx.Node]]) -> None:
        """Refuse a graph with all operators at once that have no converter."""
        if not missing:
            return
        shown = []
        for name, nodes in sorted(missing.items()):
            locations = dict.fromkeys(source_location(node) or node.name for node in nodes)
            shown.append(f"{name}: {', '.join(list(locations)[:3])}")
        known = {str(name) for name in self.convert_map}
        near = [n for name in missing for n in near_names(name.partition(".")[0], known)]
        raise UnsupportedOperators(
            message(
                f"Unsupported function types {sorted(missing)}",
                found=f"{len(missing)} without a converter:\n" + "\n".join(shown),
                legal=f"{len(known)} operators are known"
                + (f", among them {', '.join(dict.fromkeys(near))}" if near else ""),
            )
        )

    # --- the result ---

    def _result(self, value: Any) -> Any:
        """What a function returns, as an expression: numbers become values, lists tuples."""
        if _is_deferred(value):
            value = self._emitted(value())
        if isinstance(value, (tuple, list)):
            return Tuple([self._result(one) for one in value])
        if isinstance(value, dict):
            return Tuple([self._result(one) for one in value.values()])
        if isinstance(value, RelaxExpr):
            return value
        if isinstance(value, (PrimExpr, int, float)):
            return convert_to_expr(value)
        if value is None:
            return op.null_value()
        shown, legal = repr(value), "tensors, numbers"
        if is_complex(value):
            shown, legal = "complex numbers", "torch.view_as_real of them"
        raise OpConversionError(message("torch: a result of the graph", found=shown, legal=legal))

    def _emit_result(
        self, value: Any, unwrap_unit_return_tuple: bool, no_bind_return_tuple: bool
    ) -> Any:
        """The result in a dataflow block, as one variable or as one for each part."""
        bb = self.block_builder
        if not isinstance(value, (tuple, list, dict)):
            return bb.emit_output(self._result(value))
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        if unwrap_unit_return_tuple and len(parts) == 1:
            return bb.emit_output(self._result(parts[0]))
        if no_bind_return_tuple:
            return [bb.emit_output(self._result(part)) for part in parts]
        return bb.emit_output(self._result(parts))


_CAUGHT: Final = (
    TVMError, TypeError, ValueError, IndexError, KeyError, AttributeError, AssertionError,
    NotImplementedError, ArithmeticError,
)  # fmt: skip


@functools.cache
def _parameters(converter: Converter) -> tuple[frozenset[str], bool]:
    """The names that a converter takes, and whether it takes any."""
    parameters = inspect.signature(converter).parameters.values()
    named = frozenset(p.name for p in parameters)
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def _accepted(converter: Converter, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Options under the converter's names, without those that say nothing about values."""
    named, everything = _parameters(converter)
    accepted = {}
    for name, value in kwargs.items():
        if name not in named:
            if name in _SAME and _SAME[name] in named:
                name = _SAME[name]
            elif name in _SILENT or (everything and value is None):
                continue
        accepted[name] = value
    return accepted


def _is_deferred(value: Any) -> bool:
    """Whether this is a result that is computed when it is used (expressions can be called)."""
    return callable(value) and not isinstance(value, RelaxExpr)


def _is_node(value: Any) -> bool:
    return type(value).__module__ == "torch.fx.node" and type(value).__name__ == "Node"


def _plain(value: Any) -> Any:
    """Torch's own small values as Python's: data types and devices as names, lists of sizes."""
    if isinstance(value, (RelaxExpr, PrimExpr, int, float, str)) or value is None:
        return value
    if isinstance(value, (tuple, list)):
        return type(value)(_plain(one) for one in value) if type(value) in (tuple, list) else tuple(
            _plain(one) for one in value
        )
    if isinstance(value, slice):
        return value
    kind = type(value)
    if kind.__module__ == "torch":
        if kind.__name__ == "dtype":
            name = str(value).removeprefix("torch.")
            return name if name in COMPLEX else dtype_name(value)
        if kind.__name__ == "device":
            return str(value.type)
        if kind.__name__ in ("memory_format", "layout"):
            return None
    return value


def target_name(node: fx.Node) -> str:
    """What a node calls, as its converter is named."""
    target = node.target
    if isinstance(target, str):
        return target
    return str(getattr(target, "__name__", None) or getattr(target, "_name", target))


# --- where a node came from ---

_FRAME: Final = re.compile(r'File "([^"]*)", line (\d+)[^\n]*\n?\s*([^\n]*)')


@functools.lru_cache(maxsize=4096)
def _frame(trace: str) -> tuple[str, int, str] | None:
    """File, line and text of the last frame that is not torch's own."""
    found = _FRAME.findall(trace)
    inside = (f"{os.path.dirname(str(sys.modules['torch'].__file__))}{os.sep}", "torch/", "<")
    own = [frame for frame in found if not frame[0].startswith(inside)]
    for file, line, text in reversed(own or found):
        return file, int(line), text.strip()
    return None


def node_span(node: fx.Node) -> Span:
    """The user's line; without one the node's name."""
    frame = _frame(node.meta.get("stack_trace") or "")
    if frame is None:
        return Span(SourceName(node.name), 1, 1, 1, 1)
    file, line, _ = frame
    return Span(SourceName(file), line, line, 1, 1)


def source_location(node: fx.Node) -> str | None:
    """`file:line: text` of the user's line."""
    frame = _frame(node.meta.get("stack_trace") or "")
    return None if frame is None else f"{frame[0]}:{frame[1]}: {frame[2]}".rstrip(": ")

