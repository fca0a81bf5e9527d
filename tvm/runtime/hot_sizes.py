"""Sizes that come again and again: variants compiled for them, and which call runs which.

A function for all sizes keeps account of the time that each size takes. One that has taken
`HOT_SECONDS` is compiled for its sizes in another process while calls go on; from then on calls
of these sizes run the variant. `TVM_HOT_SIZES=0` switches this off; variants that were asked for
(`vm.specialize`, `tvm compile --shapes`) are used nevertheless.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from tvm.error import TVMError, message
from tvm.support.scratch import scratch

from .artefact import FunctionInfo

HOT_SECONDS: Final = 5.0  # what compiling takes, about: at most twice the best that was possible
MIN_SECONDS: Final = 1e-4  # shorter calls gain less than looking at their sizes costs
SAMPLED_SECONDS: Final = 1e-3  # of shorter calls one is timed for so many seconds of them
# Calls of which fewer are timed than one in so many (they take 250 us at most) try the variant of
# the last calls without a look at their sizes: it looks at them itself, and in no time.
TRUSTED_STRIDE: Final = 4
MAX_SIZES: Final = 256  # that account is kept of
MAX_VARIANTS: Final = 8
MAX_BYTES: Final = 1 << 30  # of compiled variants, their weights included

Sizes = tuple[tuple[int, ...], ...]  # of the inputs whose extents are open, in order
Shapes = Mapping[str, Sequence[int]]


class Builder(Protocol):
    """Compiles one function of a program for given shapes of its inputs."""

    def complete(self, func_name: str, shapes: Shapes) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs with open extents; a ValueError where they do not follow."""

    def build(self, func_name: str, shapes: Shapes, path: Path, *, urgent: bool) -> None:
        """Write it as a library."""


def enabled() -> bool:
    """False when the user has switched the watch for hot sizes off."""
    return os.environ.get("TVM_HOT_SIZES", "1") not in ("0", "off", "false", "no")


@dataclass
class Account:
    """Calls of one size by one form of a function."""

    calls: int = 0
    seconds: float = 0.0
    best: float = float("inf")

    def note(self, seconds: float, calls: int) -> None:
        """Enter that many calls, of which one was timed."""
        self.calls += calls
        self.seconds += seconds * calls
        self.best = min(self.best, seconds)


@dataclass
class Variant:
    """A form of a function for one set of sizes, and how its calls fare.

    `origin` is "hot" or "asked for", or "built in" for one that came with the library; `state` is
    compiling, ready or failed, with the reason in `found`. Times are seconds, sizes bytes.
    """

    function: str
    shapes: dict[str, tuple[int, ...]]
    origin: str
    state: str = "compiling"
    found: str = ""
    compile_seconds: float = 0.0
    nbytes: int = 0
    before: Account = field(default_factory=Account)
    after: Account = field(default_factory=Account)

    def gain(self) -> float | None:
        """How many times faster the variant is; None before both forms have run."""
        if not self.before.calls or not self.after.calls:
            return None
        return self.before.best / max(self.after.best, 1e-9)


@dataclass(frozen=True)
class SizeReport:
    """Which sizes have variants, what they gained, and which were used."""

    variants: tuple[Variant, ...]
    watching: bool

    def __str__(self) -> str:
        lines = [f"hot sizes are {'watched' if self.watching else 'not watched'}; "
                 f"{len(self.variants)} variants"]  # fmt: skip
        for one in self.variants:
            shapes = ", ".join(f"{n}: {'x'.join(map(str, s))}" for n, s in one.shapes.items())
            text = f"  {one.function}({shapes}) {one.origin}, {one.state}"
            if one.found:
                text += f": {one.found}"
            if one.state == "ready":
                text += f", {one.nbytes / 1e6:.1f} MB" if one.nbytes else ""
                text += f", compiled in {one.compile_seconds:.1f} s" if one.compile_seconds else ""
                text += f", {one.after.calls} calls"
                text += f" of {one.after.best * 1e3:.3f} ms" if one.after.calls else ""
                gain = one.gain()
                text += f", {gain:.2f} times as fast as for all sizes" if gain else ""
            lines.append(text)
        return "\n".join(lines)


