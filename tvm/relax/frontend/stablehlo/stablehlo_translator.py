"""Programs of StableHLO to Relax: one dataflow block, functions that it calls written out.

    func.func public @main(%arg0: tensor<2x3xf32>)      def main(arg0: R.Tensor((2, 3), "float32")):
      %0 = stablehlo.abs %arg0                     ->       with R.dataflow():
      return %0                                                 lv = R.abs(arg0)
                                                                gv = lv
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tvm import tir
from tvm.error import OpError, OpNotImplemented, TVMError, message
from tvm.ir.module import IRModule
from tvm.ir.span import SourceName, Span, span_scope
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Constant, Tuple, Var
from tvm.relax.struct_info import TensorStructInfo

from .complex_numbers import PARTS, Complex, complex_form, is_complex
from .program import Operation, Region, Value, read_program
from .regions import SCALAR_REGIONS, SCALARS
from .registry import Converter, converters

InputInfo = Sequence[tuple[Sequence[int], str]]
_CAUGHT = (TVMError, TypeError, ValueError, LookupError, ArithmeticError)


class OpConversionError(OpError, ValueError):
    """An operation whose operands or attributes do not fit together."""


class StableHLOImporter:
    """The values of what has been converted, and the function that is being made."""

    def __init__(self) -> None:
        self.env: dict[Value, Any] = {}
        self.functions: dict[str, Region] = {}
        self.block_builder = BlockBuilder()
        self.calling: list[str] = []
        self._symbols = 0
        self.convert_map: dict[str, Callable[[Operation], Any]] = self.create_convert_map()

    # --- what converters ask ---

    def create_convert_map(self) -> dict[str, Callable[[Operation], Any]]:
        """A function from an operation to its value, by the operation's name."""
        return {name: functools.partial(self._made, made) for name, made in converters().items()}

    def _made(self, converter: Converter, node: Operation) -> Any:
        operands = self.retrieve_operands(node)
        if is_complex(node, operands):
            converter = complex_form(node, converter)
        return converter(self, node, *operands)

    def retrieve_operands(self, node: Operation) -> list[Any]:
        """The values of the operands."""
        return [self.env[operand] for operand in node.operands]

    def get_shape(self, inpt_type: Any) -> list[Any]:
        """The extents of a type, with a new symbol for each that is not known."""
        extents: list[Any] = []
        for extent in getattr(inpt_type, "shape", inpt_type):
            if extent is None or (isinstance(extent, int) and extent < 0):
                extent = tir.Var(f"n_{self._symbols}", "int64")
                self._symbols += 1
            extents.append(extent)
        return extents

    def emit(self, expr: Any) -> Any:
        """The expression, bound; constants and variables stay themselves."""
        if isinstance(expr, Complex):
            return Complex(self.emit(expr.re), self.emit(expr.im))
        return expr if isinstance(expr, (Var, Constant)) else self.block_builder.emit(expr)

    def run(self, region: Region, arguments: Sequence[Any]) -> list[Any]:
        """The results of a region, with its operations in the function that is being made."""
        self.env.update(zip(region.arguments, arguments))
        for node in region.operations[:-1]:
            with span_scope(_span(node)):
                self._convert(node)
        return [self.env[value] for value in region.results]

    def _convert(self, node: Operation) -> None:
        try:
            made = self.convert_map[node.name](node)
        except OpConversionError:
            raise
        except _CAUGHT as error:
            asked = f"from_stablehlo: {node.name} cannot be converted"
            raise OpConversionError(message(asked, found=str(error), where=node.where)) from error
        many = made if isinstance(made, (list, tuple)) else [made]
        for value, expr in zip(node.results, many):
            self.env[value] = self.emit(expr)

    # --- a program ---

    def from_stablehlo(self, model: Any, input_info: InputInfo | None = None) -> IRModule:
        """The module with the first public function of the program as `main`."""
        self.functions = read_program(model)
        entry = next(iter(self.functions.values()))
        self._refuse_unknown()
        params = self._params(entry.arguments, input_info)
        bb = self.block_builder
        with bb.function("main", params):
            with bb.dataflow():
                results = self.run(entry, params)
                if any(isinstance(result, Complex) for result in results):
                    raise _complex("a result")
                out = bb.emit_output(results[0] if len(results) == 1 else Tuple(results))
            bb.emit_func_output(out)
        return bb.get()

    def _params(self, arguments: list[Value], input_info: InputInfo | None) -> list[Var]:
        infos = [(value.shape, value.dtype) for value in arguments]
        if input_info is not None:
            if len(input_info) != len(infos):
                found = f"{len(input_info)} of input_info, {len(infos)} parameters"
                raise ValueError(message("from_stablehlo", found=found, legal="one for each"))
            infos = [(tuple(shape), dtype) for shape, dtype in input_info]
        params = []
        for index, (value, (shape, dtype)) in enumerate(zip(arguments, infos)):
            if dtype in PARTS:
                raise _complex(f"parameter {value.name or index}")
            param = Var(value.name or f"arg{index}", TensorStructInfo(self.get_shape(shape), dtype))
            self.env[value] = param
            params.append(param)
        return params

    def _refuse_unknown(self) -> None:
        """Name all operators without a converter at once."""
        missing: dict[str, str] = {}
        todo = [(region, set(self.convert_map)) for region in self.functions.values()]
        while todo:
            region, known = todo.pop()
            for node in region.operations[:-1]:
                inner = set(SCALARS) if node.name in SCALAR_REGIONS else known
                todo += [(part, inner) for part in node.regions]
                if node.name not in known:
                    missing.setdefault(node.name, node.where)
        if missing:
            raise OpNotImplemented(
                message(
                    f"from_stablehlo: operators {sorted(missing)}",
                    found="\n".join(f"{name} at {where}" for name, where in missing.items()),
                    legal=", ".join(sorted(self.convert_map)),
                )
            )


def _complex(what: str) -> OpNotImplemented:
    return OpNotImplemented(
        message(
            f"from_stablehlo: {what} of the program",
            found="complex numbers",
            legal="their parts: jnp.real and jnp.imag of them, jax.lax.complex of tensors",
        )
    )


def _span(node: Operation) -> Span:
    """MLIR's location as the source."""
    return Span(SourceName(node.where or node.name), 1, 1, 1, 1)


def from_stablehlo(stablehlo_module: Any, input_info: InputInfo | None = None) -> IRModule:
    """The Relax module of a StableHLO module: its text, or a module of MLIR's bindings.

    `input_info` has a shape and a dtype for each parameter, where they are not to be those of
    the program.
    """
    return StableHLOImporter().from_stablehlo(stablehlo_module, input_info)
