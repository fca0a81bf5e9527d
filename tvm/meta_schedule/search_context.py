"""What a search is about: a module, a target, random numbers. All parts of it may ask."""

from __future__ import annotations

from logging import Logger
from typing import Literal

from tvm.ffi.object import Object
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule.random_engine import RandomEngine

from .logging import get_logger
from .utils import cpu_count


class SearchContext(Object):
    """The module that is tuned, for which target, and with which means."""

    def __init__(
        self,
        mod: IRModule | PrimFunc | None = None,
        *,
        target: Target | str | None = None,
        task_name: str = "main",
        rand_state: int = -1,
        num_threads: int | Literal["physical", "logical"] = "physical",
        logger: Logger | None = None,
    ) -> None:
        self.mod: IRModule | None = None if mod is None else normalize_mod(mod)
        self.target: Target | None = None if target is None else Target(target)
        self.task_name = task_name
        self.num_threads = _threads(num_threads)
        self.logger = get_logger("tvm.meta_schedule.tune_context") if logger is None else logger
        self.known_s: float | None = None  # what the program takes before the search
        self.rule_first = False  # whether what the rules make is measured first
        self.reference: str | None = None  # a compiled file whose results are right
        self._engine = RandomEngine(rand_state)

    @property
    def rand_state(self) -> int:
        """The state of the random numbers of this search."""
        return self._engine.state

    def fork_seed(self) -> int:
        """A seed for a part that draws numbers of its own."""
        return self._engine.fork()


def normalize_mod(mod: IRModule | PrimFunc) -> IRModule:
    """A module to search for: a single function is called `main`, so that records find it."""
    if isinstance(mod, PrimFunc):
        if "global_symbol" not in mod.attrs:
            mod = mod.with_attr("global_symbol", "main")
        if "tir.noalias" not in mod.attrs:
            mod = mod.with_attr("tir.noalias", True)
        mod = IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise TypeError(f"Expected `mod` to be PrimFunc or IRModule, but gets: {mod}")
    gvars = list(mod.functions)
    if len(gvars) == 1 and gvars[0].name_hint != "main":
        return mod.with_functions({GlobalVar("main"): mod.functions[gvars[0]]})
    return mod


def _threads(num_threads: int | str) -> int:
    if isinstance(num_threads, int):
        return num_threads
    if num_threads not in ("physical", "logical"):
        raise ValueError(
            f"Invalid num_threads: {num_threads}, should be either an integer, 'physical', or "
            "'logical'"
        )
    return cpu_count(logical=num_threads == "logical")
