"""Tensors and the operations that make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, final

from tvm.error import CheckError, DTypeError, message
from tvm.ir.expr import OPERATORS, ExprOp, PrimExpr, PrimExprConvertible
from tvm.ir.node import Field, Node, all_of_type, fields, listed, register_nodes
from tvm.support.arguments import explained
from tvm.support.dtype import DataType
from tvm.support.frozen import FrozenArray, FrozenMap
from tvm.support.registry import Registry
from tvm.tir.buffer import Buffer, DataProducer
from tvm.tir.expr import IterVar, ProducerLoad, Reduce, as_expr
from tvm.tir.functor import pre_order_visit
from tvm.tir.stmt import Stmt

Attrs = Mapping[str, Any]

# Arithmetic on whole tensors is broadcasting, which the operator library defines a floor above.
TENSOR_OPERATORS: Final[Registry[Any]] = Registry("tensor operator", "tvm.topi.generic_op_impl")


class _TensorRules(dict[str, Any]):
    """The operator table of tensors: elementwise, where the operator library has the operator."""

    def get(self, name: str, default: Any = None) -> Any:
        scalar_rule = OPERATORS["tir"].get(name, default)
        if scalar_rule is None:
            return None

        def rule(*operands: Any) -> Any:
            if name in TENSOR_OPERATORS:
                return TENSOR_OPERATORS.get(name)(*operands)
            return scalar_rule(*operands)

        return rule


OPERATORS["te"] = _TensorRules()


class TensorSlice(PrimExprConvertible):
    """A tensor with some or all of its indices given; with all of them it is one element."""

    __slots__ = ("indices", "tensor")
    TYPE_KEY = "te.TensorSlice"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("tensor", "indices")
    __iter__: ClassVar[None] = None  # any index is legal, so that a loop over it would not end

    def __init__(self, tensor: Tensor, indices: Any) -> None:
        self.tensor: Final = tensor
        self.indices: Final = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)

    def __getitem__(self, indices: Any) -> TensorSlice:
        more = tuple(indices) if isinstance(indices, (tuple, list)) else (indices,)
        return TensorSlice(self.tensor, (*self.indices, *more))

    def asobject(self) -> PrimExpr:
        """The element as an expression."""
        return self.tensor(*self.indices)

    def as_prim_expr(self) -> PrimExpr:
        return self.asobject()

    @property
    def dtype(self) -> DataType:
        """The data type of the elements."""
        return self.tensor.dtype

    def __str__(self) -> str:
        return f"{self.tensor.name}[{', '.join(str(i) for i in self.indices)}]"

    __repr__ = __str__


@final
class Tensor(DataProducer):
    """One output of an operation; `T[i, j]` and `T(i, j)` stand for an element."""

    __slots__ = ("dtype", "op", "shape", "value_index")
    TYPE_KEY = "te.Tensor"
    DIALECT: ClassVar[str] = "te"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("shape", "dtype", "op", "value_index")

    def __init__(
        self, shape: Sequence[Any], dtype: DataType | str, op: Operation, value_index: int
    ) -> None:
        self.shape: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [as_expr(e) for e in listed(shape, "Tensor: shape")]
        )
        self.dtype: Final = DataType(dtype)
        self.op: Final = op
        self.value_index: Final = value_index

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The operation's name, with the number of the output where there are several."""
        if self.op.num_outputs == 1:
            return self.op.name
        return f"{self.op.name}.v{self.value_index}"

    @property
    def axis(self) -> tuple[IterVar, ...]:
        """The axes of the operation that makes it."""
        return FrozenArray(getattr(self.op, "axis", ()))

    def get_dtype(self) -> DataType:
        return self.dtype

    def get_shape(self) -> tuple[PrimExpr, ...]:
        return self.shape

    def get_name_hint(self) -> str:
        return self.name

    def __call__(self, *indices: Any) -> ProducerLoad:
        if len(indices) != self.ndim:
            raise ValueError(
                f"Need to provide {self.ndim} index in tensor but {len(indices)} was provided"
            )
        exprs = [as_expr(i) for i in indices]
        for index in exprs:
            if not index.dtype.is_integer:
                raise DTypeError(
                    message(
                        f"index tensor {self.name}",
                        found=f"an index of type {index.dtype}: {index}",
                        legal="an integer expression",
                    )
                )
        return ProducerLoad(self, exprs)

    def __getitem__(self, indices: Any) -> TensorSlice:
        return TensorSlice(self, indices)

    def as_prim_expr(self) -> PrimExpr:
        if self.ndim:
            raise TypeError(
                message(
                    f"use tensor {self.name} as a single value",
                    found=f"{self.ndim} dimensions",
                    legal="an element of it, as in T[i, j]; or a tensor without dimensions",
                )
            )
        return self()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor):
            if isinstance(other, ExprOp) and self.ndim == 0:
                return super().__eq__(other)  # type: ignore[no-any-return]
            return False
        return self.op is other.op and self.value_index == other.value_index

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((id(self.op), self.value_index))

    def __bool__(self) -> bool:
        raise ValueError(
            f"Cannot use and / or / not operator to Expr: tensor {self.name} has no truth value "
            "yet; legal: tvm.tir.all, tvm.tir.any; `is None` to ask whether there is one"
        )

    def __iter__(self) -> Iterator[Any]:
        raise TypeError(f"tensor {self.name} cannot be iterated; index it as in T[i, j]")

    def __str__(self) -> str:
        shape = ", ".join(str(extent) for extent in self.shape)
        return f"Tensor(shape=[{shape}], op.name={self.op.name})"

    __repr__ = __str__


