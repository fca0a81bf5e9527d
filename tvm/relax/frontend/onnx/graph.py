"""Graphs node by node, into the block that is open: the model's, those within nodes, functions'."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeAlias

from tvm.error import (
    CallCancelled,
    CallTimeout,
    OpError,
    OpNotImplemented,
    TVMError,
    message,
)
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.span import SourceName, Span, span_scope
from tvm.relax import op
from tvm.relax.expr import Constant, If, PrimValue, SeqExpr, Tuple, TupleGetItem, Var
from tvm.relax.extents import with_extents
from tvm.relax.loops import branch
from tvm.relax.struct_info import TupleStructInfo
from tvm.support.checkpoint import checkpoint
from tvm.support.suggest import did_you_mean
from tvm.tir.expr import Not

from .agreement import reconcile
from .attributes import node_attributes, tensor_array, weight_extents, weights_of
from .bodies import body_of, bound_attributes, with_defaults
from .evaluated import evaluate_node
from .node import Node
from .registry import AsDefined, Converter, Result, find_converter
from .scope import Ref, Scope
from .texts import constant_strings, text_outputs

if TYPE_CHECKING:
    from tvm.relax.block_builder import BlockBuilder

    from .given import Given
    from .maps import Held

ONNX_DOMAINS = ("", "ai.onnx")
# What converters raise where inputs and attributes do not fit together.
_MISFITS = (TVMError, TypeError, ValueError, LookupError, ArithmeticError, MemoryError)
Functions = Mapping[tuple[str, str], Any]
# How many levels of functions that use functions are read.
DEEPEST = 500
# Each fork doubles what comes behind it.
MAX_FORKS = 6


class RanksDiffer(Exception):
    """Branches that give different ranks: each has to be read with what comes behind it."""

    def __init__(self, condition: RelaxExpr, branches: Sequence[Branch]) -> None:
        super().__init__("branches give different ranks")
        self.condition, self.branches = condition, branches


class Branch(Protocol):
    """One of the ways behind a condition."""

    def run(self, then: Callable[[list[Ref]], RelaxExpr]) -> RelaxExpr:
        """What `then` makes of the results of the branch."""


class OpConversionError(OpError, ValueError):
    """A node whose inputs or attributes do not fit together."""


def operator_name(node: Any) -> str:
    """The operator as converters are declared for it: with its domain, if that is not ONNX's."""
    return str(node.op_type if node.domain in ONNX_DOMAINS else f"{node.domain}.{node.op_type}")


def contributed(node: Any) -> Converter | None:
    """The converter of Microsoft's operator, which some models write without its domain."""
    return find_converter(f"com.microsoft.{node.op_type}", 1) if not node.domain else None


def node_name(node: Any, number: int) -> str:
    """The node's own name, else one from its operator and place."""
    return str(node.name) or f"{node.op_type}_{number}"


def opset_of(opsets: Mapping[str, int], domain: str) -> int:
    """The version of a domain's operator set; 1 when the model says none."""
    return opsets.get("" if domain in ONNX_DOMAINS else domain, 1)


def source_span(name: str, number: int) -> Span:
    """The source of a node: its name, and its number in the graph as the line."""
    return Span(SourceName(name), number, number, 1, 1)


