"""Make a module that shows a fault as small as it can be while it still shows it.

    def fails(mod):
        try:
            with PassContext(instruments=[tvm.instrument.Validate()]):
                pipeline(mod)
        except tvm.testing.ValidationError:
            return True
        return False

    tvm.testing.reduce(mod, fails).show()

Delta debugging over the structure of programs (Zeller and Hildebrandt, "Simplifying and isolating
failure-inducing input", 2002): functions, statements or bindings, expressions and numbers are
taken out or made simpler, large parts first, as long as `fails` stays true.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any, Final

from tvm.error import message
from tvm.ir.expr import GlobalVar
from tvm.ir.function import BaseFunc
from tvm.ir.json import load_json, save_json
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.relax.analysis.well_formed import faults_of
from tvm.relax.expr import Function
from tvm.relax.transform.dead_code_elimination import DeadCodeElimination
from tvm.tir.analysis import verify_well_formed
from tvm.tir.function import PrimFunc

from .reduce_relax import function_edits
from .reduce_tir import prim_func_edits

Edit = Callable[[], IRModule | None]
Step = Callable[[IRModule], Iterator[Edit]]
_LOG = logging.getLogger(__name__)
# a type that is often easier to look at, and often all that matters
_PLAINER: Final = {
    "float16": "float32", "bfloat16": "float32", "float64": "float32", "int64": "int32",
}  # fmt: skip


def reduce(
    mod: IRModule | BaseFunc, fails: Callable[[IRModule], bool], *, max_runs: int = 2000
) -> IRModule:
    """The smallest module found for which `fails` is true; the same at each run.

    `fails` gets well-formed modules; an exception in it counts as false. It is asked at most
    `max_runs` times. ValueError if it is false for `mod` itself.
    """
    start = mod if isinstance(mod, IRModule) else IRModule({GlobalVar("main"): mod})
    if not fails(start):
        raise ValueError(
            message(
                "tvm.testing.reduce: a module that shows a fault",
                found="fails(mod) is false for the module as it was given",
                legal="a module for which it is true",
            )
        )
    return _Search(start, fails, max_runs).run()


class _Search:
    """Takes every edit after which the fault is still there."""

    def __init__(self, mod: IRModule, fails: Callable[[IRModule], bool], runs: int) -> None:
        self.mod, self.fails, self.runs = mod, fails, runs

    def run(self) -> IRModule:
        steps: tuple[Step, ...] = (
            _fewer_functions, _cleaner, _smaller_functions, _smaller_numbers, _plainer_types,
        )  # fmt: skip
        progress = True
        while progress and self.runs > 0:
            progress = False
            for step in steps:
                progress |= self._take(step)
        return self.mod

    def _take(self, step: Step) -> bool:
        """Try the edits of one kind in order; after one is taken, go on from there."""
        at, taken = 0, False
        while True:
            for number, edit in enumerate(step(self.mod)):
                if number < at:
                    continue
                if self.runs <= 0:
                    return taken
                new = self._tried(edit)
                if new is not None:
                    self.mod, at, taken = new, number, True
                    break
            else:
                return taken

    def _tried(self, edit: Edit) -> IRModule | None:
        try:
            new = edit()
            if new is None or not _well_formed(new) or structural_equal(new, self.mod):
                return None
        except Exception as error:  # an edit that makes no sense for this program
            _LOG.debug("an edit is left out: %s", error)
            return None
        self.runs -= 1
        try:
            return new if self.fails(new) else None
        except Exception as error:  # another fault than the one that is looked for
            _LOG.debug("an edit is left out: %s", error)
            return None


def _well_formed(mod: IRModule) -> bool:
    kernels = (func for func in mod.functions.values() if isinstance(func, PrimFunc))
    graphs = any(isinstance(func, Function) for func in mod.functions.values())
    return all(verify_well_formed(func, False) for func in kernels) and not (
        graphs and faults_of(mod)
    )


# --- edits of whole modules ---


def _without(mod: IRModule, names: set[str]) -> IRModule:
    functions = {var: func for var, func in mod.functions.items() if var.name_hint not in names}
    return IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _fewer_functions(mod: IRModule) -> Iterator[Edit]:
    names = [var.name_hint for var, _ in mod.functions_items()]
    for part in parts(len(names)):
        gone = set(names[part])
        if len(gone) < len(names):
            yield lambda gone=gone: _without(mod, gone)  # type: ignore[misc]


def _cleaner(mod: IRModule) -> Iterator[Edit]:
    if any(isinstance(func, Function) for func in mod.functions.values()):
        yield lambda: _changed(mod, DeadCodeElimination()(mod))


def _changed(old: IRModule, new: IRModule) -> IRModule | None:
    return None if len(save_json(new)) >= len(save_json(old)) else new


def _smaller_functions(mod: IRModule) -> Iterator[Edit]:
    for var, func in mod.functions_items():
        if isinstance(func, PrimFunc):
            edits: Iterator[Callable[[], BaseFunc | None]] = prim_func_edits(func)
        elif isinstance(func, Function):
            edits = function_edits(func)
        else:
            continue
        for edit in edits:
            yield lambda var=var, func=func, edit=edit: _with(mod, var, func, edit())  # type: ignore[misc]


def _with(mod: IRModule, var: GlobalVar, old: BaseFunc, new: BaseFunc | None) -> IRModule | None:
    if new is None or new is old:
        return None
    functions = {v: new if v is var else func for v, func in mod.functions.items()}
    if isinstance(new, Function) and not structural_equal(var.struct_info_, new.struct_info_):
        # who calls it by its old type is no longer well formed, and the edit is left out
        other = GlobalVar(var.name_hint, struct_info=new.struct_info_)
        functions = {other if v is var else v: func for v, func in functions.items()}
    return IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def _smaller_numbers(mod: IRModule) -> Iterator[Edit]:
    """Every integer above one, wherever it stands: 1, 2, then half of it."""
    text = json.loads(save_json(mod))
    numbers = sorted({n["data"]["value"] for n in _integers(text)}, reverse=True)
    for number in numbers:
        for new in dict.fromkeys((1, 2, number // 2)):
            if 0 < new < number:
                yield lambda old=number, new=new: _with_number(mod, old, new)  # type: ignore[misc]


def _integers(text: Any) -> Iterator[dict[str, Any]]:
    for node in text["nodes"]:
        if node["type"] == "ir.IntImm" and node["data"]["value"] > 1:
            yield node


def _with_number(mod: IRModule, old: int, new: int) -> IRModule | None:
    text = json.loads(save_json(mod))
    for node in _integers(text):
        if node["data"]["value"] == old:
            node["data"]["value"] = new
    return _loaded(json.dumps(text))


def _plainer_types(mod: IRModule) -> Iterator[Edit]:
    text = save_json(mod)
    for old, new in _PLAINER.items():
        if f'"{old}"' in text:
            yield lambda old=old, new=new: _loaded(  # type: ignore[misc]
                save_json(mod).replace(f'"{old}"', f'"{new}"')
            )


def _loaded(text: str) -> IRModule | None:
    mod = load_json(text)
    return mod if isinstance(mod, IRModule) else None


def parts(count: int) -> Iterator[slice]:
    """The whole of a list, its halves, quarters, ... down to its elements."""
    step = count
    while step:
        for start in range(0, count, step):
            yield slice(start, start + step)
        step //= 2
