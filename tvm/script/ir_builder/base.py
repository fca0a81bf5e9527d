"""Building programs by frames: each `with` opens one, and what it holds is made when it closes.

with IRBuilder() as ib:
    with T.prim_func():
        ...
func = ib.get()
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, TypeVar

from typing_extensions import Self

from tvm.error import ScriptError, message
from tvm.ffi.object import Object
from tvm.ir.span import Span

F = TypeVar("F", bound="IRBuilderFrame")


class _Active(threading.local):
    def __init__(self) -> None:
        self.builders: list[IRBuilder] = []


_ACTIVE: Final = _Active()
# How an object that the builder has just made gets its name, by class.
_NAMERS: Final[dict[type, Callable[[Any, str], None]]] = {}
# Where namers stand, by the package of the class: a look-up does not ask what was imported before.
_HOMES: Final = {
    "tvm.ir.": "tvm.tir.script.frames",
    "tvm.tir.": "tvm.tir.script.frames",
    "tvm.relax.": "tvm.relax.script.frames",
}


def register_namer(cls: type, namer: Callable[[Any, str], None]) -> None:
    """Say how objects of a class are named."""
    _NAMERS[cls] = namer


def _namer_of(kind: type) -> Callable[[Any, str], None] | None:
    return next(filter(None, map(_NAMERS.get, kind.__mro__)), None)


class IRBuilderFrame(Object):
    """Something under construction; subclasses say what `enter` returns and what `finish` makes."""

    __slots__ = ("callbacks", "implicit", "span")

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], object]] = []
        self.implicit = False  # lasts to the end of the frame around it
        self.span: Span | None = IRBuilder.current().span if IRBuilder.is_in_scope() else None

    def enter(self) -> Any:
        """Called when the frame opens; returns what `with ... as` binds."""
        return self

    def finish(self) -> None:
        """Called when the frame closes: make what it stands for."""

    def add_callback(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the innermost open frame closes."""
        IRBuilder.current().last_frame().callbacks.append(callback)

    def __enter__(self) -> Any:
        IRBuilder.current().frames.append(self)
        return self.enter()

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        frames = IRBuilder.current().frames
        if exc_type is not None:
            del frames[frames.index(self) :]
            return
        while frames[-1] is not self:
            inner = frames[-1]
            if not inner.implicit:
                raise ScriptError(
                    f"a {type(inner).__name__} is still open while its {type(self).__name__} closes"
                )
            inner.close()
        self.close()

    def open_to_end(self) -> Any:
        """Enter this frame for the rest of the frame around it."""
        self.implicit = True
        return self.__enter__()

    def close(self) -> None:
        """Run the callbacks, last first, and make what the frame stands for."""
        for callback in reversed(self.callbacks):
            callback()
        builder = IRBuilder.current()
        popped = builder.frames.pop()
        assert popped is self, "frames close in the order opposite to their opening"
        outer = builder.span
        builder.span = self.span or outer
        self.finish()
        builder.span = outer


class IRBuilder(Object):
    """The frames that are open, and what the outermost one made."""

    def __init__(self) -> None:
        self.frames: list[IRBuilderFrame] = []
        self.result: Any = None
        self.span: Span | None = None  # where in the source the parser stands

    def __enter__(self) -> Self:
        _ACTIVE.builders.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _ACTIVE.builders.remove(self)

    @staticmethod
    @contextlib.contextmanager
    def unwinding() -> Iterator[None]:
        """Builders entered inside that an error leaves open are closed."""
        depth = len(_ACTIVE.builders)
        try:
            yield
        except BaseException:
            del _ACTIVE.builders[depth:]
            raise

    @staticmethod
    def current() -> IRBuilder:
        """The innermost builder that is in scope; a ScriptError if there is none."""
        if not _ACTIVE.builders:
            raise ScriptError(
                message(
                    "use a TVMScript builder function",
                    found="no builder is in scope",
                    legal="within `with IRBuilder() as ib:`, or within TVMScript",
                )
            )
        return _ACTIVE.builders[-1]

    @staticmethod
    def is_in_scope() -> bool:
        """True when some builder is in scope."""
        return bool(_ACTIVE.builders)

    def keep(self, result: Any) -> None:
        """Take what the outermost frame made; a builder makes one thing."""
        if self.result is not None:
            raise ScriptError(
                "IRBuilder: Builder.result has already been set; legal: one function, or a module"
            )
        self.result = result

    def get(self) -> Any:
        """What was built."""
        if self.result is None:
            raise ScriptError("IRBuilder.get: no result exists in IRBuilder yet")
        return self.result

    def last_frame(self) -> IRBuilderFrame:
        """The innermost open frame."""
        if not self.frames:
            raise ScriptError("no frame is open; open one with `with T.prim_func():`, for example")
        return self.frames[-1]

    def find(self, kind: type[F]) -> F | None:
        """The innermost open frame of a kind."""
        for frame in reversed(self.frames):
            if isinstance(frame, kind):
                return frame
        return None

    def find_last(self, *kinds: type[F]) -> F | None:
        """The innermost frame opened by `with`, if it is of one of the kinds."""
        for frame in reversed(self.frames):
            if isinstance(frame, kinds):
                return frame
            if not frame.implicit:
                return None
        return None

    @staticmethod
    def name(s: str, v: Any) -> Any:
        """Name an object that was just made; returns the object."""
        namer = _namer_of(type(v))
        if namer is None:
            for package, home in _HOMES.items():
                if type(v).__module__.startswith(package):
                    importlib.import_module(home)
            namer = _namer_of(type(v))
        if namer is not None:
            namer(v, s)
        return v

    @staticmethod
    def name_many(s: Sequence[str], vs: Sequence[Any]) -> list[Any]:
        """Name several objects."""
        assert len(s) == len(vs), "as many names as objects"
        return [IRBuilder.name(name, value) for name, value in zip(s, vs)]


def rename(node: object, field: str, value: object) -> None:
    """Set a name field of a node that is still under construction.

    A builder makes variables before it can know what the program calls them; names are hints that
    equality ignores. Nothing else of a node is ever set after its constructor.
    """
    object.__setattr__(node, field, value)
