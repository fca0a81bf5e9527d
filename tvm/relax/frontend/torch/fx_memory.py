"""Whose memory the tensors of a traced graph (`torch.fx`) share, and what a write makes of them.

A graph that torch traced without tensors tells what an operator is called, no more. What its name
says is enough for most programs: `x.detach()` is x itself, `x[1:]` a view of it, `x + 1` a tensor
of its own. A write to a tensor is a new value for all its names, and its views are taken anew. A
write to a view whose tensor is read afterwards is refused, and so is one where nobody can tell
whether torch made a copy (`x.t().reshape(-1)`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from tvm.ir.expr import RelaxExpr
from tvm.relax.struct_info import TensorStructInfo

from .base_fx_graph_translator import target_name
from .values import refuse

if TYPE_CHECKING:
    from torch import fx

Kind = Literal["same", "view", "field", "perhaps"]

# operators and modules whose result is their operand
_SAME: Final = frozenset(
    {
        "alias", "alpha_dropout", "conj", "cpu", "cuda", "data", "detach", "dropout", "dropout1d",
        "dropout2d", "dropout3d", "feature_alpha_dropout", "feature_dropout", "identity",
        "positive", "requires_grad", "requires_grad_", "resolve_conj", "resolve_neg",
        "AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout",
        "Identity",
    }
)  # fmt: skip
# those that give their operand where it has the data type already
_CONVERSIONS: Final = frozenset(
    {
        "bfloat16", "bool", "byte", "char", "double", "float", "half", "int", "long", "short",
        "to", "type", "type_as",
    }
)  # fmt: skip
# those whose result has the elements of its operand in their order, without a copy
_IN_ORDER: Final = frozenset({"squeeze", "unflatten", "unsqueeze", "view", "view_as"})
# the same, with a copy where the operand does not lie in its own order
_LAID_OUT: Final = frozenset({"Flatten", "Unflatten", "contiguous", "flatten", "ravel", "reshape",
                              "reshape_as"})  # fmt: skip
# other views
_VIEWS: Final = frozenset(
    {
        "H", "T", "adjoint", "as_strided", "broadcast_to", "diagonal", "expand", "expand_as", "mH",
        "mT", "moveaxis", "movedim", "narrow", "permute", "select", "swapaxes", "swapdims", "t",
        "transpose", "unfold",
    }
)  # fmt: skip
# those that give views as a tuple
_PARTS: Final = frozenset(
    {"chunk", "dsplit", "hsplit", "split", "split_with_sizes", "tensor_split", "unbind",
     "unsafe_chunk", "unsafe_split", "vsplit"}
)  # fmt: skip
# those that ask for a tensor's shape and type
_SIZES: Final = frozenset(
    {"device", "dim", "dtype", "is_floating_point", "ndim", "ndimension", "numel", "shape", "size"}
)


class FxMemory:
    """The nodes that have been converted, each with the node whose memory it lies in, if any."""

    def __init__(self, env: dict[fx.Node, Any], modules: Mapping[str, Any]) -> None:
        self._env: Final = env
        self._modules: Final = modules
        self._within: Final[dict[fx.Node, tuple[fx.Node, Kind]]] = {}
        self._holds: Final[dict[fx.Node, list[fx.Node]]] = {}
        self._scattered: Final[set[fx.Node]] = set()

    # --- what is whose ---

    def note(self, node: fx.Node) -> None:
        """A node that has just been converted."""
        found = self._kind(node)
        if found is not None:
            self._put(node, *found)
        if self._is_scattered(node):
            self._scattered.add(node)

    def _put(self, node: fx.Node, base: fx.Node, kind: Kind) -> None:
        self._within[node] = base, kind
        self._holds.setdefault(base, []).append(node)

    def _name(self, node: fx.Node) -> str:
        if node.op == "call_module":
            return type(self._modules[str(node.target)]).__name__
        if target_name(node) == "getattr":
            return str(node.args[1])
        return target_name(node)

    def _kind(self, node: fx.Node) -> tuple[fx.Node, Kind] | None:
        base: Any = node.args[0] if node.args else node.kwargs.get("input")
        if not node.op.startswith("call_") or base not in self._env:
            return None
        name, value = self._name(node), self._env[base]
        if name == "getitem":
            if base in self._within and self._name(base) in _PARTS:
                return base, "field"
            return (base, "view") if _dtype(value) and _is_part(node.args[1]) else None
        dtype = _dtype(value)
        if dtype is None:
            return None
        same = name in _CONVERSIONS and _dtype(self._env[node]) == dtype
        if name in _SAME or (same and not node.kwargs.get("copy")):
            return base, "same"
        if name in _IN_ORDER or name in _VIEWS or name in _PARTS:
            return base, "view"
        if name not in _LAID_OUT:
            return None
        if base in self._scattered:
            return base, "perhaps"
        return base, "same" if name == "contiguous" else "view"

    def _is_scattered(self, node: fx.Node) -> bool:
        """Whether the elements may lie in another order than that of the tensor."""
        if not node.op.startswith("call_"):
            return False
        name = self._name(node)
        if name in _LAID_OUT:
            return node.kwargs.get("memory_format") is not None
        if node in self._within and self._within[node][1] != "same" and name not in _IN_ORDER:
            return True
        return any(operand in self._scattered for operand in node.all_input_nodes)

    # --- a write ---

    def write(
        self, node: fx.Node, written: fx.Node, value: Any, anew: Callable[[fx.Node], None]
    ) -> None:
        """`node` has written `value` to a tensor: all its names have it, its views are made anew.

        A refusal where somebody reads memory afterwards that the write may have changed.
        """
        if value is self._env[written]:
            self._put(node, written, "same")
            return
        top, names = self._names(written)
        self._check_outside(node, top)
        views = list(self._below(names))
        read = {one for one in views if self._readers(node, one)}
        for one in reversed(views):  # what a view that is read is a view of
            if one in read and self._within[one][0] in self._within:
                read.add(self._within[one][0])
        self._env.update(dict.fromkeys(names, value))
        self._put(node, written, "same")
        for one in sorted(read - set(names)):
            base, kind = self._within[one]
            if kind == "perhaps":
                self._refuse(node, self._readers(node, one))
            if kind == "same":
                self._env[one] = self._env[base]
            else:
                anew(one)

    def _names(self, node: fx.Node) -> tuple[fx.Node, list[fx.Node]]:
        """The tensor that a node is another name of, and all names of it."""
        while node in self._within and self._within[node][1] == "same":
            node = self._within[node][0]
        return node, [node, *self._below([node], only_same=True)]

    def _below(self, nodes: Iterable[fx.Node], only_same: bool = False) -> Iterator[fx.Node]:
        """What lies in the memory of nodes, and in that of those."""
        todo = list(nodes)
        for node in todo:
            for one in self._holds.get(node, ()):
                if not only_same or self._within[one][1] == "same":
                    todo.append(one)
                    yield one

    def _check_outside(self, node: fx.Node, top: fx.Node) -> None:
        """Refuse a write to a view where the tensor, or another view of it, is read afterwards."""
        own = {top, *self._below([top])}
        inner = top
        while inner in self._within:
            base, kind = self._within[inner]
            others = [base]
            if kind != "field":  # fields have no element in common
                others += [one for one in self._below([base]) if one not in own]
            back = next(iter(self._readers(node, base)), None)
            stored = back is not None and _puts_back(back, base, own | {node})
            for other in others:
                readers = self._readers(node, other)
                if readers and not (stored and readers[0] >= back):
                    self._refuse(node, readers)
            if stored:
                return
            if kind == "field":
                own |= set(self._below([base]))
            own |= {base, *others}
            inner = base

    def _readers(self, node: fx.Node, of: fx.Node) -> list[fx.Node]:
        """Who reads elements after a node, first things first."""
        return sorted(
            user for user in of.users if user > node and self._name(user) not in _SIZES
        )

    def _refuse(self, node: fx.Node, readers: list[fx.Node]) -> None:
        raise refuse(
            f"from_fx: {node.name!r}, a write to a view",
            f"{readers[0].name!r} reads the tensor of that view afterwards"
            if readers else "the tensor of that view is read afterwards",
            "torch.export.export, and from_exported_program",
        )  # fmt: skip


def _dtype(value: Any) -> str | None:
    """The data type of a tensor."""
    info = value.struct_info if isinstance(value, RelaxExpr) else None
    return str(info.dtype) if isinstance(info, TensorStructInfo) else None


def _is_part(index: Any) -> bool:
    """Whether an index is that of a view, as in `x[1:, None]`; tensors as indices make copies."""
    indices = index if isinstance(index, tuple) else (index,)
    return all(one is None or one is ... or isinstance(one, (int, slice)) for one in indices)


def _puts_back(reader: fx.Node, tensor: fx.Node, views: set[fx.Node]) -> bool:
    """Whether a node stores a view where it belongs, as the last step of `x[0] += 1` does."""
    if target_name(reader) != "setitem" or reader.args[0] is not tensor:
        return False
    return reader.args[2] in views