class Operation(Node):
    """What makes one or several tensors, each element from elements of others."""

    __slots__ = ("_outputs", "attrs", "name", "tag")
    TYPE_KEY = "te.Operation"
    name: str
    tag: str
    attrs: FrozenMap[str, Any]
    _outputs: tuple[Tensor, ...]

    def output(self, index: int) -> Tensor:
        """Output number `index`."""
        if not 0 <= index < len(self._outputs):
            raise IndexError(f"operation {self.name} has {len(self._outputs)} outputs, not {index}")
        return self._outputs[index]

    @property
    def num_outputs(self) -> int:
        """The number of tensors it makes."""
        return len(self._outputs)

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors it reads, in the order of their first use."""
        return []

    def _label(self, name: str, tag: str, attrs: Attrs | None) -> None:
        self.name = name
        self.tag = tag
        if not isinstance(attrs, Mapping | None):
            raise TypeError(
                f"{type(self).__name__}: the attributes are a {type(attrs).__name__}; legal: a dict"
            )
        self.attrs = FrozenMap(attrs or {})

    def __str__(self) -> str:
        kind = type(self).TYPE_KEY.removeprefix("te.").removesuffix("Op").lower()
        return f"{kind}({self.name}, {id(self):#x})"

    def __repr__(self) -> str:
        return str(self)


class PlaceholderOp(Operation):
    """A tensor that is given from outside; a subclass may say from where."""

    __slots__ = ("dtype", "shape")
    TYPE_KEY = "te.PlaceholderOp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name~", "tag", "attrs", "shape", "dtype")
    CTOR: ClassVar[tuple[str, ...]] = ("name", "shape", "dtype")

    @explained
    def __init__(self, name: str, shape: Sequence[Any], dtype: DataType | str) -> None:
        self._label(name, "", None)
        self.shape: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [as_expr(e) for e in listed(shape, "PlaceholderOp: shape")]
        )
        self.dtype: Final = DataType(dtype)
        self._outputs = (Tensor(self.shape, self.dtype, self, 0),)


class BaseComputeOp(Operation):
    """An operation with axes: one step for each point of their ranges."""

    __slots__ = ("axis", "reduce_axis")
    axis: tuple[IterVar, ...]
    reduce_axis: tuple[IterVar, ...]


def _listed(values: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, values))}]"


@final
class ComputeOp(BaseComputeOp):
    """Each element by an expression over the axes; several outputs have one expression each."""

    __slots__ = ("body",)
    TYPE_KEY = "te.ComputeOp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields("name~", "tag", "attrs", "axis", "body")

    def __str__(self) -> str:
        parts = {
            "body": _listed(self.body), "axis": _listed(self.axis),
            "reduce_axis": _listed(self.reduce_axis), "tag": self.tag, "attrs": dict(self.attrs),
        }  # fmt: skip
        shown = ", ".join(f"{key}={value}" for key, value in parts.items())
        return f"compute({self.name}, {shown})"

    @explained
    def __init__(
        self, name: str, tag: str, attrs: Attrs | None, axis: Sequence[IterVar], body: Sequence[Any]
    ) -> None:
        self._label(name, tag, attrs)
        self.axis = all_of_type(axis, IterVar, "ComputeOp: axis")
        self.body: Final[tuple[PrimExpr, ...]] = FrozenArray(
            [as_expr(e) for e in listed(body, "ComputeOp: body")]
        )
        _check_body(name, self.body)
        first = self.body[0]
        self.reduce_axis = FrozenArray(first.axis if isinstance(first, Reduce) else ())
        shape = [iv.dom.extent for iv in self.axis if iv.dom is not None]
        self._outputs = tuple([Tensor(shape, e.dtype, self, i) for i, e in enumerate(self.body)])

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors that the expressions read, in the order of their first use."""
        return tensors_in(self.body)


def _check_body(name: str, body: tuple[PrimExpr, ...]) -> None:
    """A reduction stands alone at the top, and several outputs share one reduction."""
    if not body:
        raise CheckError(f"compute {name}: the function returned no expression")
    tops = [e for e in body if isinstance(e, Reduce)]
    for expr in body:
        parts = expr.source if isinstance(expr, Reduce) else (expr,)
        if any(isinstance(node, Reduce) for node in distinct_nodes(parts)):
            raise CheckError(
                message(
                    f"compute {name}",
                    found="a reduction within an expression: "
                    "Reductions are only allowed at the top level of compute",
                    legal="one stage for the reduction, and another that uses its result",
                )
            )
    if tops and len(tops) != len(body):
        raise CheckError(
            f"compute {name}: all outputs should either be reductions, or none of them"
        )
    for other in tops[1:]:
        if other.combiner is not tops[0].combiner or other.axis != tops[0].axis:
            raise CheckError(
                message(
                    f"compute {name}",
                    found="The Reduce inputs of ComputeOp should have the same attribute except "
                    "value_index",
                    legal="the outputs of one reducer that returns a tuple",
                )
            )