class SizedFunction:
    """A function for all sizes that runs the variant where a call's sizes have one.

    Where short calls have had the sizes of one variant for a while, that is tried first.
    """

    def __init__(
        self, info: FunctionInfo, general: Callable[..., Any], request: Callable[..., None] | None
    ) -> None:
        self.__name__ = info.name
        self._general = general
        self._request = request  # makes a variant of what became hot; None: nothing is watched
        self._open = [i for i, param in enumerate(info.params)
                      if not all(isinstance(e, int) for e in param.shape)]  # fmt: skip
        self._names = [info.params[i].name for i in self._open]
        self._forms: dict[Sizes, tuple[Callable[..., Any], Variant]] = {}
        self._accounts: dict[Sizes, Account] = {}
        self._asked: set[Sizes] = set()
        self._stride = self._left = 1
        self._trusted: Callable[..., Any] | None = None  # the form that is tried first
        self._last: Callable[..., Any] | None = None  # the form of the last calls that were timed,
        self._times, self._needed = 0, 2  # so many of them, and those that make it a trusted one
        self._lock = threading.Lock()  # of the accounts: calls come from several threads

    def __call__(self, *args: Any) -> Any:
        self._left -= 1
        if self._left > 0:
            form = self._trusted
            if form is None:
                form = self._form(args) if self._forms else self._general
                return form(*args)
            try:
                return form(*args)
            except Exception:  # sizes are the first that a variant looks at: it has done nothing
                if self._form(args) is form:
                    raise
            self._trusted, self._times = None, 0
            self._needed = min(2 * self._needed, 1024)
            return self._form(args)(*args)
        form = self._form(args)
        start = time.perf_counter()
        result = form(*args)
        self._note(args, form, time.perf_counter() - start)
        return result

    def _form(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The form for the sizes of a call."""
        forms = self._forms
        known = forms.get(self._sizes(args)) if forms else None
        return self._general if known is None else known[0]

    def sizes(self, shapes: Shapes) -> Sizes:
        """The sizes that calls with these shapes have."""
        return tuple(tuple(map(int, shapes[name])) for name in self._names)

    def add(self, sizes: Sizes, form: Callable[..., Any], variant: Variant) -> None:
        """Run `form` for these sizes from the next call on."""
        variant.before = self._accounts.get(sizes, variant.before)
        self._asked.add(sizes)
        self._forms = {**self._forms, sizes: (form, variant)}
        self._stride = self._left = 1

    def _sizes(self, args: Sequence[Any]) -> Any:
        """The sizes of a call; None for arguments that are no tensors, which is no variant's."""
        try:
            return tuple([tuple(args[i].shape) for i in self._open])
        except (AttributeError, IndexError, TypeError):
            return None

    def _note(self, args: Sequence[Any], form: Callable[..., Any], seconds: float) -> None:
        calls = self._stride
        self._stride = self._left = max(1, min(256, int(SAMPLED_SECONDS / max(seconds, 1e-9))))
        self._times = self._times + 1 if form is self._last else 1
        self._last = form
        often = self._times >= self._needed and self._stride >= TRUSTED_STRIDE
        self._trusted = form if often and form is not self._general else None
        sizes = self._sizes(args)
        if sizes is None:
            return
        known = self._forms.get(sizes)
        if known is not None and form is known[0]:
            known[1].after.note(seconds, calls)
            return
        account = self._accounts.get(sizes) or self._opened(sizes)
        account.note(seconds, calls)
        if (
            self._request is not None
            and account.seconds >= HOT_SECONDS
            and seconds >= MIN_SECONDS
            and sizes not in self._asked
        ):
            self._asked.add(sizes)
            self._request(self, dict(zip(self._names, sizes)))


    def _opened(self, sizes: Sizes) -> Account:
        """An account for these sizes; it evicts the least used one where there are enough."""
        with self._lock:
            accounts = self._accounts
            if sizes not in accounts and len(accounts) >= MAX_SIZES:
                del accounts[min(accounts, key=lambda s: accounts[s].seconds)]
            return accounts.setdefault(sizes, Account())


class HotSizes:
    """The variants of one machine's functions: bounded, made one after the other."""

    def __init__(
        self, builder: Builder | None, load: Callable[[str, str], Callable[..., Any]]
    ) -> None:
        self._builder = builder
        self._load = load  # from the path of a library and a name to the function
        self._lock = threading.Lock()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.variants: list[Variant] = []

    def watched(self, info: FunctionInfo, general: Callable[..., Any]) -> SizedFunction:
        """A function that asks for variants of its hot sizes, unless that is switched off."""
        watching = self._builder is not None and enabled()
        me = weakref.ref(self)

        def request(func: SizedFunction, shapes: Shapes) -> None:
            alive = me()
            if alive is not None:
                alive.make(func, shapes, "hot")

        return SizedFunction(info, general, request if watching else None)

    def report(self) -> SizeReport:
        """What was made of which sizes."""
        return SizeReport(tuple(self.variants), self._builder is not None and enabled())

    def make(self, func: SizedFunction, shapes: Shapes, origin: str) -> threading.Thread | None:
        """Start to make a variant; None where there are enough or there is one."""
        named = {name: tuple(map(int, shape)) for name, shape in shapes.items()}
        with self._lock:
            same = [v for v in self.variants if (v.function, v.shapes) == (func.__name__, named)]
            if any(v.state != "failed" for v in same):
                return None
            variant = Variant(func.__name__, named, origin)
            self.variants.append(variant)
            alive = [v for v in self.variants if v.state != "failed"]
            full = len(alive) > MAX_VARIANTS or sum(v.nbytes for v in alive) > MAX_BYTES
            if origin == "hot" and full:
                variant.state = "failed"
                variant.found = f"there are {MAX_VARIANTS} already, or {MAX_BYTES >> 20} MB"
                return None
        thread = threading.Thread(target=self._finish, args=(func, variant), daemon=True)
        thread.start()
        return thread

    def _finish(self, func: SizedFunction, variant: Variant) -> None:
        try:
            with _ONE_AT_A_TIME:
                start = time.perf_counter()
                path = self._variants_folder() / f"variant-{id(variant):x}.so"
                assert self._builder is not None, "asked before"
                urgent = variant.origin != "hot"
                self._builder.build(variant.function, variant.shapes, path, urgent=urgent)
                form = self._load(str(path), variant.function)
            variant.nbytes = path.stat().st_size
            variant.compile_seconds = time.perf_counter() - start
            func.add(func.sizes(variant.shapes), form, variant)
            variant.state = "ready"
        except Exception as err:  # whatever happens, the function for all sizes goes on
            variant.state, variant.found = "failed", f"{err}"

    def _variants_folder(self) -> Path:
        with self._lock:
            self._folder = self._folder or scratch("tvm-variants-")
            return Path(self._folder.name)


_ONE_AT_A_TIME: Final = threading.Lock()  # compilations in the background, over all machines


def no_source(func_name: str) -> TVMError:
    """The error for a program that cannot be compiled again."""
    return TVMError(
        message(
            f"specialize {func_name!r}",
            found="a program whose source is not here, as one that was loaded",
            legal="the machine of what tvm.compile gave, or `tvm compile --shapes`",
        )
    )