class GraphReader:
    """Converts nodes into the open block of a builder, with the model's own functions at hand."""

    def __init__(
        self, bb: BlockBuilder, functions: Mapping[tuple[str, str], Any], depth: int = 0
    ) -> None:
        self.bb = bb
        self.functions = functions
        self.depth = depth
        self._forks = 0
        # whether a branch may take all that comes after it
        self.may_fork = False
        # how many channels lie together between operators of blocks (nchwc)
        self.block = 0
        # what objects hold that the caller gives, or that are made of such
        self.given: dict[RelaxExpr, Given] = {}
        # what maps hold that the caller gives
        self.maps: dict[RelaxExpr, Held] = {}

    def within(self, bb: BlockBuilder | None = None, deeper: int = 0) -> GraphReader:
        """A reader of what is called from here, or is read into another builder."""
        reader = GraphReader(bb or self.bb, self.functions, self.depth + deeper)
        reader.block, reader.given, reader.maps = self.block, self.given, self.maps
        return reader

    def nodes(self, nodes: Iterable[Any], scope: Scope, prefix: str = "") -> None:
        """Convert nodes in their order."""
        before, self.may_fork = self.may_fork, False
        for number, node in _in_order(list(nodes)):
            self._node(node, number, scope, prefix + node_name(node, number))
        self.may_fork = before

    def results(
        self, nodes: Iterable[Any], scope: Scope, outputs: Callable[[Scope], RelaxExpr]
    ) -> RelaxExpr:
        """Convert the nodes of the model itself; gives what `outputs` finds at the end."""
        return self._results(_in_order(list(nodes)), scope, outputs)

    def _results(
        self, order: Sequence[tuple[int, Any]], scope: Scope,
        outputs: Callable[[Scope], RelaxExpr], prefix: str = "",
    ) -> RelaxExpr:  # fmt: skip
        for at, (number, node) in enumerate(order):
            name, rest = prefix + node_name(node, number), order[at + 1 :]
            self.may_fork = self._forks < MAX_FORKS
            own = self.functions.get((node.domain, node.op_type))
            if own is not None and self.may_fork and any(inner_graphs(n) for n in own.node):
                return self._results_through(own, node, rest, scope, outputs, name, prefix)
            try:
                self._node(node, number, scope, name)
            except RanksDiffer as fork:

                def go_on(refs: list[Ref], node: Any = node, rest: Any = rest) -> RelaxExpr:
                    # all nodes behind, since they see other ranks in the other branch
                    inner = Scope(scope.opsets, scope)
                    for output, ref in zip(node.output, refs):
                        if output:
                            inner.bind(output, ref)
                    return self._results(rest, inner, outputs, prefix)

                return self.forked(fork, go_on)
        return outputs(scope)

    def forked(self, fork: RanksDiffer, go_on: Callable[[list[Ref]], RelaxExpr]) -> RelaxExpr:
        """Both ways from a branch on; where only one can be gone, that it is the one."""
        self._forks += 1
        ways = [partial(branch.run, go_on) for branch in fork.branches]
        found = branches(self.bb, fork.condition, ways)
        made = found() if callable(found) else self.bb.emit(If(fork.condition, *found))
        self._forks -= 1
        return made

    def _results_through(
        self, body: Any, node: Any, rest: Sequence[tuple[int, Any]], scope: Scope,
        outputs: Callable[[Scope], RelaxExpr], name: str, prefix: str,
    ) -> RelaxExpr:  # fmt: skip
        """A function with branches in it, and all nodes behind: either may see several ranks."""
        inner, nodes = self._opened(node, body, scope, name)
        reader = self.within(deeper=1)
        reader._forks = self._forks

        def go_on(found: Scope) -> RelaxExpr:
            after = Scope(scope.opsets, scope)
            _bind_results(body, node, found, after)
            self._forks = reader._forks
            return self._results(rest, after, outputs, prefix)

        return reader._results(_in_order(nodes), inner, go_on, f"{name}/")

    def values(
        self, nodes: Iterable[Any], scope: Scope, names: Sequence[str], prefix: str
    ) -> list[Ref]:
        """Convert nodes, and give their values of these names; ranks may differ on the way."""
        last = scope

        def outputs(found: Scope) -> RelaxExpr:
            nonlocal last
            last = found
            if found is scope:
                return Tuple([])
            for name in names:
                if not found.has(name):
                    _refuse_unmade(name, f"output of the graph {prefix!r}", found)
            made = [found.read(name, self.bb) for name in names]
            return made[0] if len(made) == 1 else Tuple(made)

        before = self.may_fork
        joined = self._results(_in_order(list(nodes)), scope, outputs, prefix)
        self.may_fork = before
        if last is scope:
            return [Ref(scope, name) for name in names]
        if len(names) == 1:
            return [Ref.to(with_extents(self.bb, joined))]
        return [
            Ref.to(with_extents(self.bb, self.bb.emit(TupleGetItem(joined, i))))
            for i in range(len(names))
        ]

    def output(self, scope: Scope, name: str) -> RelaxExpr:
        """The value of an output of the graph."""
        if not scope.has(name):
            _refuse_unmade(name, "output of the model", scope)
        return scope.read(name, self.bb)

    def _node(self, node: Any, number: int, scope: Scope, name: str) -> None:
        checkpoint(f"node {name}")
        self._check_inputs(node, scope, name)
        with span_scope(source_span(name, number + 1)):
            try:
                attrs = node_attributes(node)
                strings = constant_strings(node, attrs)
                if strings is not None:
                    scope.mark_text(node.output[0], strings)
                elif not self._is_known(node, scope, attrs):
                    self._convert(node, scope, name, attrs)
            except (OpError, CallTimeout, CallCancelled):
                raise
            except _MISFITS as err:
                raise OpConversionError(
                    message(
                        f"from_onnx: node {name!r} ({node.op_type}) cannot be converted",
                        found=f"no {err}" if isinstance(err, KeyError) else str(err).strip(),
                        where=f"node number {number} of the graph",
                    )
                ) from err

    def _is_known(self, node: Any, scope: Scope, attrs: dict[str, Any]) -> bool:
        """Whether importing knows the value now, which is made a tensor only where one is read."""

        def computed(values: Sequence[Any]) -> Any:
            return evaluate_node(node, scope.opsets, values)

        return operator_name(node) == node.op_type and scope.known.evaluate(
            node.op_type, node.input, node.output, attrs, scope.info, computed, self.bb
        )

    def _convert(self, node: Any, scope: Scope, name: str, attrs: dict[str, Any]) -> None:
        own = self.functions.get((node.domain, node.op_type))
        if own is not None:
            self._call(node, own, scope, name)
            return
        opset = opset_of(scope.opsets, node.domain)
        converter = find_converter(operator_name(node), opset)
        if converter is not None and self._converted(converter, node, scope, name, attrs, opset):
            return
        infos = [self._info_of(scope.read(i, self.bb)) if i else None for i in node.input]
        body = body_of(node, opset, infos)
        if body is None:
            converter = contributed(node)
            if converter is not None and self._converted(converter, node, scope, name, attrs, 1):
                return
            raise OpNotImplemented(
                message(
                    f"The following operators are not supported for frontend ONNX: {node.op_type}",
                    where=f"node {name!r}",
                )
            )
        self._call(with_defaults(node, opset), body, scope, name)

    def _converted(
        self, converter: Converter, node: Any, scope: Scope, name: str, attrs: dict[str, Any],
        opset: int,
    ) -> bool:  # fmt: skip
        """Bind what a converter makes of a node; False if the node's body is the better way."""
        view = Node(node, name, attrs, opset, self, scope)
        reconcile(view)
        try:
            result = converter(view)
        except AsDefined:
            return False
        for output in text_outputs(node, scope):
            scope.mark_text(output)
        _bind(self.bb, node, result, scope)
        return True

    def _info_of(self, value: RelaxExpr) -> StructInfo | None:
        """The struct info of a value; of an object that holds tensors, that of a tuple of one."""
        held = self.given.get(value)
        return value.struct_info_ if held is None else TupleStructInfo([held.item])

    def _call(self, node: Any, body: Any, scope: Scope, name: str) -> None:
        """Convert a function's body in the place of a node that calls it."""
        inner, nodes = self._opened(node, body, scope, name)
        reader = self.within(deeper=1)
        reader.nodes(nodes, inner, f"{name}/")
        _bind_results(body, node, inner, scope)

    def _opened(self, node: Any, body: Any, scope: Scope, name: str) -> tuple[Scope, list[Any]]:
        """What the body of a function sees where a node calls it, and its nodes."""
        if self.depth >= DEEPEST:
            raise OpConversionError(
                message(
                    f"from_onnx: the body of {node.op_type!r} has no end",
                    where=f"node {name[:200]!r}",
                    legal=f"up to {DEEPEST} functions within functions",
                )
            )
        own = {entry.domain: int(entry.version) for entry in body.opset_import}
        asked = [f for f, actual in zip(body.output, node.output) if scope.is_read(actual)]
        inner = Scope({**scope.opsets, **own}, read=names_read(body.node, asked))
        for formal, actual in zip(body.input, node.input):
            if actual:
                inner.bind(formal, Ref(scope, actual))
        given = {attr.name: attr for attr in body.attribute_proto}
        given |= {attr.name: attr for attr in node.attribute}
        left_out = set(body.input[len(node.input) :])
        left_out |= {f for f, actual in zip(body.input, node.input) if not actual}
        nodes = [_without(bound_attributes(inside, given), left_out) for inside in body.node]
        return inner, nodes

    def _check_inputs(self, node: Any, scope: Scope, name: str) -> None:
        """Every value that a node reads must have been made before it."""
        for read in node.input:
            if read and not scope.has(read):
                _refuse_unmade(read, f"input of node {name!r} ({node.op_type})", scope)