@final
class ScanOp(Operation):
    """State after state along the first axis: `init` gives the first ones, `update` the next."""

    __slots__ = (
        "init", "inputs", "scan_axis", "spatial_axis_", "state_placeholder", "update",
    )  # fmt: skip
    TYPE_KEY = "te.ScanOp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "name~", "tag", "attrs", "scan_axis", "init", "update", "state_placeholder", "inputs",
        "spatial_axis_",
    )  # fmt: skip
    CTOR: ClassVar[tuple[str, ...]] = (
        "name", "tag", "attrs", "scan_axis", "init", "update", "state_placeholder", "inputs",
    )  # fmt: skip

    @explained
    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Attrs | None,
        scan_axis: IterVar,
        init: Sequence[Tensor],
        update: Sequence[Tensor],
        state_placeholder: Sequence[Tensor],
        inputs: Sequence[Tensor],
    ) -> None:
        self._label(name, tag, attrs)
        self.scan_axis: Final = scan_axis
        self.init: Final = tuple(listed(init, "ScanOp: init"))
        self.update: Final = tuple(listed(update, "ScanOp: update"))
        self.state_placeholder: Final = tuple(state_placeholder)
        self.inputs: Final = tuple(inputs)
        if not len(self.init) == len(self.update) == len(self.state_placeholder):
            raise CheckError(
                message(
                    f"scan {name}",
                    found=f"{len(self.init)} init, {len(self.update)} update and "
                    f"{len(self.state_placeholder)} state tensors",
                    legal="as many of each",
                )
            )
        for state, step in zip(self.state_placeholder, self.update):
            if state.dtype != step.dtype or state.ndim != step.ndim:
                raise CheckError(
                    f"scan {name}: update {step.name} has {step.ndim} dimensions of {step.dtype}, "
                    f"its state {state.ndim} of {state.dtype}"
                )
        self.spatial_axis_: Final[tuple[IterVar, ...]] = tuple(
            [
                IterVar((0, state.shape[dim]), f"{name}.out{i}.i{dim}", IterVar.Ordered)
                for i, state in enumerate(self.state_placeholder)
                for dim in range(1, state.ndim)
            ]
        )
        self._outputs = tuple(
            [Tensor(t.shape, t.dtype, self, i) for i, t in enumerate(self.state_placeholder)]
        )

    @property
    def input_tensors(self) -> list[Tensor]:
        """The tensors of init and update."""
        return [*self.init, *self.update]


@final
class ExternOp(Operation):
    """Tensors made by a statement over buffers, which stand for inputs and outputs."""

    __slots__ = ("body", "input_placeholders", "inputs", "output_placeholders")
    TYPE_KEY = "te.ExternOp"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "name~", "tag", "attrs", "inputs", "input_placeholders", "output_placeholders", "body"
    )

    @explained
    def __init__(
        self,
        name: str,
        tag: str,
        attrs: Attrs | None,
        inputs: Sequence[Tensor],
        input_placeholders: Sequence[Buffer],
        output_placeholders: Sequence[Buffer],
        body: Stmt,
    ) -> None:
        self._label(name, tag, attrs)
        self.inputs: Final = tuple(listed(inputs, "ExternOp: inputs"))
        self.input_placeholders: Final = tuple(
            listed(input_placeholders, "ExternOp: input_placeholders")
        )
        self.output_placeholders: Final = tuple(
            listed(output_placeholders, "ExternOp: output_placeholders")
        )
        self.body: Final = body
        if len(self.inputs) != len(self.input_placeholders):
            raise CheckError(
                message(
                    f"extern {name}",
                    found=f"{len(self.inputs)} inputs, {len(self.input_placeholders)} buffers",
                    legal="one buffer an input",
                )
            )
        self._outputs = tuple(
            [Tensor(b.shape, b.dtype, self, i) for i, b in enumerate(self.output_placeholders)]
        )

    @property
    def input_tensors(self) -> list[Tensor]:
        """The inputs, each once."""
        return list(dict.fromkeys(self.inputs))


def tensors_in(exprs: Sequence[PrimExpr]) -> list[Tensor]:
    """The tensors that expressions read, each once, in the order of first use."""
    found: dict[Tensor, None] = {}
    for node in distinct_nodes(exprs):
        if isinstance(node, ProducerLoad) and isinstance(node.producer, Tensor):
            found.setdefault(node.producer)
    return list(found)


def distinct_nodes(exprs: Sequence[PrimExpr]) -> list[Any]:
    """All nodes of the expressions, parents first; those of shared parts once an expression."""
    nodes: list[Any] = []

    def keep(node: Any) -> bool:
        nodes.append(node)
        return True

    for expr in exprs:
        pre_order_visit(expr, keep)
    return nodes


register_nodes(TensorSlice, Tensor, PlaceholderOp, ComputeOp, ScanOp, ExternOp)
