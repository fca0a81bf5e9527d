"""Strategies: which schedules of a space are measured, and when."""

from tvm.meta_schedule.measure_candidate import MeasureCandidate

from .evolutionary_search import EvolutionarySearch
from .replay_func import ReplayFunc
from .replay_trace import ReplayTrace
from .search_strategy import PySearchStrategy, SearchStrategy, create

__all__ = [
    "EvolutionarySearch", "MeasureCandidate", "PySearchStrategy", "ReplayFunc", "ReplayTrace",
    "SearchStrategy", "create",
]  # fmt: skip
