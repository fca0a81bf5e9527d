"""Functions that each target may have a version of its own of.

    @tvm.target.generic_func
    def layout(data): ...            # for targets without a version

    @layout.register(["cuda", "gpu"])
    def layout_on_gpus(data): ...    # where the current target has one of these keys
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from tvm.ffi.object import Object

from .target import Target

Function = Callable[..., Any]


class GenericFunc(Object):
    """A function by the keys of the target that is current when it is called."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self._default: Function | None = None
        self._versions: dict[str, Function] = {}

    def set_default(self, func: Function, allow_override: bool = False) -> None:
        """What is called where no version fits."""
        if self._default is not None and not allow_override:
            raise ValueError(f"Generic function already registered for {self.name}")
        self._default = func

    def register(
        self, func: Function, key_list: str | Iterable[str], allow_override: bool = False
    ) -> None:
        """A version for targets that have one of the keys."""
        keys = [key_list] if isinstance(key_list, str) else list(key_list)
        for key in keys:
            if key in self._versions and not allow_override:
                raise ValueError(
                    f"Tag {key} already registered for schedule {self.name}; legal: "
                    "allow_override=True"
                )
            self._versions[key] = func

    def get_packed_func(self) -> Function:
        """The version for the current target: that of its first key that has one."""
        target = Target.current(allow_none=True)
        for key in () if target is None else target.keys:
            if key in self._versions:
                return self._versions[key]
        if self._default is None:
            raise ValueError(
                f"No generic function registered for {self.name} and target {target}; legal: "
                f"targets with one of the keys {sorted(self._versions)}"
            )
        return self._default

    def __call__(self, *args: Any) -> Any:
        return self.get_packed_func()(*args)


_NATIVE: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """The generic function of this name, made when it is first asked for."""
    return _NATIVE.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable[[Function], Function]:
    """A decorator: the function is the default of a named generic function.

    Its `register(key)` decorates versions.
    """
    generic = get_native_generic_func(func_name)

    def decorate(fdefault: Function) -> Function:
        generic.set_default(fdefault, allow_override=True)

        def register(
            key: str | Iterable[str], func: Function | None = None, override: bool = True
        ) -> Any:
            def keep(version: Function) -> Function:
                generic.register(version, key, override)
                return version

            return keep if func is None else keep(func)

        @functools.wraps(fdefault)
        def dispatch(*args: Any, **kwargs: Any) -> Any:
            if kwargs:
                raise RuntimeError(
                    f"Keyword arguments cannot be used when invoking generic_func {func_name}"
                )
            return generic(*args)

        dispatch.fdefault = fdefault  # type: ignore[attr-defined]
        dispatch.register = register  # type: ignore[attr-defined]
        dispatch.generic_func_node = generic  # type: ignore[attr-defined]
        return dispatch

    return decorate


def generic_func(fdefault: Function) -> Function:
    """A decorator: the function is what is called where no version fits the current target.

    `register(key, func=None, override=False)` adds versions, `dispatch_dict` holds them.
    """
    versions: dict[str, Function] = {}

    def register(
        key: str | Iterable[str], func: Function | None = None, override: bool = False
    ) -> Any:
        def keep(version: Function) -> Function:
            for one in [key] if isinstance(key, str) else key:
                if one in versions and not override:
                    raise ValueError(f"Key is already registered for {fdefault.__name__}: {one}")
                versions[one] = version
            return version

        return keep if func is None else keep(func)

    @functools.wraps(fdefault)
    def dispatch(*args: Any, **kwargs: Any) -> Any:
        target = Target.current(allow_none=True)
        for key in () if target is None else target.keys:
            if key in versions:
                return versions[key](*args, **kwargs)
        return fdefault(*args, **kwargs)

    dispatch.fdefault = fdefault  # type: ignore[attr-defined]
    dispatch.register = register  # type: ignore[attr-defined]
    dispatch.dispatch_dict = versions  # type: ignore[attr-defined]
    return dispatch
