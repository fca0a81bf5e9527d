"""Schedules by search: spaces of schedules, strategies that look in them, measurements, records.

    database = meta_schedule.tune_tir(mod, target, work_dir, max_trials_global=64)
    schedule = meta_schedule.tir_integration.compile_tir(database, mod, target)
"""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_CHILDREN = (
    "arg_info", "builder", "cost_model", "database", "extracted_task", "feature_extractor",
    "logging", "measure_callback", "module_equality", "mutator", "post_optimization", "postproc",
    "profiler", "relax_integration", "runner", "schedule", "schedule_rule", "search_strategy",
    "space_generator", "task_scheduler", "testing", "tir_integration", "trace_apply", "tune",
    "tune_context", "utils",
)  # fmt: skip
_HOME = "tvm.meta_schedule"
_HOMES = {
    "Builder": f"{_HOME}.builder:Builder",
    "FeatureExtractor": f"{_HOME}.feature_extractor:FeatureExtractor",
    "MeasureCandidate": f"{_HOME}.search_strategy:MeasureCandidate",
    "Mutator": f"{_HOME}.mutator:Mutator",
    "Postproc": f"{_HOME}.postproc:Postproc",
    "Profiler": f"{_HOME}.profiler:Profiler",
    "ScheduleRule": f"{_HOME}.schedule_rule:ScheduleRule",
    "SearchStrategy": f"{_HOME}.search_strategy:SearchStrategy",
    "SpaceGenerator": f"{_HOME}.space_generator:SpaceGenerator",
    "TuneContext": f"{_HOME}.tune_context:TuneContext",
    "derived_object": f"{_HOME}.utils:derived_object",
}

if TYPE_CHECKING:
    from .feature_extractor import FeatureExtractor as FeatureExtractor
    from .mutator import Mutator as Mutator
    from .postproc import Postproc as Postproc
    from .schedule_rule import ScheduleRule as ScheduleRule
    from .search_strategy import MeasureCandidate as MeasureCandidate
    from .search_strategy import SearchStrategy as SearchStrategy
    from .space_generator import SpaceGenerator as SpaceGenerator
    from .tune_context import TuneContext as TuneContext
    from .utils import derived_object as derived_object
else:
    __getattr__ = lazy_names(__name__, _HOMES, _CHILDREN)

__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