Way: TypeAlias = "Callable[[], RelaxExpr]"


def branches(
    bb: BlockBuilder, condition: RelaxExpr, ways: Sequence[Way]
) -> tuple[SeqExpr, SeqExpr] | Way:
    """The two ways behind a condition as branches; or the only one that can be gone.

    What is wrong with the other is then said by a check of the condition: runtimes find it when
    they get there, and exporters write branches that no input reaches.
    """
    made: list[SeqExpr | OpError] = []
    for way in ways:
        try:
            made.append(branch(bb, way))
        except OpError as error:
            made.append(error)
    yes, no = made
    if isinstance(yes, SeqExpr) and isinstance(no, SeqExpr):
        return yes, no
    if isinstance(yes, OpError) and isinstance(no, OpError):
        raise yes
    wrong, wanted = (yes, False) if isinstance(yes, OpError) else (no, True)
    text = str(wrong).replace("{", "{{").replace("}", "}}")
    bb.emit(op.assert_op(condition if wanted else _negated(bb, condition), format=text))
    return ways[0 if wanted else 1]


def _negated(bb: BlockBuilder, condition: RelaxExpr) -> RelaxExpr:
    if isinstance(condition, PrimValue):
        return PrimValue(Not(condition.value))
    return bb.emit(op.logical_not(condition))


