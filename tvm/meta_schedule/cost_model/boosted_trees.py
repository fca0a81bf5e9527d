"""Gradient-boosted regression trees in numpy.

Trees grow level by level. A split maximises the second-order gain of Chen and Guestrin, "XGBoost: A
Scalable Tree Boosting System" (KDD 2016), among the borders of at most 64 bins a feature, which are
quantiles of its values, as in Ke et al., "LightGBM" (NIPS 2017). Nothing is drawn at random: the
same data give the same trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
# Predictions of all rows -> first and second derivative of the loss in each of them.
Objective: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]

_BINS: Final = 64
_LAMBDA: Final = 1.0  # pulls the values of leaves to zero


class Tree(NamedTuple):
    """Nodes in arrays; a leaf has feature -1. Rows with `x <= threshold` go left."""

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats

    def predict(self, rows: npt.NDArray[np.float32]) -> Floats:
        """The value of the leaf that each row falls into."""
        at = np.zeros(len(rows), np.int64)
        every = np.arange(len(rows))
        while (self.feature[at] >= 0).any():
            feature = self.feature[at]
            goes_left = rows[every, np.maximum(feature, 0)] <= self.threshold[at]
            then = np.where(goes_left, self.left[at], self.right[at])
            at = np.where(feature >= 0, then, at)
        return self.value[at]


class Booster:
    """A sum of trees."""

    def __init__(self, max_depth: int, gamma: float, min_child_weight: float, eta: float) -> None:
        self.max_depth = max_depth
        self.gamma = gamma
        self.min_child_weight = min_child_weight
        self.eta = eta
        self.trees: list[Tree] = []

    def predict(self, rows: npt.NDArray[np.float32]) -> Floats:
        """The prediction for each row."""
        total = np.zeros(len(rows))
        for tree in self.trees:
            total += tree.predict(rows)
        return total

    def fit(
        self,
        rows: npt.NDArray[np.float32],
        objective: Objective,
        loss: Callable[[Floats], float],
        rounds: int,
        early_stopping_rounds: int,
    ) -> None:
        """Grow up to `rounds` trees; stop when the loss has not fallen for some rounds.

        What came after the lowest loss is dropped.
        """
        binned = _Binned(rows)
        total = np.zeros(len(rows))
        best, best_size = float("inf"), 0
        self.trees = []
        for _ in range(rounds):
            gradient, hessian = objective(total)
            tree, leaf_of_row = _Grower(self, binned, gradient, hessian).grow()
            self.trees.append(tree)
            total += tree.value[leaf_of_row]
            now = loss(total)
            if now < best * (1 - 1e-3):  # less is no progress
                best, best_size = now, len(self.trees)
            elif len(self.trees) - best_size >= early_stopping_rounds or len(tree.feature) == 1:
                break
        del self.trees[max(best_size, 1) :]

    # --- storing ---

    def arrays(self) -> dict[str, npt.NDArray[np.generic]]:
        """The trees as arrays, one after the other."""
        sizes = [len(tree.feature) for tree in self.trees]
        stored: dict[str, npt.NDArray[np.generic]] = {"tree_sizes": np.array(sizes, np.int64)}
        for i, name in enumerate(Tree._fields):
            parts: list[npt.NDArray[np.generic]] = [tree[i] for tree in self.trees]
            stored[f"tree_{name}"] = np.concatenate(parts) if parts else np.zeros(0)
        return stored

    def set_arrays(self, stored: dict[str, npt.NDArray[np.generic]]) -> None:
        """Take up what `arrays` gave."""
        ends = np.cumsum(stored["tree_sizes"].astype(np.int64))[:-1]
        parts = {n: np.split(stored[f"tree_{n}"], ends) for n in Tree._fields}
        count = len(stored["tree_sizes"])
        self.trees = [Tree(**{n: parts[n][i] for n in Tree._fields}) for i in range(count)]


class _Binned:
    """Rows as numbers of bins; features that do not vary are left out."""

    def __init__(self, rows: npt.NDArray[np.float32]) -> None:
        vary = np.flatnonzero(rows.max(axis=0) > rows.min(axis=0)) if len(rows) else np.zeros(0)
        self.features: Ints = vary.astype(np.int64)
        self.borders: list[Floats] = []
        bins = np.zeros((len(rows), len(self.features)), np.int64)
        for i, feature in enumerate(self.features):
            values = rows[:, feature]
            border = _borders(values)
            self.borders.append(border)
            bins[:, i] = np.searchsorted(border, values, side="left")
        self.bins = bins


def _borders(values: npt.NDArray[np.float32]) -> Floats:
    """Values between bins: all that occur if these are few, else quantiles; not the largest."""
    distinct = np.unique(values)
    if len(distinct) > _BINS:
        distinct = np.unique(np.quantile(values, np.linspace(0, 1, _BINS), method="lower"))
    return distinct[:-1].astype(np.float64)


class _Grower:
    """One tree, grown level by level; `at` is the node of each row."""

    def __init__(
        self, options: Booster, binned: _Binned, gradient: Floats, hessian: Floats
    ) -> None:
        self.options, self.binned = options, binned
        self.gradient, self.hessian = gradient, hessian
        self.at = np.zeros(len(gradient), np.int64)
        self.feature, self.threshold = [-1], [0.0]
        self.left, self.right = [0], [0]

    def grow(self) -> tuple[Tree, Ints]:
        """The tree, and the leaf of each row."""
        level = [0]
        for _ in range(self.options.max_depth):
            if not level or not len(self.binned.features):
                break
            level = self._split_level(level)
        grad = np.bincount(self.at, self.gradient, len(self.feature))
        hess = np.bincount(self.at, self.hessian, len(self.feature))
        value = -self.options.eta * grad / (hess + _LAMBDA)
        tree = Tree(
            np.array(self.feature, np.int64), np.array(self.threshold),
            np.array(self.left, np.int64), np.array(self.right, np.int64), value,
        )  # fmt: skip
        return tree, self.at

    def _split_level(self, level: Sequence[int]) -> list[int]:
        """Split those nodes of a level that gain by it; their children are the next level."""
        first = level[0]
        inside = np.flatnonzero(self.at >= first)
        node = self.at[inside] - first
        grad, hess = self._histograms(inside, node, len(level))
        gain = self._gains(grad, hess)
        best = gain.reshape(len(level), -1).argmax(axis=1)
        below: list[int] = []
        for i, number in enumerate(level):
            column, border = divmod(int(best[i]), _BINS)
            if gain[i, column, border] <= self.options.gamma:
                continue
            self._split(number, column, border)
            rows = inside[node == i]
            goes_left = self.binned.bins[rows, column] <= border
            self.at[rows] = np.where(goes_left, self.left[number], self.right[number])
            below += [self.left[number], self.right[number]]
        return below

    def _split(self, number: int, column: int, border: int) -> None:
        self.feature[number] = int(self.binned.features[column])
        self.threshold[number] = float(self.binned.borders[column][border])
        self.left[number], self.right[number] = len(self.feature), len(self.feature) + 1
        for _ in range(2):
            self.feature.append(-1)
            self.threshold.append(0.0)
            self.left.append(0)
            self.right.append(0)

    def _histograms(self, rows: Ints, node: Ints, nodes: int) -> tuple[Floats, Floats]:
        """Sums of both derivatives by node, feature and bin."""
        columns = len(self.binned.features)
        index = self.binned.bins[rows] + np.arange(columns) * _BINS
        index += (node * (columns * _BINS))[:, None]
        flat, size = index.ravel(), nodes * columns * _BINS
        shape = (nodes, columns, _BINS)
        grad: Any = np.bincount(flat, np.repeat(self.gradient[rows], columns), size)
        hess: Any = np.bincount(flat, np.repeat(self.hessian[rows], columns), size)
        return grad.reshape(shape), hess.reshape(shape)

    def _gains(self, grad: Floats, hess: Floats) -> Floats:
        """How much the loss falls by a split behind each bin."""
        left_g, left_h = grad.cumsum(axis=2), hess.cumsum(axis=2)
        all_g, all_h = left_g[:, :, -1:], left_h[:, :, -1:]
        right_g, right_h = all_g - left_g, all_h - left_h
        gain: Floats = 0.5 * (
            _score(left_g, left_h) + _score(right_g, right_h) - _score(all_g, all_h)
        )
        # a side without rows is no split; sums of what is left over are not exactly zero
        least = max(self.options.min_child_weight, 1e-9)
        gain[(left_h < least) | (right_h < least)] = -1.0
        return gain


def _score(gradient: Floats, hessian: Floats) -> Floats:
    scored: Floats = gradient * gradient / (np.maximum(hessian, 0.0) + _LAMBDA)
    return scored
