"""What was measured of one program: features of candidates, and the seconds they took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tvm.meta_schedule.runner import RunnerResult

    from .boosted_trees import Floats

# What stands for the time of a candidate that could not be measured.
FAILED_SECS = 1e10


class FeatureGroup:
    """`features[i]` are the rows of the candidate that took `costs[i]` seconds."""

    def __init__(
        self, group_hash: str, features: list[npt.NDArray[np.float32]], costs: Floats
    ) -> None:
        self.group_hash = group_hash
        self.features = list(features)
        self.costs = np.asarray(costs, np.float64)
        self.min_cost = float(np.min(self.costs))

    def append(self, features: list[npt.NDArray[np.float32]], costs: Floats) -> None:
        """Add candidates."""
        self.features.extend(features)
        self.costs = np.append(self.costs, costs)
        self.min_cost = float(np.min(self.costs))

    @staticmethod
    def to_arrays(groups: Mapping[str, FeatureGroup]) -> dict[str, npt.NDArray[Any]]:
        """Groups as arrays, one after the other."""
        features = [x for group in groups.values() for x in group.features]
        return {
            "group_hashes": np.array(list(groups), dtype=np.str_),
            "group_sizes": np.array([len(g.costs) for g in groups.values()], np.int64),
            "costs": np.concatenate([np.zeros(0), *(g.costs for g in groups.values())]),
            "row_counts": np.array([len(x) for x in features], np.int64),
            "rows": np.concatenate(features) if features else np.zeros((0, 0), np.float32),
        }

    @staticmethod
    def from_arrays(stored: Mapping[str, npt.NDArray[Any]]) -> dict[str, FeatureGroup]:
        """The groups of what `to_arrays` gave."""
        rows = np.split(stored["rows"], np.cumsum(stored["row_counts"]).tolist()[:-1])
        groups, begin = {}, 0
        for name, size in zip(stored["group_hashes"].tolist(), stored["group_sizes"].tolist()):
            end = begin + size
            groups[name] = FeatureGroup(name, rows[begin:end], stored["costs"][begin:end])
            begin = end
        return groups


def cost_of(result: RunnerResult) -> float:
    """The median of the measured seconds; very many for a failure."""
    return float(np.median(result.run_secs)) if result.run_secs else FAILED_SECS
