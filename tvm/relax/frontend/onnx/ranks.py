"""How many dimensions an input has that the model gives no shape: told by what reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tvm.error import ShapeError, message

from .attributes import weight_extents
from .graph import inner_graphs

# What a node that reads a value at a place tells of its rank; None: nothing.
Hint = Callable[["_Reading"], "int | None"]


def infer_rank(graph: Any, name: str) -> int | None:
    """The rank of an input; None where no node reads it. Refuses one that nothing tells."""
    known = _declared_ranks(graph)
    readings = list(_readings(graph, known))
    todo, seen, read = [name], {name}, False
    while todo:
        value = todo.pop()
        if value in known:
            return known[value]
        for reading in readings:
            if value not in reading.inputs:
                continue
            read = True
            found = reading.rank_of(value)
            if found is not None:
                return found
            for output in reading.alike(value):
                if output not in seen:
                    seen.add(output)
                    todo.append(output)
    if not read and name not in {value.name for value in graph.output}:
        return None
    raise ShapeError(
        message(
            f"from_onnx: how many dimensions input {name!r} has",
            found="no shape in the model, and no operator that tells it",
            legal=f"from_onnx(model, shape_dict={{{name!r}: [...]}}), with numbers or names",
        )
    )


def _declared_ranks(graph: Any) -> dict[str, int]:
    """The ranks that the model writes down."""
    values = [*graph.value_info, *graph.output, *graph.input]
    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in values
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape")
    }
    return ranks | {name: len(extents) for name, extents in weight_extents(graph).items()}


def _readings(graph: Any, known: Mapping[str, int]) -> Iterator[_Reading]:
    sizes = weight_extents(graph)
    stack = [graph]
    while stack:
        for node in stack.pop().node:
            yield _Reading(node, known, sizes)
            stack += inner_graphs(node)


class _Reading:
    """A node, and what is known of the values that it reads."""

    def __init__(
        self, node: Any, known: Mapping[str, int], sizes: Mapping[str, list[int]]
    ) -> None:
        self.op_type = str(node.op_type)
        self.inputs = list(node.input)
        self.outputs = list(node.output)
        self.slot = -1
        self._attrs = {attr.name: attr for attr in node.attribute}
        self._known, self._sizes = known, sizes

    def ints(self, name: str) -> int | None:
        """How many integers an attribute has."""
        return len(self._attrs[name].ints) if name in self._attrs else None

    def elements(self, slot: int) -> int | None:
        """How many elements a weight of one dimension has."""
        dims = self._sizes.get(self.inputs[slot], []) if slot < len(self.inputs) else []
        return int(dims[0]) if len(dims) == 1 else None

    def rank(self, slot: int) -> int | None:
        """The rank of another input."""
        return self._known.get(self.inputs[slot]) if slot < len(self.inputs) else None

    def rank_of(self, value: str) -> int | None:
        """The rank that the node asks of a value that it reads."""
        self.slot = self.inputs.index(value)
        rule = _HINTS.get(self.op_type)
        return None if rule is None else rule(self)

    def alike(self, value: str) -> list[str]:
        """Other values of the node that have as many dimensions as this one."""
        if self.op_type == "Concat":
            return [*self.inputs, *self.outputs]
        if self.op_type in _ALIKE and self.inputs.index(value) == 0:
            return self.outputs[:1]
        return []


def _first(rule: Hint) -> Hint:
    """For the first input; the others have ranks of their own."""
    return lambda reading: rule(reading) if reading.slot == 0 else None


def _always(*ranks: int) -> Hint:
    """By the place of the input."""
    return lambda reading: ranks[reading.slot] if reading.slot < len(ranks) else None


def _window(reading: _Reading) -> int | None:
    count = reading.ints("kernel_shape")
    if reading.slot == 0 and count is not None:
        return count + 2
    return reading.rank(1 - reading.slot) if reading.slot < 2 else None


def _by_weight(slot: int, share: int = 1) -> Hint:
    """As many dimensions as a weight has elements, or a part of that."""

    def rule(reading: _Reading) -> int | None:
        count = reading.elements(slot)
        return None if count is None else count // share

    return _first(rule)


def _resized(reading: _Reading) -> int | None:
    if reading.slot or "axes" in reading._attrs:
        return None
    counts = [reading.elements(slot) for slot in range(1, len(reading.inputs))]
    return next((c for c in reversed(counts) if c), None)


def _padded(reading: _Reading) -> int | None:
    if reading.slot or len(reading.inputs) > 3:
        return None
    count = reading.ints("pads") or reading.elements(1)
    return count // 2 if count else None


_SAME = (
    "Abs", "BatchNormalization", "Cast", "Ceil", "Clip", "CumSum", "Dropout", "Elu", "Erf", "Exp",
    "Floor", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LayerNormalization", "LeakyRelu",
    "Log", "LogSoftmax", "Mish", "Neg", "Not", "PRelu", "Pad", "Reciprocal", "Relu", "Resize",
    "Round", "Selu", "Sigmoid", "Sign", "Slice", "Softmax", "Softplus", "Softsign", "Split",
    "Sqrt", "Swish", "Tanh", "Tile", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
)  # fmt: skip
_ALIKE = frozenset(_SAME)
_HINTS: dict[str, Hint] = {
    **dict.fromkeys(
        ("Conv", "ConvInteger", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"), _window
    ),
    "QLinearConv": _first(lambda reading: reading.rank(3)),
    "Gemm": _always(2, 2),
    "Transpose": _first(lambda reading: reading.ints("perm")),
    **dict.fromkeys(("RNN", "GRU", "LSTM"), _always(3, 3, 3, 2, 1, 3, 3)),
    **dict.fromkeys(("DepthToSpace", "SpaceToDepth", "GridSample", "LRN"), _always(4)),
    **dict.fromkeys(("RoiAlign", "MaxRoiPool"), _always(4, 2)),
    "STFT": _always(3),
    "SparseToDenseMatMul": _always(2, 2),
    "Resize": _resized,
    "Upsample": _by_weight(1),
    "Tile": _by_weight(1),
    "Pad": _padded,
    "NonMaxSuppression": _always(3, 3),
}
