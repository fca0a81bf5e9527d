"""Writes to tensors and views of them, rewritten as operators that make new tensors.

A write to a view becomes an update of the tensor that it is a view of:

    row = select(x, 0, 1)             row = select(x, 0, 1)
    mul_(row, 2)               ->     new_row = mul(row, 2)
    relu(x)                           new_x = select_scatter(x, new_row, 0, 1)
                                      relu(new_x)

Views that were taken before a write are taken again, of the new tensor, where they are read after
it. Torch's own functionalization does the same by running the program anew, which takes far longer.

That nothing else shares the memory must be sure: only tensors are written that an operator of the
graph has just made (`FRESH`), and whatever an operator makes of such a tensor, or of a view of it,
may share its memory unless the operator is known to be fresh, or one of the views below. Should
such a result be read after a write to that tensor, the program is left to torch; as are programs
that write to their inputs or weights.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Final

from .inplace import FRESH, is_idle, packet, writes

# operators whose result is the memory of their first operand, whatever its strides
_VIEWS: Final = frozenset(
    {
        "alias.default", "detach.default", "expand.default", "permute.default", "select.int",
        "slice.Tensor", "squeeze.dim", "t.default", "transpose.int", "unsqueeze.default",
        "view.default",
    }
)  # fmt: skip

# operators that write to their first operand only, what the operator without the write gives;
# tensors among the other operands are of the same data type
_POINTWISE: Final = frozenset(
    {
        "abs_", "add_", "clamp_", "clamp_max_", "clamp_min_", "cos_", "div_", "exp_", "floor_",
        "hardtanh_", "index_put_", "leaky_relu_", "log_", "masked_fill_", "mul_", "neg_",
        "reciprocal_", "relu_", "round_", "rsqrt_", "sigmoid_", "silu_", "sin_", "sqrt_", "sub_",
        "tanh_",
    }
)  # fmt: skip
_REPLACING: Final = frozenset({"copy_", "fill_", "zero_"})  # those cast what they are given
_SELECTORS: Final = {"index_put_": 1, "masked_fill_": 1}  # operands that say where, not what


class _UnsureError(Exception):
    """Whether a rewriting keeps the meaning is not sure."""


def functionalized(program: Any, is_known: Callable[[Any], bool]) -> Any | None:
    """The program without writes; None where torch has to rewrite it.

    `is_known` says whether a node's operator has a converter; a program that has others is left to
    torch, too, which has to split them.
    """
    module = program.graph_module
    inner = [one for one in module.modules() if hasattr(one, "graph") and one is not module]
    if any(writes(node) for one in inner for node in one.graph.nodes):
        return None
    if any(spec.kind.name != "USER_OUTPUT" for spec in program.graph_signature.output_specs):
        return None
    graph = copy.deepcopy(module.graph)
    try:
        _Rewriting(graph).run()
    except _UnsureError:
        return None
    nodes = [node for one in inner for node in one.graph.nodes] + list(graph.nodes)
    if not all(is_known(node) for node in nodes if node.op == "call_function"):
        return None
    from torch.fx import GraphModule

    made = copy.copy(program)
    made._graph_module = GraphModule(module, graph)
    return made


class _Rewriting:
    """One pass over a graph, in the order in which it runs."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph
        self.base: dict[Any, Any] = {}  # of a fresh tensor or a view of one: the fresh tensor
        self.source: dict[Any, Any] = {}  # of a view: what it is a view of
        self.value: dict[Any, Any] = {}  # of those: the node that has their present value
        self.sharing: dict[Any, set[Any]] = {}  # of other nodes: bases whose memory they may share
        self.outdated: set[Any] = set()  # of those: the ones that a write may have changed
        self.made: set[Any] = set()  # by this pass

    def run(self) -> None:
        from torch.fx import map_arg

        for node in list(self.graph.nodes):
            operands = list(node.all_input_nodes)
            if self.outdated.intersection(operands):
                raise _UnsureError
            if writes(node):
                self._write(node, operands)
                continue
            viewed = node.args[0] if _is_view(node) and node.args[0] in self.base else None
            self._classify(node, operands, viewed)
            present = functools.partial(self._present, before=node)
            node.args = map_arg(node.args, present)
            node.kwargs = map_arg(node.kwargs, present)
        for node in reversed(list(self.graph.nodes)):
            if not node.users and (node in self.source or node in self.made):
                self.graph.erase_node(node)
        self.graph.lint()

    def _classify(self, node: Any, operands: list[Any], viewed: Any) -> None:
        """What memory a node's result has that writes nothing."""
        if _updates_statistics(node):
            raise _UnsureError
        if viewed is not None:
            self.base[node], self.source[node] = self.base[viewed], viewed
            self.value[node] = node
        elif _is_aten(node) and packet(node) in FRESH:
            self.base[node] = self.value[node] = node
        elif _holds_memory(node):
            shared = {self.base[one] for one in operands if one in self.base}
            self.sharing[node] = shared.union(*(self.sharing.get(one, ()) for one in operands))

    def _present(self, node: Any, before: Any) -> Any:
        """The node with the value of a tensor at a place; views are taken again there."""
        chain = []
        while node in self.base and node not in self.value:
            chain.append(node)
            node = self.source[node]
        found = self.value.get(node, node)
        for view in reversed(chain):
            if not writes(view):  # what a write gives is the very tensor it wrote to
                found = self._call(before, view.target, (found, *view.args[1:]), view)
                found.kwargs = dict(view.kwargs)
            self.value[view] = found
        return found

    def _write(self, node: Any, operands: list[Any]) -> None:
        from torch.fx import map_arg

        written = node.args[0] if node.args else None
        base = self.base.get(written)
        if base is None or not _is_known_write(node, operands):
            raise _UnsureError
        self.base[node], self.source[node] = base, written
        name = packet(node)
        if name == "detach_":
            return
        target = getattr(_aten(name[:-1]), node.target._overloadname, None)
        if target is None:
            raise _UnsureError
        present = functools.partial(self._present, before=node)
        args = map_arg(node.args, present)
        found = self._call(node, target, args, written)
        found.kwargs = map_arg(node.kwargs, present)
        fresh = {node: found, written: found}
        while written is not base:
            whole = self.source[written]
            if not writes(written):
                found = self._updated(node, written, whole, found)
            fresh[whole] = found
            written = whole
        for one, its in self.base.items():
            if its is base:
                self.value.pop(one, None)
        self.value.update(fresh)
        self.outdated.update(one for one, bases in self.sharing.items() if base in bases)

    def _updated(self, before: Any, view: Any, whole: Any, part: Any) -> Any:
        """What a view was taken of, after the view has become `part`."""
        name, options = _name(view), list(view.args[1:])
        if name in ("alias.default", "detach.default") or is_idle(view):
            return part
        if view.kwargs or not all(_is_plain(one) for one in options):
            raise _UnsureError
        if name == "slice.Tensor":
            if _takes_all(*options):
                return part
            axis = options[0] if options else 0
            if not isinstance(whole.meta["val"].shape[axis], int):
                raise _UnsureError  # what its bounds mean depends on the extent
        if name in ("select.int", "slice.Tensor"):
            args = (self._present(whole, before), part, *options)
            return self._call(before, _aten(f"{packet(view)}_scatter").default, args, whole)
        if name == "unsqueeze.default":
            return self._call(before, _aten("squeeze").dim, (part, *options), whole)
        if name == "permute.default":
            axes = [axis % len(options[0]) for axis in options[0]]
            order = [axes.index(axis) for axis in range(len(axes))]
            return self._call(before, view.target, (part, order), whole)
        if name in ("transpose.int", "t.default"):
            return self._call(before, view.target, (part, *options), whole)
        if name in ("squeeze.dim", "view.default"):
            shape = list(whole.meta["val"].shape)
            if not _is_plain(shape):
                raise _UnsureError
            return self._call(before, _aten("reshape").default, (part, shape), whole)
        raise _UnsureError  # elements of a repeated one would be written several times

    def _call(self, before: Any, target: Any, args: tuple[Any, ...], like: Any) -> Any:
        """A call whose result has shape, data type and origin of another node's."""
        with self.graph.inserting_before(before):
            made = self.graph.call_function(target, args)
        made.meta = copy.copy(like.meta)
        self.made.add(made)
        return made