def _bind_results(body: Any, node: Any, inner: Scope, scope: Scope) -> None:
    """The results of a function's body as those of the node that calls it."""
    for formal, actual in zip(body.output, node.output):
        if actual and inner.has(formal):
            scope.bind(actual, Ref(inner, formal))


def _in_order(nodes: Sequence[Any]) -> list[tuple[int, Any]]:
    """Nodes with their numbers, each behind those that make what it reads.

    Models should be written so; runtimes sort those that are not.
    """
    maker = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needs = [{maker[name] for name in _reads(node) if name in maker} for node in nodes]
    if all(max(need, default=-1) < i for i, need in enumerate(needs)):
        return list(enumerate(nodes))
    readers: list[list[int]] = [[] for _ in nodes]
    for i, need in enumerate(needs):
        for made in need:
            readers[made].append(i)
    missing = [len(need) for need in needs]
    ready = [i for i, count in enumerate(missing) if not count]  # sorted: a heap
    order: list[tuple[int, Any]] = []
    while ready:
        first = heapq.heappop(ready)
        order.append((first, nodes[first]))
        for reader in readers[first]:
            missing[reader] -= 1
            if not missing[reader]:
                heapq.heappush(ready, reader)
    if len(order) < len(nodes):
        return list(enumerate(nodes))  # a circle: what it reads is missed where it is read
    return order


def names_read(nodes: Iterable[Any], outputs: Iterable[str]) -> set[str]:
    """The names of values that nodes read, in graphs within as well, or that are results."""
    return {name for node in nodes for name in _reads(node)}.union(outputs)


def _reads(node: Any) -> list[str]:
    """The names of what a node reads, in graphs within as well."""
    inner = [name for graph in inner_graphs(node) for name in _free_names(graph, set())]
    return [*node.input, *inner]


def _without(node: Any, names: set[str]) -> Any:
    """The node with inputs left out that the caller of its function leaves out."""
    if not names.intersection(node.input):
        return node
    copy = type(node)()
    copy.CopyFrom(node)
    del copy.input[:]
    copy.input.extend("" if name in names else name for name in node.input)
    return copy


def _refuse_unmade(name: str, where: str, scope: Scope) -> NoReturn:
    raise TVMError(
        message(
            f"from_onnx: no node or input gives the value {name!r}"
            f"{did_you_mean(name, scope.names())}",
            where=where,
            legal="a graph in which every value is made before it is read",
        )
    )


def _bind(bb: BlockBuilder, node: Any, result: Result, scope: Scope) -> None:
    parts: Sequence[RelaxExpr | Ref]
    if not isinstance(result, RelaxExpr):
        parts = [part if isinstance(part, Ref) else _emit(bb, part) for part in result]
    else:
        value = _emit(bb, result)
        info = value.struct_info
        if isinstance(info, TupleStructInfo) and len(node.output) >= 1:
            parts = [bb.emit(TupleGetItem(value, i)) for i in range(len(info.fields))]
        else:
            parts = [value]
    for output, part in zip(node.output, parts):
        if output:
            scope.bind(output, part)


