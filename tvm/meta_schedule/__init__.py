"""Schedules by search: spaces of schedules, strategies that look in them, measurements, records.

    database = meta_schedule.tune_tir(mod, target, work_dir, max_trials_global=64)
    schedule = meta_schedule.tir_integration.compile_tir(database, mod, target)
"""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_dir, lazy_names

_CHILDREN = (
    "arg_info", "builder", "cost_model", "database", "extracted_task", "feature_extractor",
    "logging", "measure_callback", "module_equality", "mutator", "post_optimization", "postproc",
    "profiler", "relax_integration", "relay_integration", "runner", "schedule", "schedule_rule",
    "search_strategy", "space_generator", "task_scheduler", "testing", "tir_integration",
    "trace_apply", "tune", "tune_context", "utils",
)  # fmt: skip
_HOME = "tvm.meta_schedule"
_HOMES = {
    "Builder": f"{_HOME}.builder:Builder",
    "CostModel": f"{_HOME}.cost_model:CostModel",
    "Database": f"{_HOME}.database:Database",
    "ExtractedTask": f"{_HOME}.extracted_task:ExtractedTask",
    "FeatureExtractor": f"{_HOME}.feature_extractor:FeatureExtractor",
    "MeasureCallback": f"{_HOME}.measure_callback:MeasureCallback",
    "MeasureCandidate": f"{_HOME}.search_strategy:MeasureCandidate",
    "Mutator": f"{_HOME}.mutator:Mutator",
    "Postproc": f"{_HOME}.postproc:Postproc",
    "Profiler": f"{_HOME}.profiler:Profiler",
    "Runner": f"{_HOME}.runner:Runner",
    "ScheduleRule": f"{_HOME}.schedule_rule:ScheduleRule",
    "SearchStrategy": f"{_HOME}.search_strategy:SearchStrategy",
    "SpaceGenerator": f"{_HOME}.space_generator:SpaceGenerator",
    "TaskScheduler": f"{_HOME}.task_scheduler:TaskScheduler",
    "TuneContext": f"{_HOME}.tune_context:TuneContext",
    "derived_object": f"{_HOME}.utils:derived_object",
    "tune_tasks": f"{_HOME}.tune:tune_tasks",
    "tune_tir": f"{_HOME}.tir_integration:tune_tir",
}

if TYPE_CHECKING:
    from .builder import Builder as Builder
    from .cost_model import CostModel as CostModel
    from .database import Database as Database
    from .extracted_task import ExtractedTask as ExtractedTask
    from .feature_extractor import FeatureExtractor as FeatureExtractor
    from .measure_callback import MeasureCallback as MeasureCallback
    from .mutator import Mutator as Mutator
    from .postproc import Postproc as Postproc
    from .profiler import Profiler as Profiler
    from .runner import Runner as Runner
    from .schedule_rule import ScheduleRule as ScheduleRule
    from .search_strategy import MeasureCandidate as MeasureCandidate
    from .search_strategy import SearchStrategy as SearchStrategy
    from .space_generator import SpaceGenerator as SpaceGenerator
    from .task_scheduler import TaskScheduler as TaskScheduler
    from .tir_integration import tune_tir as tune_tir
    from .tune import tune_tasks as tune_tasks
    from .tune_context import TuneContext as TuneContext
    from .utils import derived_object as derived_object
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
