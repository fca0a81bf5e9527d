"""A StableHLO module as plain records: the only file that speaks with MLIR's bindings.

    func.func @main(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {        Region(arguments=[Value],
      %0 = stablehlo.abs %arg0 : tensor<2x3xf32>                 ->       operations=[Operation(
      return %0                                                             "stablehlo.abs", ...)])
    }

Attributes become integers, texts, lists of integers and arrays; dimension numbers a dictionary.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tvm.error import message

SHORT_FLOATS = {
    "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64",
    "complex<f32>": "complex64", "complex<f64>": "complex128",
}  # fmt: skip


@dataclass(eq=False)
class Value:
    """What an operation gives, or a region takes; None is an extent that is not known."""

    shape: tuple[int | None, ...]
    dtype: str
    name: str = ""  # of parameters


@dataclass(eq=False)
class Operation:
    """One operation, with its location in the source.

    Calls of others have their target in their name: "stablehlo.custom_call @lapack_sgetrf_ffi".
    """

    name: str
    operands: list[Value]
    results: list[Value]
    attrs: dict[str, Any]
    regions: list[Region]
    where: str = ""


@dataclass(eq=False)
class Region:
    """Operations in order; the last one names the results."""

    arguments: list[Value]
    operations: list[Operation] = field(default_factory=list)

    @property
    def results(self) -> list[Value]:
        return self.operations[-1].operands


def read_program(module: Any) -> dict[str, Region]:
    """The functions by name, of MLIR's text or of a module of its bindings; the first is public.

    What has been read already stays as it is.
    """
    if isinstance(module, dict):
        return module
    if not isinstance(module, (str, bytes)) and not hasattr(module, "body"):
        legal = "the text of a module, or a module of MLIR's bindings"
        raise TypeError(message("from_stablehlo", found=type(module).__name__, legal=legal))
    bindings = _bindings()
    if isinstance(module, (str, bytes)):
        module = _parse(module)
    reader = _Reader(bindings)
    functions: dict[str, Region] = {}
    private: dict[str, Region] = {}
    for found in module.body.operations:
        if found.operation.name == "func.func":
            hidden = "sym_visibility" in found.attributes
            hidden = hidden and found.attributes["sym_visibility"].value == "private"
            name = found.attributes["sym_name"].value
            (private if hidden else functions)[name] = reader.function(found.operation)
    if not functions:
        raise ValueError(
            message("from_stablehlo", found="no public function", legal="func.func public @main")
        )
    return {**functions, **private}


def _bindings() -> Any:
    """The names of the dialect; importing them makes its attributes readable."""
    try:
        from jaxlib.mlir.dialects import stablehlo
    except ImportError as error:
        raise ImportError(
            message("from_stablehlo", found="no bindings of MLIR", legal="pip install jax")
        ) from error
    return stablehlo


def _parse(text: str | bytes) -> Any:
    from jax.interpreters import mlir
    from jaxlib.mlir import ir

    with mlir.make_ir_context():
        try:
            return ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(
                message("from_stablehlo", found=str(error), legal="a module of StableHLO")
            ) from error


class _Reader:
    """Values keep their identity across the operations that use them."""

    def __init__(self, bindings: Any) -> None:
        self._values: dict[Any, Value] = {}
        self._bindings = bindings

    def function(self, op: Any) -> Region:
        """The body of a function; its parameters have names.

        MLIR numbers all values of a function to tell one name: others are not asked for theirs.
        """
        (block,) = op.regions[0].blocks
        names = [argument.get_name().lstrip("%") for argument in block.arguments]
        return self.region(op.regions[0], names)

    def region(self, region: Any, names: Sequence[str] = ()) -> Region:
        (block,) = region.blocks
        given = itertools.chain(names, itertools.repeat(""))
        arguments = [self._define(argument, name) for argument, name in zip(block.arguments, given)]
        return Region(arguments, [self._operation(one.operation) for one in block.operations])

    def _define(self, value: Any, name: str = "") -> Value:
        made = Value(_shape(value.type), _dtype(value.type), name)
        self._values[value] = made
        return made

    def _operation(self, op: Any) -> Operation:
        attrs = {name: self._value(op, name) for name in _names(op.attributes)}
        called = f" @{attrs['call_target_name']}" if op.name == "stablehlo.custom_call" else ""
        return Operation(
            op.name + called,
            [self._values[operand] for operand in op.operands],
            [self._define(result) for result in op.results],
            attrs,
            [self.region(region) for region in op.regions],
            str(op.location),
        )

    def _value(self, op: Any, name: str) -> Any:
        try:
            attr = op.attributes[name]
        except TypeError:  # constants of complex numbers have no class in the bindings
            if op.name != "stablehlo.constant":
                raise
            dtype = np.dtype(_dtype(op.results[0].type))
            shape = [int(extent or 0) for extent in _shape(op.results[0].type)]
            return _from_text(str(op), dtype, shape)
        return self._attribute(attr)

    def _attribute(self, attr: Any) -> Any:
        """The attribute in Python's words; its text where there are none."""
        kind = type(attr).__name__
        if kind.startswith("Dense") and kind.endswith("ElementsAttr"):
            return _array(attr)
        if kind.startswith("Dense"):
            return list(attr)
        text = str(attr)
        for key, name in _WITH_NUMBERS.items():
            if text.startswith(f"#stablehlo.{key}<"):
                return _numbers(getattr(self._bindings, name)(attr))
        return getattr(attr, "value", text)