def _emit(bb: BlockBuilder, value: RelaxExpr) -> RelaxExpr:
    normal = bb.normalize(value)
    if not isinstance(normal, (Var, Constant)):
        normal = bb.emit(normal)
    return with_extents(bb, normal)


class Subgraph:
    """The graph in an attribute of a node, which is read in place, any number of times."""

    def __init__(self, reader: GraphReader, graph: Any, scope: Scope, name: str) -> None:
        self._reader = reader
        self._graph = graph
        self._scope = scope
        self._name = name
        self.inputs = [value.name for value in graph.input]
        self.outputs = [value.name for value in graph.output]

    def read(
        self, values: Sequence[Ref], bb: BlockBuilder | None = None, around: Scope | None = None
    ) -> list[Ref]:
        """The outputs for these inputs; `around` stands for the scope that the graph sees."""
        reader = self._reader
        if bb is not None:
            reader = reader.within(bb)
        scope = self._opened(values, self._scope if around is None else around)
        found = reader.values(self._graph.node, scope, self.outputs, f"{self._name}/")
        for ref in found:
            if not ref.scope.has(ref.name):
                where = f"output of the graph in node {self._name!r}"
                _refuse_unmade(ref.name, where, ref.scope)
        return found

    def run(self, then: Callable[[list[Ref]], RelaxExpr]) -> RelaxExpr:
        """What `then` makes of the outputs, within every fork that there is on the way."""
        scope = self._opened([], self._scope)

        def outputs(found: Scope) -> RelaxExpr:
            return then([Ref(found, name) for name in self.outputs])

        nodes = _in_order(list(self._graph.node))
        return self._reader._results(nodes, scope, outputs, f"{self._name}/")

    def _opened(self, values: Sequence[Ref], outer: Scope) -> Scope:
        """The scope that the nodes of the graph see."""
        scope = Scope(outer.opsets, outer, names_read(self._graph.node, self.outputs))
        for tensor in weights_of(self._graph):
            add_weight(scope, tensor)
        for name, value in zip(self.inputs, values):
            scope.bind(name, value)
        return scope

    def appends(self, given: int, made: int) -> bool:
        """Whether an output is an input, a sequence, with one item more, and that is its use."""
        if given >= len(self.inputs) or made >= len(self.outputs):
            return False
        made_by = {name: node for node in self._graph.node for name in node.output}
        before, after = self.inputs[given], made_by.get(self.outputs[made])
        for _ in self._graph.node:  # no more steps than nodes, should they go in circles
            if after is None or after.op_type != "Identity" or not after.input:
                break
            after = made_by.get(after.input[0])
        if after is None or after.op_type != "SequenceInsert" or len(after.input) < 2:
            return False
        if list(after.input)[2:] not in ([], [""]):
            return False
        reads = [name for node in self._graph.node for name in node.input]
        reads += [n for node in self._graph.node for g in inner_graphs(node)
                  for n in _free_names(g, set())]  # fmt: skip
        return after.input[0] == before and reads.count(before) == 1

    def free_names(self) -> list[str]:
        """The names that the graph reads of the scope around it, in order."""
        return list(dict.fromkeys(_free_names(self._graph, set())))

    def size(self) -> int:
        """How many nodes there are, with those of graphs within."""
        return _size(self._graph)


def add_weight(scope: Scope, tensor: Any) -> None:
    """A tensor of a graph, as a constant."""
    array = tensor_array(tensor)
    if array.dtype.kind in "OSU":
        scope.mark_text(tensor.name, array)
        return
    scope.bind(tensor.name, Constant(array, None, source_span(tensor.name, 0)))
    scope.known.add_constant(tensor.name, array)


def inner_graphs(node: Any) -> list[Any]:
    """The graphs in the attributes of a node."""
    return [attr.g for attr in node.attribute if attr.HasField("g")]


def _free_names(graph: Any, around: set[str]) -> list[str]:
    made = {value.name for value in graph.input} | set(weight_extents(graph)) | around
    free: list[str] = []
    for node in graph.node:
        free += [name for name in node.input if name and name not in made]
        for inner in inner_graphs(node):
            free += _free_names(inner, made)
        made |= set(node.output)
    return free + [value.name for value in graph.output if value.name not in made]


def _size(graph: Any) -> int:
    return sum(1 + sum(_size(inner) for inner in inner_graphs(node)) for node in graph.node)
