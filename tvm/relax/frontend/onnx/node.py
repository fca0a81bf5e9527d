"""One ONNX node as a converter sees it: inputs, attributes, and what is known while importing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import tir
from tvm.error import OpAttributeInvalid, OpAttributeRequired, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo

from .scope import Ref, Scope

if TYPE_CHECKING:
    from .graph import GraphReader, Subgraph

# Values known while importing: numbers, or for sizes expressions over the model's symbolic sizes.
MAX_SIZES = 4096  # of one shape, or of one list of numbers: each may become a symbol
Known = Any  # numpy array of int64 or of objects


class Node:
    """A node that is being converted.

    `node[i]` is an input as a normalised expression; it is made when it is first asked for, so that
    sizes which only importing needs leave no tensor behind. An input left out has no name.
    `known(i)` is the value of an input where it does not depend on data: shapes, axes, pads.
    """

    def __init__(
        self,
        proto: Any,
        name: str,
        attrs: dict[str, Any],
        opset: int,
        reader: GraphReader,
        scope: Scope,
    ) -> None:
        self.op_type = str(proto.op_type)
        self.domain = str(proto.domain)
        self.name = name
        self.bb = reader.bb
        self.inputs = list(proto.input)
        self.outputs = list(proto.output)
        self.attrs = attrs
        self.opset = opset
        self.reader = reader
        self.scope = scope
        self.output_count = len(self.outputs)
        self._replaced: dict[int, RelaxExpr] = {}

    # --- inputs ---

    def __getitem__(self, i: int) -> RelaxExpr:
        """Input number `i`, which must be there."""
        value = self.optional(i)
        if value is None:
            raise OpAttributeRequired(self._message(f"input number {i} is missing"))
        return value

    def optional(self, i: int) -> RelaxExpr | None:
        """Input number `i`, or None when it is left out."""
        if i in self._replaced:
            return self._replaced[i]
        return self.scope.read(self.inputs[i], self.bb) if self.has(i) else None

    def replace(self, i: int, value: RelaxExpr) -> None:
        """Take another expression for input `i`: the same tensor, with more known of it."""
        self._replaced[i] = value

    def has(self, i: int) -> bool:
        """Whether input number `i` is given."""
        return i < len(self.inputs) and self.inputs[i] != ""

    def wants(self, i: int) -> bool:
        """Whether a node or the graph reads output number `i`."""
        return i < len(self.outputs) and self.scope.is_read(self.outputs[i])

    def known(self, i: int) -> Known | None:
        """The value of input `i` if importing can know it: a numpy array."""
        return self.scope.known.get(self.inputs[i]) if self.has(i) else None

    def ref(self, i: int) -> Ref:
        """Input number `i`, which must be there, without making a tensor of it."""
        if not self.has(i):
            raise OpAttributeRequired(self._message(f"input number {i} is missing"))
        return Ref(self.scope, self.inputs[i])

    def is_text(self, i: int) -> bool:
        """Whether input `i` holds strings, as their codes (`tvm.runtime.strings`)."""
        return self.has(i) and self.scope.is_text(self.inputs[i])

    def integers(self, i: int, what: str) -> list[int]:
        """The integers of an input that must be known, such as axes."""
        value = self.known(i)
        if value is None or any(isinstance(v, PrimExpr) for v in value.reshape(-1)):
            raise OpAttributeInvalid(
                self._message(f"{what} (input {i}) must be constant", "the model computes it")
            )
        return [int(v) for v in value.reshape(-1)]

    def sizes(self, i: int, what: str) -> list[PrimExpr | int]:
        """The sizes of an input that must be known, perhaps symbolic."""
        value = self.known(i)
        if value is None:
            raise OpAttributeInvalid(
                self._message(
                    f"{what} (input {i}) must follow from shapes", "the model computes it"
                )
            )
        self.bounded(value.size)
        return [v if isinstance(v, PrimExpr) else int(v) for v in value.reshape(-1)]

    def numbers(self, i: int, what: str, count: int | None = None) -> list[PrimExpr | int]:
        """The integers of an input: known, of sizes, or symbols that running gives values.

        `count` says how many there must be, which is checked as it runs if no shape tells.
        """
        if self.known(i) is not None:
            return self.sizes(i, what)
        value: RelaxExpr = self.bb.emit(op.astype(self[i], "int64"))
        value = self.bb.emit(op.reshape(value, [-1]))
        if count is not None:
            value = self.counted(value, count)
        return list(self.run_time_sizes(value))

    def counted(self, value: RelaxExpr, count: int) -> RelaxExpr:
        """A tensor of one axis, checked to have so many elements as it runs if no shape tells."""
        info = self.bb.normalize(value).struct_info
        assert isinstance(info, TensorStructInfo), "ONNX values are tensors"
        if isinstance(info.shape, ShapeExpr) and isinstance(info.shape.values[0], tir.IntImm):
            return value
        return self.bb.match_cast(value, TensorStructInfo([count], info.dtype))

    def count(self, i: int) -> int:
        """How many sizes a tensor input (n,) has."""
        shape = self.shape(i)
        if len(shape) != 1 or not isinstance(shape[0], tir.IntImm):
            raise self.unfit(i, "of one axis, whose extent is known", shape)
        self.bounded(shape[0].value)
        return int(shape[0].value)

    def bounded(self, count: int) -> None:
        """Refuse more sizes than any model means."""
        if count > MAX_SIZES:
            raise OpAttributeInvalid(
                self._message(f"at most {MAX_SIZES:,} sizes", f"a tensor of {count:,} sizes")
            )

    def run_time_sizes(self, value: RelaxExpr) -> list[tir.Var]:
        """The elements of a tensor (n,) of int64 as symbols, which get their values as it runs."""
        info = self.bb.normalize(value).struct_info
        shape_of = info.shape if isinstance(info, TensorStructInfo) else None
        extents = shape_of.values if isinstance(shape_of, ShapeExpr) else ()
        if len(extents) != 1 or not isinstance(extents[0], tir.IntImm):
            raise OpAttributeInvalid(
                self._message(
                    "how many sizes it takes must follow from shapes",
                    f"sizes of the shape {tuple(extents) if shape_of is not None else 'unknown'}",
                )
            )
        count = int(extents[0].value)
        self.bounded(count)
        symbols = [tir.Var("size", "int64") for _ in range(count)]
        if symbols:
            shape = self.bb.emit(op.tensor_to_shape(value))
            self.bb.match_cast(shape, ShapeStructInfo(symbols))
        return symbols

    def info(self, i: int) -> TensorStructInfo:
        """The struct info of a tensor input."""
        info = self[i].struct_info
        assert isinstance(info, TensorStructInfo), "ONNX values are tensors"
        return info

    def rank(self, i: int) -> int:
        """The number of dimensions of an input, which must be known."""
        ndim = self.info(i).ndim
        if ndim < 0:
            raise OpAttributeInvalid(self._message(f"the rank of input {i} must be known"))
        return ndim

    def shape(self, i: int) -> tuple[PrimExpr, ...]:
        """The extents of an input, which must be known."""
        shape = self.info(i).shape
        if not isinstance(shape, ShapeExpr):
            raise OpAttributeInvalid(self._message(f"the shape of input {i} must be known"))
        return shape.values

    def dtype(self, i: int = 0) -> str:
        """The data type of an input."""
        return str(self.info(i).dtype)

    def scalar(self, i: int) -> float | int | None:
        """The number in a constant input of one element, or None."""
        value = self.optional(i)
        if isinstance(value, Constant) and value.data.numpy().size == 1:
            number: float | int = value.data.numpy().reshape(-1)[0].item()
            return number
        return None

    # --- attributes ---

    def graph(self, name: str) -> Subgraph:
        """The graph in an attribute, which must be there."""
        from .graph import Subgraph  # graphs hold nodes, nodes hold graphs

        if not hasattr(self.attrs.get(name), "node"):
            raise OpAttributeRequired(self._message(f"the graph {name!r} is missing"))
        return Subgraph(self.reader, self.attrs[name], self.scope, f"{self.name}/{name}")

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, or the default that the operator set gives it."""
        return self.attrs.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that must be there."""
        if name not in self.attrs:
            raise OpAttributeRequired(self._message(f"attribute {name!r} is missing"))
        return self.attrs[name]

    def axis(self, default: int, rank: int | None = None) -> int:
        """The attribute `axis`, counted from the front."""
        count = self.rank(0) if rank is None else rank
        axis = int(self.attr("axis", default))
        if not -count <= axis <= count:
            raise self.invalid("axis", axis, f"{-count} ... {count - 1}")
        return axis + count if axis < 0 else axis

    def written_axis(self, default: int) -> int:
        """The attribute `axis` as the model has it, from the front or the back."""
        self.axis(default)  # refuses what lies outside
        return int(self.attr("axis", default))

    def invalid(self, name: str, found: object, legal: str) -> OpAttributeInvalid:
        """The error of an attribute with a value that is not taken."""
        return OpAttributeInvalid(
            message(
                f"ONNX {self.op_type} {self.name!r}: attribute {name!r}",
                found=repr(found),
                legal=legal,
            )
        )

    def unfit(self, i: int, asked: str, found: object) -> OpAttributeInvalid:
        """The error of input number `i`, which is not as the operator asks."""
        return OpAttributeInvalid(self._message(f"input {i} has to be {asked}", str(found)))

    def _message(self, asked: str, found: str | None = None) -> str:
        return message(f"ONNX {self.op_type} {self.name!r}: {asked}", found=found)