def _names(attributes: Any) -> list[str]:
    """Newer bindings iterate over names, older ones over named attributes."""
    return [getattr(one, "name", one) for one in attributes]


def _shape(kind: Any) -> tuple[int | None, ...]:
    if not hasattr(kind, "is_dynamic_dim"):
        return ()
    dims = range(kind.rank)
    return tuple(None if kind.is_dynamic_dim(i) else kind.get_dim_size(i) for i in dims)


def _dtype(kind: Any) -> str:
    text = str(getattr(kind, "element_type", kind))
    if text in SHORT_FLOATS:
        return SHORT_FLOATS[text]
    if text == "i1":
        return "bool"
    if text.startswith("ui"):
        return "uint" + text[2:]
    if text.startswith("i") and text[1:].isdigit():
        return "int" + text[1:]
    return {"f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2"}.get(text, text)


_NUMBERS = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
    "rhs_contracting_dimensions", "input_batch_dimension", "input_feature_dimension",
    "input_spatial_dimensions", "kernel_input_feature_dimension",
    "kernel_output_feature_dimension", "kernel_spatial_dimensions", "output_batch_dimension",
    "output_feature_dimension", "output_spatial_dimensions", "offset_dims",
    "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims",
    "start_index_map", "index_vector_dim", "update_window_dims", "inserted_window_dims",
    "input_batching_dims", "scatter_indices_batching_dims", "scattered_dims_to_operand_dims",
)  # fmt: skip


_WITH_NUMBERS = {
    "dot": "DotDimensionNumbers", "conv": "ConvDimensionNumbers",
    "gather": "GatherDimensionNumbers", "scatter": "ScatterDimensionNumbers",
}  # fmt: skip


def _numbers(attr: Any) -> dict[str, Any]:
    found = {name: getattr(attr, name) for name in _NUMBERS if hasattr(attr, name)}
    return {name: v if isinstance(v, int) else [int(i) for i in v] for name, v in found.items()}


def _array(attr: Any) -> np.ndarray[Any, np.dtype[Any]]:
    """The numbers of a constant; formats that buffers have no letter for go one by one."""
    from tvm.relax.numpy_dtype import numpy_dtype
    from tvm.support.dtype import DataType

    dtype = np.dtype(numpy_dtype(DataType(_dtype(attr.type))))
    shape = [attr.type.get_dim_size(i) for i in range(attr.type.rank)]
    try:
        return np.array(attr).astype(dtype).reshape(shape)
    except (TypeError, ValueError, BufferError):  # no letter for the format
        return _from_text(str(attr), dtype, shape)


def _from_text(text: str, dtype: Any, shape: list[int]) -> np.ndarray[Any, np.dtype[Any]]:
    """`dense<[1.5, 2.0]> : ...`; large ones are the bytes in base 16, `dense<"0x3FC0...">`.

    Complex numbers are pairs, `(1.0,2.0)`.
    """
    inner = text[text.index("<") + 1 : text.rindex(">", 0, text.rindex(" : "))]
    if inner.startswith('"0x'):
        return np.frombuffer(bytes.fromhex(inner[3:-1]), dtype).reshape(shape)
    if dtype.kind == "c":
        part = np.dtype(f"float{dtype.itemsize * 4}")
        pairs = _from_text(f"<{inner.replace('(', '').replace(')', '')}> : ", part, [-1])
        made = np.ascontiguousarray(pairs).view(dtype)
        return np.full(shape, made[0]) if made.size == 1 else made.reshape(shape)
    width = dtype.itemsize
    words = inner.replace("[", " ").replace("]", " ").replace(",", " ").split()
    made = np.array(
        [
            np.frombuffer(int(word, 16).to_bytes(width, "little"), dtype)[0]
            if word.startswith("0x")
            else dtype.type(float(word))
            for word in words
        ],
        dtype,
    )
    return np.full(shape, made[0]) if made.size == 1 and shape != [-1] else made.reshape(shape)
