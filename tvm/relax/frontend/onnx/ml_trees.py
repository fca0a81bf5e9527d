"""Forests (ai.onnx.ml): one kernel finds each row's leaf in each tree, and adds what it says."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.tir import ir_builder

from .ml_models import labels_of, transformed
from .ml_tables import DOMAIN, as_float, class_labels
from .node import Node
from .registry import Result, convert

_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ",
          "BRANCH_MEMBER", "LEAF")  # fmt: skip
_LEAF = _MODES.index("LEAF")
_MEMBER = _MODES.index("BRANCH_MEMBER")
_CHAINS = 8  # trees that are descended at once, at most
_ROWS = 64  # that go down the same trees one after the other
_START = {"SUM": 0.0, "AVERAGE": 0.0, "MIN": np.inf, "MAX": -np.inf}


@dataclass
class _Forest:
    """Trees as columns over all their nodes; a leaf follows itself."""

    modes: Any
    features: Any
    splits: Any
    true: Any
    false: Any
    missing_true: Any
    members: Any  # (nodes, largest set) of what a member test compares with, filled with NaN
    roots: Any
    weights: Any  # (nodes, targets)
    given: Any  # (nodes, targets): where a leaf has a weight

    def filled(self) -> _Forest:
        """With trees of one leaf that says nothing behind the others, to make whole groups."""
        missing = -len(self.roots) % min(_CHAINS, len(self.roots))
        leaf = len(self.modes)

        def longer(column: Any, last: Any) -> Any:
            return np.concatenate([column, np.full((1, *column.shape[1:]), last, column.dtype)])

        return _Forest(
            longer(self.modes, _LEAF), longer(self.features, 0), longer(self.splits, 0),
            longer(self.true, leaf), longer(self.false, leaf), longer(self.missing_true, False),
            longer(self.members, np.nan), np.append(self.roots, np.full(missing, leaf)),
            longer(self.weights, 0), longer(self.given, False),
        )  # fmt: skip

    def groups(self) -> tuple[Any, Any]:
        """Trees of like depths together, and how many steps lead to the last leaf of each group."""
        depths = self._depths()
        order, chains = np.argsort(depths, kind="stable"), min(_CHAINS, len(depths))
        return order.astype(np.int64), depths[order].reshape(-1, chains).max(1)

    def _depths(self) -> Any:
        """How many steps lead from each root to the last of its leaves."""
        trees, here = np.arange(len(self.roots)), np.asarray(self.roots)
        depths, steps = np.zeros(len(self.roots), np.int64), 0
        while len(here):
            inner = self.modes[here] != _LEAF
            depths[trees] = steps
            both = [self.true[here[inner]], self.false[here[inner]]]
            trees, here = np.tile(trees[inner], 2), np.concatenate(both)
            trees, here = np.unique(np.stack([trees, here]), axis=1)
            steps += 1
            if steps > len(self.modes) + 1:
                raise ValueError("the nodes of a tree follow each other in a circle")
        return depths


def _reduced(node: Node, forest: _Forest, x: RelaxExpr, how: str) -> RelaxExpr:
    """(rows, features) -> (rows, targets): the weights of the leaves that the trees end in."""
    dtype = str(x.struct_info.dtype)  # type: ignore[attr-defined]
    present = [int(m) for m in np.unique(forest.modes) if m != _LEAF] or [0]
    order, depths = forest.groups()
    # what a step needs of a node lies together, in one line of the cache
    bits = np.dtype(f"int{8 * np.dtype(dtype).itemsize}")
    missing = bool(forest.missing_true.any())
    features = forest.features * 2 + forest.missing_true if missing else forest.features
    steps = np.stack([features, forest.true, forest.false], 1).astype(bits)
    steps = np.concatenate([steps, forest.splits.astype(dtype).view(bits)[:, None]], 1)
    tables = {"steps": steps, "roots": forest.roots[order], "depths": depths}
    if len(present) > 1:
        tables["modes"] = forest.modes
    if _MEMBER in present:
        tables["members"] = forest.members.astype(dtype)
    weights = forest.weights
    if how in ("MIN", "MAX"):  # a leaf without a weight has no say
        weights = np.where(forest.given, weights, _START[how]).astype(weights.dtype)
    tables["weights"] = weights
    if weights.shape[1] > 1 and forest.given.sum(1).max(initial=0) <= 1:
        # each leaf speaks of one target
        tables["targets"] = target = forest.given.argmax(1)
        tables["weights"] = np.take_along_axis(weights, target[:, None], 1)
    kernel = _Descent(present, missing, how, weights.shape[1])

    def compute(*tensors: te.Tensor) -> Any:
        shape = (tensors[0].shape[0], weights.shape[1])

        def body(ins: Any, outs: Any) -> Any:
            return kernel(ins[0], dict(zip(tables, ins[1:])), outs[0])

        return te.extern(shape, list(tensors), body, name="scores", dtype=str(weights.dtype))

    constants = [Constant(table) for table in tables.values()]
    return node.bb.emit_te(compute, x, *constants, primfunc_name_hint="scores")


@dataclass(frozen=True)
class _Descent:
    """Each row down each tree, several trees at once: places that move from node to node.

    A step waits for what the one before has found; the steps of other trees fill that time. The
    nodes of these trees stay in the nearest cache while a block of rows goes down them. With
    `missing`, a node's feature is followed by a bit that tells where what is missing goes.
    """

    present: list[int]
    missing: bool
    how: str
    targets: int

    def __call__(self, rows: Any, tables: dict[str, Any], out: Any) -> Any:
        ib = ir_builder.create()
        table = {name: ib.buffer_ptr(buffer) for name, buffer in tables.items()}
        x, scores = ib.buffer_ptr(rows), ib.buffer_ptr(out)
        groups, count = tables["depths"].shape[0], out.shape[0]
        chains = int(tables["roots"].shape[0]) // int(groups)
        start = tir.const(_START[self.how], out.dtype)
        with ib.for_range(0, tir.indexdiv(count + (_ROWS - 1), _ROWS), "block",
                          dtype="int64") as block:  # fmt: skip
            inside = tir.min(_ROWS, count - block * _ROWS)
            with (
                ib.for_range(0, inside, "first", dtype="int64") as row,
                ib.for_range(0, self.targets, "target", dtype="int64") as target,
            ):
                scores[block * _ROWS + row, target] = start
            with (
                ib.for_range(0, groups, "group", dtype="int64") as group,
                ib.for_range(0, inside, "row", dtype="int64") as number,
            ):
                row = block * _ROWS + number
                places = ib.allocate("int64", (chains,), name="places", scope="local")
                for chain in range(chains):
                    places[chain] = table["roots"][group * chains + chain]
                with ib.for_range(0, table["depths"][group], "level", dtype="int64"):
                    for chain in range(chains):
                        places[chain] = self._next(x, row, table, tables, places[chain])
                for chain in range(chains):
                    self._add(ib, scores, row, table, places[chain])
        return ib.get()

    def _next(
        self, x: Any, row: Any, table: dict[str, Any], tables: dict[str, Any], here: Any
    ) -> Any:
        """Where a row goes from a node."""
        steps = table["steps"]
        feature = steps[here, 0]
        follows = tir.bitwise_and(feature, tir.const(1, feature.dtype))
        if self.missing:
            feature = tir.shift_right(feature, tir.const(1, feature.dtype))
        value = x[row, feature.astype("int64")]
        split = tir.reinterpret(str(value.dtype), steps[here, 3])
        taken = _taken(table, tables, self.present, here, value, split)
        if self.missing:  # bits, and no branches: which way a row goes is not foreseen
            absent = tir.bitwise_and(tir.isnan(value), follows != tir.const(0, follows.dtype))
            taken = tir.bitwise_or(taken, absent)
        return tir.Select(taken, steps[here, 1], steps[here, 2]).astype("int64")

    def _add(self, ib: Any, scores: Any, row: Any, table: dict[str, Any], leaf: Any) -> None:
        """What a leaf says, to the scores of its row."""
        together = {"MIN": tir.min, "MAX": tir.max}.get(self.how, operator.add)
        if "targets" in table:
            target = table["targets"][leaf]
            scores[row, target] = together(scores[row, target], table["weights"][leaf, 0])
            return
        with ib.for_range(0, self.targets, "target", dtype="int64") as target:
            weight = table["weights"][leaf, target]
            scores[row, target] = together(scores[row, target], weight)


def _taken(
    table: dict[str, Any], tables: dict[str, Any], present: list[int], here: Any, value: Any,
    split: Any,
) -> Any:  # fmt: skip
    """Whether the true branch of a node is that of a value."""
    members = table.get("members")
    width = tables["members"].shape[1] if members is not None else 0
    taken = _test(present[0], value, split, members, here, width)
    for mode in present[1:]:
        other = _test(mode, value, split, members, here, width)
        taken = tir.Select(table["modes"][here] == tir.const(mode, "int64"), other, taken)
    return taken


def _test(mode: int, value: Any, split: Any, members: Any, here: Any, width: Any) -> Any:
    if mode == _MEMBER:
        return reduce(tir.bitwise_or, (value == members[here, k] for k in range(int(width))))
    tests = (
        operator.le, operator.lt, operator.ge, operator.gt, operator.eq, operator.ne,
    )  # fmt: skip
    return tests[mode](value, split)


def _scores(node: Node, forest: _Forest, how: str, base: Any) -> RelaxExpr:
    """(rows, targets): the weights of the leaves of all trees, together with the base values."""
    x = as_float(node)
    if node.rank(0) == 1:
        x = node.bb.emit(op.expand_dims(x, [0]))
    total = _reduced(node, forest.filled(), x, how)
    if how in ("MIN", "MAX"):
        zero = Constant(np.zeros((), forest.weights.dtype))
        total = node.bb.emit(op.where(op.isfinite(total), total, zero))
    if how == "AVERAGE":
        total = node.bb.emit(
            op.divide(total, Constant(np.asarray(len(forest.roots), forest.weights.dtype)))
        )
    if base is not None and len(base):
        total = node.bb.emit(op.add(total, Constant(np.asarray(base, forest.weights.dtype))))
    return total


def _listed(node: Node, prefix: str, targets: int) -> _Forest:
    """The forest of the older operators: lists over nodes, and over weights of leaves."""

    def attr(name: str) -> Any:
        tensor = node.attr(f"{name}_as_tensor")
        return np.asarray(node.attr(name, []) if tensor is None else tensor)

    keys = list(zip(node.attr("nodes_treeids"), node.attr("nodes_nodeids")))
    number = {key: i for i, key in enumerate(keys)}
    modes = np.array([_mode(node, name) for name in node.attr("nodes_modes")], np.int64)
    dtype = np.float64 if node.attr("nodes_values_as_tensor") is not None else np.float32

    def follow(name: str) -> Any:
        ids = node.attr(name)
        return np.array([i if modes[i] == _LEAF else number[keys[i][0], ids[i]]
                         for i in range(len(keys))], np.int64)  # fmt: skip

    weights = np.zeros((len(keys), targets), dtype)
    given = np.zeros((len(keys), targets), bool)
    for tree, leaf, target, weight in zip(
        node.attr(f"{prefix}_treeids"), node.attr(f"{prefix}_nodeids"), node.attr(f"{prefix}_ids"),
        attr(f"{prefix}_weights"),
    ):  # fmt: skip
        weights[number[tree, leaf], target] += weight
        given[number[tree, leaf], target] = True
    true, false = follow("nodes_truenodeids"), follow("nodes_falsenodeids")
    missing = np.asarray(node.attr("nodes_missing_value_tracks_true") or [0] * len(keys), bool)
    first: dict[Any, int] = {}
    for i, (tree, _) in enumerate(keys):
        first.setdefault(tree, i)  # the first node of a tree is its root
    return _Forest(
        modes, np.asarray(node.attr("nodes_featureids"), np.int64),
        attr("nodes_values").astype(dtype), true, false, missing,
        np.full((len(keys), 1), np.nan, dtype),
        np.array(list(first.values()), np.int64), weights, given,
    )  # fmt: skip


def _mode(node: Node, name: str) -> int:
    if name not in _MODES:
        raise node.invalid("nodes_modes", name, ", ".join(_MODES))
    return _MODES.index(name)


@convert(DOMAIN + "TreeEnsembleRegressor")
def tree_ensemble_regressor(node: Node) -> Result:
    targets = int(node.attr("n_targets", 1))
    forest = _listed(node, "target", targets)
    how = str(node.attr("aggregate_function", "SUM"))
    base = node.attr("base_values_as_tensor")
    scores = _scores(node, forest, how, node.attr("base_values") if base is None else base)
    return op.astype(transformed(node, scores), "float32")


@convert(DOMAIN + "TreeEnsembleClassifier")
def tree_ensemble_classifier(node: Node) -> Result:
    """The label of the largest score, and all scores."""
    labels = class_labels(node, "classlabels_int64s")
    forest = _listed(node, "class", len(labels))
    base = node.attr("base_values_as_tensor")
    base = node.attr("base_values") if base is None else base
    used = sorted(set(node.attr("class_ids")))
    if len(labels) == 2 and len(used) == 1:
        return _two_classes(node, forest, used[0], base, labels)
    scores = node.bb.emit(op.astype(_scores(node, forest, "SUM", base), "float32"))
    return [labels_of(node, op.argmax(scores, 1), labels), transformed(node, scores)]


def _two_classes(node: Node, forest: _Forest, used: int, base: Any, labels: Any) -> list[RelaxExpr]:
    """Weights of one class only: its score tells two classes apart.

    Weights that are all positive are probabilities, and 0.5 is the border; else it is 0.
    """
    forest.weights, forest.given = forest.weights[:, [used]], forest.given[:, [used]]
    own = None if base is None or not len(base) else [base[-1]]
    score = node.bb.emit(op.astype(_scores(node, forest, "SUM", own), "float32"))
    probable = bool((forest.weights[forest.given] >= 0).all())
    border = Constant(np.float32(0.5 if probable else 0.0))
    place = op.astype(op.greater(op.squeeze(score, [1]), border), "int64")
    label = labels_of(node, place, labels)
    kind = str(node.attr("post_transform", "NONE"))
    if probable:
        other = op.subtract(Constant(np.float32(1)), score)
        return [label, op.concat([node.bb.emit(other), score], 1)]
    pair = node.bb.emit(op.concat([node.bb.emit(op.negative(score)), score], 1))
    return [label, transformed(node, pair) if kind == "LOGISTIC" else pair]


@convert(DOMAIN + "TreeEnsemble", since=5)
def tree_ensemble(node: Node) -> Result:
    """The newer form: inner nodes and leaves have lists of their own."""
    how = ("AVERAGE", "SUM", "MIN", "MAX")[int(node.attr("aggregate_function", 1))]
    kinds = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
    node.attrs["post_transform"] = kinds[int(node.attr("post_transform", 0))]
    return transformed(node, _scores(node, _split_lists(node), how, None))


def _split_lists(node: Node) -> _Forest:
    splits = np.asarray(node.attr("nodes_splits"))
    inner, dtype = len(splits), splits.dtype
    leaf_weights = np.asarray(node.attr("leaf_weights"), dtype)
    every = inner + len(leaf_weights)

    def follow(name: str) -> Any:
        ids, are_leaves = node.attr(f"nodes_{name}nodeids"), node.attr(f"nodes_{name}leafs")
        found = [inner + i if leaf else i for i, leaf in zip(ids, are_leaves)]
        return np.array([*found, *range(inner, every)], np.int64)

    def filled(values: Any, kind: Any) -> Any:
        return np.concatenate([np.asarray(values, kind), np.zeros(every - inner, kind)])

    # modes are the places of their names among those of the older operators
    modes = np.concatenate([np.asarray(node.attr("nodes_modes"), np.int64),
                            np.full(every - inner, _LEAF, np.int64)])  # fmt: skip
    targets = int(node.attr("n_targets", 1))
    weights, given = np.zeros((every, targets), dtype), np.zeros((every, targets), bool)
    for i, (target, weight) in enumerate(zip(node.attr("leaf_targetids"), leaf_weights)):
        weights[inner + i, target], given[inner + i, target] = weight, True
    missing = node.attr("nodes_missing_value_tracks_true") or [0] * inner
    return _Forest(
        modes, filled(node.attr("nodes_featureids"), np.int64), filled(splits, dtype),
        follow("true"), follow("false"), filled(missing, bool),
        _member_sets(node, modes, dtype), np.asarray(node.attr("tree_roots"), np.int64),
        weights, given,
    )  # fmt: skip


def _member_sets(node: Node, modes: Any, dtype: Any) -> Any:
    """The sets of member tests stand one after the other, each ended by a NaN."""
    values = node.attr("membership_values")
    sets: list[list[float]] = [[]]
    for value in [] if values is None else values.reshape(-1):
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(float(value))
    width = max(max(len(one) for one in sets), 1)
    table = np.full((len(modes), width), np.nan, dtype)
    for place, one in zip(np.flatnonzero(modes == _MEMBER), sets):
        table[place, : len(one)] = one
    return table