def _aten(name: str) -> Any:
    import torch

    return getattr(torch.ops.aten, name)


def _is_aten(node: Any) -> bool:
    return node.op == "call_function" and getattr(node.target, "namespace", None) == "aten"


def _name(node: Any) -> str:
    return str(node.target.__name__)


def _is_view(node: Any) -> bool:
    """Whether a node is surely its first operand's memory; so are dropouts outside of training."""
    if not _is_aten(node) or not node.args:
        return False
    return _name(node) in _VIEWS or (is_idle(node) and node.args[2:3] == (False,))


def _is_known_write(node: Any, operands: list[Any]) -> bool:
    """Whether the operator without the write gives the tensor as the write leaves it."""
    name = packet(node)
    if not _is_aten(node) or name not in _POINTWISE | _REPLACING | {"detach_"}:
        return False
    infos = [one.meta.get("val") for one in operands]
    if not all(hasattr(one, "dtype") and not one.dtype.is_complex for one in infos):
        return False
    if name not in _POINTWISE:
        return True
    given = [arg for i, arg in enumerate(node.args) if i != _SELECTORS.get(name)]
    tensors = [one for one in (*given, *node.kwargs.values()) if hasattr(one, "meta")]
    return len({one.meta["val"].dtype for one in tensors}) == 1


def _is_plain(option: Any) -> bool:
    if isinstance(option, (list, tuple)):
        return all(_is_plain(one) for one in option)
    return option is None or isinstance(option, int)


def _takes_all(axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> bool:
    """Whether a slice is of all elements, whatever the extent."""
    return not start and (end is None or end == 2**63 - 1) and step == 1


def _holds_memory(node: Any) -> bool:
    """Whether a node's result is, or may hold, a tensor; sizes and numbers do not."""
    import torch

    numbers = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
    return not isinstance(node.meta.get("val"), numbers)


def _updates_statistics(node: Any) -> bool:
    """Whether a normalization changes its running mean, which its schema does not say."""
    if node.op != "call_function" or not packet(node).endswith(("batch_norm", "instance_norm")):
        return False
    return bool(node.args[3:4] != (None,) and node.args[5:6] != (False,))
