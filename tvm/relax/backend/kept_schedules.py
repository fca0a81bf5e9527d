"""Schedules by rules, kept in the cache: of a changed model the changed kernels are scheduled."""

from __future__ import annotations

from typing import Final

from tvm import dlight
from tvm.backend.llvm import cache
from tvm.backend.llvm.setting import setting
from tvm.dlight.base import ScheduleRule
from tvm.error import TVMError
from tvm.ir.exact import exact_digest
from tvm.ir.json_rows import load_apart, save_apart
from tvm.target.target import Target
from tvm.tir.function import PrimFunc

_FORMAT: Final = "schedule 1"
_UNFIT: Final = "null"  # no rule took the function


class ApplyKeptSchedule(dlight.ApplyDefaultSchedule):
    """As `dlight.ApplyDefaultSchedule`; a function that was scheduled before comes from the cache.

    An entry is named by all that the function says and by the setting. `name` stands for the rules,
    which have to be this library's.
    """

    def __init__(self, name: str, *rules: ScheduleRule) -> None:
        super().__init__(*rules)
        self._name = name

    def scheduled(self, func: PrimFunc, target: Target) -> PrimFunc | None:
        key = self._key(func, target)
        content = cache.load(key) if key is not None else None
        if content is not None:
            text = content.decode()
            return None if text == _UNFIT else _loaded(text)
        found = super().scheduled(func, target)
        if key is not None:
            self._store(key, found)
        return found

    def _key(self, func: PrimFunc, target: Target) -> str | None:
        given = setting(target)
        if given is None:
            return None
        try:
            return cache.key_of([_FORMAT, *given, self._name, exact_digest(func)])
        except TVMError:  # constants, or objects of users
            return None

    def _store(self, key: str, found: PrimFunc | None) -> None:
        if found is None:
            cache.store(key, _UNFIT.encode())
            return
        try:
            text, tensors = save_apart(found)
        except (TypeError, ValueError):
            return
        if not tensors:
            cache.store(key, text.encode())


def _loaded(text: str) -> PrimFunc:
    func = load_apart(text, ())
    assert isinstance(func, PrimFunc), "as it was stored"
    return func
