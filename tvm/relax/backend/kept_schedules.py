"""Schedules by rules, kept in the cache: of a changed model the changed kernels are scheduled.

Many kernels are scheduled by several processes, as `tir.kernels_apart` lowers them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm import dlight
from tvm.backend.llvm import cache, workers
from tvm.backend.llvm.setting import setting
from tvm.backend.llvm.worker import Worker
from tvm.dlight.base import ScheduleRule
from tvm.dlight.base.transform import first_schedule, is_scheduled, target_of
from tvm.error import TVMError
from tvm.ir.exact import exact_digest
from tvm.ir.expr import GlobalVar
from tvm.ir.json_rows import load_apart, save_apart
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import custom_types
from tvm.support.notes import watched
from tvm.target.target import Target
from tvm.tir.children import statements
from tvm.tir.function import PrimFunc
from tvm.tir.kernels_apart import as_asked, context_fields
from tvm.tir.stmt import Stmt

_FORMAT: Final = "schedule 1"
_UNFIT: Final = "null"  # no rule took the function
_WORTH_SENDING: Final = 16  # kernels; fewer are scheduled before a process has loaded
# Rules that another process knows by their name.
_RULES: Final[dict[str, Callable[[], list[ScheduleRule]]]] = {"cpu": dlight.cpu.default_rules}


class ApplyKeptSchedule(dlight.ApplyDefaultSchedule):
    """As `dlight.ApplyDefaultSchedule`; a function that was scheduled before comes from the cache.

    An entry is named by all that the function says and by the setting. `name` stands for the rules,
    which have to be this library's.
    """

    def __init__(self, name: str, *rules: ScheduleRule) -> None:
        super().__init__(*rules)
        self._name = name

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module with scheduled functions, those of many kernels by several processes."""
        return super().transform_module(self._with_schedules_of_others(mod), ctx)

    def scheduled(self, func: PrimFunc, target: Target) -> PrimFunc | None:
        key = self._key(func, target)
        content = cache.load(key) if key is not None else None
        if content is not None:
            return _loaded(content)
        found = super().scheduled(func, target)
        if key is not None:
            text = _saved(found)
            if text is not None:
                cache.store(key, text)
        return found

    def _with_schedules_of_others(self, mod: IRModule) -> IRModule:
        """The module with schedules that were made by several processes, where there are many."""
        count = workers.worker_count()
        waiting = [(v, f) for v, f in mod.functions.items()
                   if isinstance(f, PrimFunc) and not is_scheduled(f)]  # fmt: skip
        if not count or len(waiting) < _WORTH_SENDING or self._name not in _RULES:
            return mod
        if watched() or custom_types():  # which other processes do not know
            return mod
        target = target_of(waiting[0][1])
        given = setting(target)
        keys = [self._key(func, target) for _, func in waiting]
        functions = dict(mod.functions)
        texts: dict[int, bytes] = {}
        for number, ((var, func), key) in enumerate(zip(waiting, keys)):
            content = None if key is None else cache.load(key)
            if content is not None:
                functions[var] = _loaded(content) or func
            elif key is not None and str(target_of(func)) == str(target):
                text = _saved(func)
                if text is not None:
                    texts[number] = text
        if given is None or len(texts) < _WORTH_SENDING:
            return mod.with_functions(functions)
        fields = [self._name, given, str(target), *context_fields()]
        made: dict[GlobalVar, PrimFunc | None] = {}

        def here(number: int) -> bytes | None:
            var, func = waiting[number]
            made[var] = first_schedule(func, target, self.rules)
            return _saved(made[var])

        def there(helper: Worker, number: int) -> bytes | None:
            return helper.ask(__name__, fields, texts[number])

        sizes = [sum(1 for _ in statements(func.body, Stmt)) for _, func in waiting]
        order = sorted(texts, key=lambda n: -sizes[n])
        shared = workers.shared_out(order, here, there, count, __name__, what="schedules")
        for number, content in shared.items():
            var, func = waiting[number]
            cache.store(str(keys[number]), content)
            functions[var] = (made[var] if var in made else _loaded(content)) or func
        return mod.with_functions(functions)

    def _key(self, func: PrimFunc, target: Target) -> str | None:
        given = setting(target)
        if given is None:
            return None
        try:
            return cache.key_of([_FORMAT, *given, self._name, exact_digest(func)])
        except TVMError:  # constants, or objects of users
            return None


def answer(
    content: bytes, name: str, given: Sequence[str], target: str, opt_level: int,
    required: Sequence[str], disabled: Sequence[str], config: dict[str, Any],
) -> bytes:  # fmt: skip
    """In another process: a function with its schedule; TVMError where this one makes another."""
    chosen = Target(target)
    with as_asked(given, chosen, opt_level, required, disabled, config):
        func = load_apart(content.decode(), ())
        made = _saved(first_schedule(func, chosen, _RULES[name]()))
    if made is None:
        raise TVMError("the schedule has no text")
    return made


def _saved(found: PrimFunc | None) -> bytes | None:
    """A function, or none, as an entry; None where that has no text."""
    if found is None:
        return _UNFIT.encode()
    try:
        text, tensors = save_apart(found)
    except (TypeError, ValueError):
        return None
    return None if tensors else text.encode()


def _loaded(content: bytes) -> PrimFunc | None:
    text = content.decode()
    if text == _UNFIT:
        return None
    func = load_apart(text, ())
    assert isinstance(func, PrimFunc), "as it was stored"
    return func
