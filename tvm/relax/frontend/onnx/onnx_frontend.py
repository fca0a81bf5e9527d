"""The importer under the module name that TVM gives it, with its classes and its small helpers.

Each operator has a class here by its name: `onnx_frontend.Softmax.get_converter(13)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from tvm.error import TVMError, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax import expr as relax_expr
from tvm.relax.expr import ShapeExpr, Var, const
from tvm.tir.expr import SizeVar

from .attributes import dtype_name, tensor_array
from .dimensions import UNKNOWN, read_expression
from .importer import from_onnx
from .op_converters import BASES, OnnxOpConverter, convert_map

__all__ = [
    "ONNXGraphImporter", "OnnxOpConverter", "from_onnx", "get_constant", "get_info", "get_numpy",
    "get_prim_expr_list", "get_prim_value_list", "get_type", "get_value", "onnx_input",
    "parse_shape_name",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    bases: dict[str, type[OnnxOpConverter]] = {base.__name__: base for base in BASES}
    found = bases.get(name)
    if found is None and not name.startswith("_"):
        found = convert_map().get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    bases = [base.__name__ for base in BASES]
    return sorted({*globals(), *bases, *(n for n in convert_map() if n.isidentifier())})


def _get_convert_map() -> dict[str, type[OnnxOpConverter]]:
    """The classes of all operators that have a converter, by the operators' names."""
    return dict(convert_map())


class onnx_input(list[Any]):
    """Inputs of a node, of which those behind the last one are None."""

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, slice):
            end = len(self) if item.stop is None else item.stop
            return [self[i] for i in range(*item.indices(max(end, len(self))))]
        if not isinstance(item, int):
            raise TypeError(message("onnx_input: the place", found=repr(item), legal="an integer"))
        return super().__getitem__(item) if item < len(self) else None


def get_type(elem_type: str | int) -> str:
    """The data type behind ONNX's number for it; names of types stay."""
    return elem_type if isinstance(elem_type, str) else dtype_name(elem_type)


def get_value(token: str, value_dict: dict[str, SizeVar]) -> int | SizeVar:
    """The number that `token` is, or the size of that name, which is added to those known.

    Of "?" each is another one.
    """
    if token.strip().lstrip("+-").isdigit():
        return int(token)
    if token not in value_dict or token == UNKNOWN:
        value_dict[token] = SizeVar(token, "int64")
    return value_dict[token]


def parse_shape_name(name: str, value_dict: dict[str, SizeVar]) -> PrimExpr | int:
    """An extent that a model writes as a name, or as arithmetic over names: "H * W"."""
    computed = read_expression(name, lambda word: _size(word, value_dict))
    return get_value(name, value_dict) if computed is None else computed


def _size(word: str, value_dict: dict[str, SizeVar]) -> PrimExpr:
    size = get_value(word, value_dict)
    assert not isinstance(size, int), "words of an expression that are numbers are read as such"
    return size


def get_info(
    info_proto: Any, value_dict: dict[str, SizeVar]
) -> tuple[str, list[Any], str | None, list[Any], dict[str, SizeVar]]:
    """Name, extents, data type and extents as written of a value; and the sizes known now."""
    shape: list[Any] = []
    written: list[Any] = []
    tensor_type = info_proto.type.tensor_type
    for dim in tensor_type.shape.dim:
        known = dim.dim_value > 0
        written.append(dim.dim_value if known else dim.dim_param)
        name = dim.dim_param or UNKNOWN
        shape.append(dim.dim_value if known else parse_shape_name(name, value_dict))
    dtype = get_type(tensor_type.elem_type) if tensor_type.elem_type else None
    return info_proto.name, shape, dtype, written, value_dict


def get_numpy(tensor_proto: Any) -> NDArray[Any]:
    """The values of a tensor proto."""
    return tensor_array(tensor_proto)


def get_constant(
    var: relax_expr.Constant | Var, params: Sequence[dict[str, Any]]
) -> relax_expr.Constant | Var:
    """The constant of a weight; anything else as it is.

    `params` holds the values of the graph and the weights (name: (variable, array)) that are
    parameters still: one that becomes a constant moves from the second to the first.
    """
    values, weights = params
    if not isinstance(var, Var) or var.name_hint not in weights:
        return var
    _, array = weights.pop(var.name_hint)
    values[var.name_hint] = found = const(array)
    return found


def get_prim_expr_list(inputs: RelaxExpr) -> list[Any]:
    """The numbers of a constant vector, or the extents of a shape."""
    if isinstance(inputs, relax_expr.Constant):
        array = inputs.data.numpy()
        if array.ndim != 1:
            raise TVMError(
                message(
                    "get_prim_expr_list: the constant is no vector",
                    found=f"shape {array.shape}",
                    legal="one dimension",
                )
            )
        return [int(value) for value in array]
    if isinstance(inputs, ShapeExpr):
        return list(inputs.values)
    raise TVMError(
        message(
            "get_prim_expr_list: no numbers are known",
            found=type(inputs).__name__,
            legal="relax.Constant or relax.ShapeExpr",
        )
    )


def get_prim_value_list(values: Iterable[Any]) -> list[Any]:
    """Numbers and expressions over sizes as relax.PrimValue; anything else as it is."""
    return [
        relax_expr.PrimValue(value) if isinstance(value, (int, float, PrimExpr)) else value
        for value in values
    ]


class ONNXGraphImporter:
    """What `from_onnx` is told of a model's inputs, for any number of graphs."""

    def __init__(
        self,
        shape_dict: Mapping[str, Sequence[Any]] | None,
        dtype_dict: str | Mapping[str, str] | None,
        keep_params_in_input: bool = False,
        sanitize: bool = True,
    ) -> None:
        self._shapes = shape_dict
        self._dtypes = dtype_dict
        self._keep_params = keep_params_in_input
        self._sanitize = sanitize

    def from_onnx(self, graph: Any, opset: int) -> IRModule:
        """A Relax module that computes the graph of this operator set."""
        return from_onnx(
            graph, self._shapes, self._dtypes, opset, self._keep_params, self._sanitize
        )
