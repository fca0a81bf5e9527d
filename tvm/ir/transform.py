"""Passes: functions from module to module, with a name, an optimisation level and instruments."""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral
from typing import Any, Concatenate, Final, ParamSpec

from typing_extensions import Self

from tvm.error import ReturnTypeError, TVMError
from tvm.ffi.object import Object
from tvm.support.arguments import check_options, explained
from tvm.support.checkpoint import checkpoint
from tvm.support.frozen import FrozenMap
from tvm.support.progress import advance
from tvm.support.suggest import did_you_mean

from .config import KEYS, check_config, default_record
from .expr import GlobalVar
from .function import BaseFunc
from .module import IRModule
from .replace_global_vars import with_successors
from .structural import structural_equal

P = ParamSpec("P")


class PassInfo(Object):
    """What is known of a pass before it runs. Raises TypeError for fields of another kind."""

    __slots__ = ("name", "opt_level", "required", "traceable")

    def __init__(
        self,
        opt_level: int,
        name: str,
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        if not isinstance(opt_level, (int, Integral)):
            raise TypeError(f"opt_level of a pass is {opt_level!r}; legal: an integer")
        if not isinstance(name, str):
            raise TypeError(f"name of a pass is {name!r}; legal: a text")
        if required and not isinstance(required, (list, tuple)):
            raise TypeError("Required is expected to be the type of list/tuple.")
        self.opt_level = int(opt_level)
        self.name = name
        self.required = list(required or ())
        self.traceable = traceable

    def __repr__(self) -> str:
        names = "".join(f"{name}, " for name in self.required)
        return (
            f"The meta data of the pass - pass name: {self.name}, opt_level: {self.opt_level}, "
            f"required passes: [{chr(10) if names else ''}{names}]\n"
        )

    __str__ = __repr__


class _Stack(threading.local):
    """The contexts entered by this thread, the innermost last."""

    def __init__(self) -> None:
        self.contexts: list[PassContext] = []
        self.default: PassContext | None = None


_STACK = _Stack()


def _listed(names: Collection[str] | None) -> list[str]:
    """Names as a list; those of a set in order of the alphabet."""
    return sorted(names) if isinstance(names, (set, frozenset)) else list(names or ())


class PassContext(Object):
    """The setting in which passes run: how hard to optimise, what to skip, who watches.

    Raises ConfigError for an unknown key in `config` or a value of the wrong type, TypeError for
    an argument of another kind.
    """

    def __init__(
        self,
        opt_level: int = 2,
        required_pass: Collection[str] | None = None,
        disabled_pass: Collection[str] | None = None,
        instruments: Sequence[Any] | None = None,
        config: Mapping[str, object] | None = None,
    ) -> None:
        for label, names in (("required_pass", required_pass), ("disabled_pass", disabled_pass)):
            if names is not None and not isinstance(names, (list, tuple, set, frozenset)):
                raise TypeError(f"{label} is expected to be the type of list/tuple/set")
            if names is not None and not all(isinstance(name, str) for name in names):
                raise TypeError(f"{label} holds {list(names)!r}; legal: names of passes")
        if instruments is not None and not isinstance(instruments, (list, tuple)):
            raise TypeError("instruments is expected to be the type of list/tuple")
        for instrument in instruments or ():
            if not hasattr(instrument, "should_run"):
                raise TypeError(f"instruments holds {instrument!r}; legal: pass instruments")
        if not isinstance(opt_level, int):
            raise TypeError(f"opt_level is {opt_level!r}; legal: an integer")
        if config is not None and not isinstance(config, Mapping):
            raise TypeError(f"config is {config!r}; legal: a mapping of names to values")
        self.opt_level = opt_level
        self.required_pass, self.disabled_pass = _listed(required_pass), _listed(disabled_pass)
        self.instruments = list(instruments or ())
        self.config: FrozenMap[str, Any] = check_config(config)
        self._own_passes: dict[str, Any] = {}

    @staticmethod
    def current() -> PassContext:
        """The innermost context of this thread; its lasting plain one when none was entered."""
        if _STACK.contexts:
            return _STACK.contexts[-1]
        if _STACK.default is None:
            _STACK.default = PassContext()
        return _STACK.default

    @staticmethod
    def list_configs() -> dict[str, dict[str, str]]:
        """All options with the types of their values."""
        return {key: {"type": kind} for key, kind in sorted(KEYS.items())}

    def option(self, key: str, default: Any = None) -> Any:
        """The value of an option; for a record of options, its defaults when it is not set."""
        value = self.config.get(key)
        if value is not None:
            return value
        return default_record(key) if KEYS[key] == "record" else default

    def pass_enabled(self, info: PassInfo) -> bool:
        """Whether a sequence runs this pass: by name, else by optimisation level."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.opt_level

    def add_custom_pass(self, custom_pass: Any, name: str | None = None) -> None:
        """Let `custom_pass` run where TIR is lowered in this context and in those inside it.

        It is a function of a statement, of a PrimFunc or of (func, mod, ctx), or a Pass; see
        `tir.transform.ApplyCustomPass`. A name that is in use is given to the new pass.
        """
        if not callable(custom_pass):
            raise TypeError(
                f"add_custom_pass: found {type(custom_pass).__name__}; "
                "legal: a function of a statement or of a PrimFunc, or a Pass"
            )
        label = name or getattr(custom_pass, "__name__", None)
        if not isinstance(label, str):
            raise TypeError("add_custom_pass: the pass needs a name, a string")
        self._own_passes[label] = custom_pass

    def remove_custom_pass(self, name: str) -> None:
        """Take back what `add_custom_pass` added to this context."""
        if name not in self._own_passes:
            near = did_you_mean(name, self._own_passes)
            raise ValueError(f"remove_custom_pass: this context has no pass {name!r}{near}")
        del self._own_passes[name]

    @property
    def custom_passes(self) -> dict[str, Any]:
        """The custom passes in force in this context, in order: those around it first."""
        found: dict[str, Any] = {}
        for ctx in self._around():
            found.update(ctx._own_passes)
        return found

    def _around(self) -> list[PassContext]:
        """This context behind those that it was entered in, the thread's own first."""
        outer = [] if _STACK.default is None else [_STACK.default]
        for ctx in _STACK.contexts:
            outer.append(ctx)
            if ctx is self:
                return outer
        return [self]

    def __repr__(self) -> str:
        lines = {
            "opt_level": self.opt_level,
            "required passes": self.required_pass,
            "disabled passes": self.disabled_pass,
            "instruments": self.instruments,
            "config": dict(self.config),
        }
        own = list(self.custom_passes)
        if own:
            lines["custom passes"] = own
        shown = "".join(f"\t{label}: {value}\n" for label, value in lines.items())
        return f"Pass context information: \n{shown}"

    __str__ = __repr__

    def override_instruments(self, instruments: Sequence[Any] | None) -> None:
        """Leave the present instruments and enter others."""
        self._exit_instruments()
        self.instruments = list(instruments or ())
        self._enter_instruments()

    def __enter__(self) -> Self:
        _STACK.contexts.append(self)
        try:
            self._enter_instruments()
        except BaseException:
            _STACK.contexts.pop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        _STACK.contexts.pop()
        self._exit_instruments()

    def _enter_instruments(self) -> None:
        entered: list[Any] = []
        try:
            for instrument in self.instruments:
                instrument.enter_pass_ctx()
                entered.append(instrument)
        except BaseException:
            self.instruments = []
            for instrument in reversed(entered):
                instrument.exit_pass_ctx()
            raise

    def _exit_instruments(self) -> None:
        try:
            for instrument in self.instruments:
                instrument.exit_pass_ctx()
        except BaseException:
            self.instruments = []
            raise

    def before_pass(self, mod: IRModule, info: PassInfo) -> bool:
        """Ask the instruments whether the pass shall run; tell them if it does."""
        if info.name not in self.required_pass:
            # all are asked, also after one said no: some count passes there
            answers = [instrument.should_run(mod, info) for instrument in self.instruments]
            if not all(answers):
                return False
        for instrument in self.instruments:
            instrument.run_before_pass(mod, info)
        return True

    def after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """Tell the instruments that the pass has run."""
        for instrument in self.instruments:
            instrument.run_after_pass(mod, info)


class Pass(Object):
    """A transformation of modules; call it with a module."""

    def __init__(self, info: PassInfo) -> None:
        self._info = info

    @property
    def info(self) -> PassInfo:
        """The pass's meta data."""
        return self._info

    @property
    def pass_info(self) -> PassInfo:
        """The pass's meta data, under the name of the field."""
        return self._info

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """The module that the pass makes of `mod`."""
        raise TypeError(f"pass {self._info.name!r} does not say what it does")

    def __call__(self, mod: IRModule) -> IRModule:
        """Run on a module in the current context; what comes back is always a module."""
        if not isinstance(mod, IRModule):
            raise TypeError(
                f"pass {self._info.name!r} takes an IRModule, found {type(mod).__name__}; "
                "legal: tvm.IRModule.from_expr(func) makes a module of a function"
            )
        checkpoint(self._info.name)
        ctx = PassContext.current()
        if not ctx.before_pass(mod, self._info):
            return mod
        signatures = {var: var.struct_info_ for var in mod.functions}
        changed: dict[GlobalVar, GlobalVar] = {}
        try:
            result = self.transform(mod, ctx)
        finally:
            for var, info in signatures.items():
                now = var.struct_info_
                if now is not info and info is not None and not structural_equal(now, info):
                    changed[var] = GlobalVar(var.name_hint, now, var.span)
                    var.struct_info_ = info  # the module that came in stays as it was
        if not isinstance(result, IRModule):
            raise ReturnTypeError(
                f"pass {self._info.name!r} returned {type(result).__name__}; legal: an IRModule"
            )
        if changed:
            result = with_successors(result, changed)
        ctx.after_pass(result, self._info)
        return result

    def __repr__(self) -> str:
        info = self._info
        return f"Run Module pass: {info.name} at the optimization level {info.opt_level}"

    __str__ = __repr__


class ModulePass(Pass):
    """A pass that sees the whole module at once."""

    def __init__(self, func: Callable[[IRModule, PassContext], IRModule], info: PassInfo) -> None:
        super().__init__(info)
        self._func = func

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return self._func(mod, ctx)


# Where passes live by the prefix of their name; a name without prefix is one of Relax.
_HOMES = {"tir": "tvm.tir.transform", "relax": "tvm.relax.transform"}


@explained
def find_pass(name: str) -> Pass:
    """The pass called `name` (`tir.Simplify`, `FuseOps`) with its default options."""
    dialect, _, short = name.rpartition(".")
    home = importlib.import_module(_HOMES.get(dialect or "relax", "tvm.relax.transform"))
    factory = getattr(home, short, None)
    if factory is None and not dialect:  # the passes of Relay have no prefix either
        factory = getattr(importlib.import_module("tvm.relay.transform"), short, None)
    if factory is None:
        raise TVMError(f"no pass {name!r}{did_you_mean(short, dir(home))}")
    made = factory()
    assert isinstance(made, Pass), "a pass factory makes passes"
    return made


class Sequential(Pass):
    """Passes one after another; a pass is left out when the context's level is below its own."""

    def __init__(
        self,
        passes: Sequence[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Sequence[str] | None = None,
        traceable: bool = False,
    ) -> None:
        passes = list(passes or ())
        if not all(isinstance(p, Pass) for p in passes):
            wrong = next(p for p in passes if not isinstance(p, Pass))
            raise TypeError(f"passes must be a list of Pass objects, found {type(wrong).__name__}")
        super().__init__(PassInfo(opt_level, name, required, traceable))
        self.passes = passes

    def transform(self, mod: IRModule, ctx: PassContext) -> IRModule:
        for number, one in enumerate(self.passes):
            if not ctx.pass_enabled(one.info):
                continue
            advance(one.info.name, number, len(self.passes))
            for name in one.info.required:
                mod = find_pass(name)(mod)
            mod = one(mod)
        return mod

    def __repr__(self) -> str:
        info, names = self.info, "".join(f"{one.info.name} " for one in self.passes)
        return (
            f"Run Sequential pass: {info.name} at the optimization level {info.opt_level}. "
            f"The passes will be executed are: [{names}]"
        )


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Decorate a function `(mod, ctx) -> mod`, or a class with `transform_module`, as a pass."""
    options = (opt_level, name, required, traceable)
    return users_pass(pass_func, options, ModulePass, "transform_module", "module", "Module")


def users_pass(
    pass_func: Any,
    options: tuple[int | None, str | None, Sequence[str] | None, bool],
    kind: type[Pass],
    method: str,
    level_of: str,
    called_by: str,
) -> Any:
    """A pass of `kind` of a callable, or of a class with such a method; a decorator without.

    `options` are the level, the name, and what it needs; the last two are words for errors.
    """
    opt_level, name, required, traceable = options
    if opt_level is None:
        raise ValueError(f"Please provide opt_level for the {level_of} pass.")
    level = opt_level

    def create(arg: Any) -> Any:
        if not callable(arg):
            raise TypeError(f"pass_func must be a callable for {called_by} pass")
        info = PassInfo(level, name or arg.__name__, required, traceable)
        if inspect.isclass(arg):
            return pass_class(arg, info, kind, method)
        return kind(arg, info)  # type: ignore[call-arg]

    return create(pass_func) if pass_func else create


def pass_class(cls: type, info: PassInfo, kind: type[Pass], method: str) -> type:
    """A class of passes of a kind, whose instances run `method` of an instance of `cls`."""

    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        self._inst = cls(*args, **kwargs)
        kind.__init__(self, getattr(self._inst, method), info)  # type: ignore[call-arg]

    def find(self: Any, name: str) -> Any:
        if name == "_inst":
            raise AttributeError(name)
        return getattr(self._inst, name)

    def of_instance(name: str, value: Any) -> Any:
        @functools.wraps(value)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            return getattr(self._inst, name)(*args, **kwargs)

        return run

    # what users read from the class itself: constants, and methods that a pass does not have
    shown = {
        name: of_instance(name, value) if inspect.isfunction(value) else value
        for name in dir(cls)
        if not name.startswith("_") and (name == method or not hasattr(kind, name))
        for value in [getattr(cls, name)]
    }
    made = type(cls.__name__, (kind,), {**shown, "__init__": start, "__getattr__": find})
    functools.update_wrapper(made, cls, updated=())
    return made


def declare_module_pass(
    name: str,
    opt_level: int = 0,
    required: Sequence[str] = (),
    traceable: bool = False,
    *,
    check: Callable[..., None] | None = None,
) -> Callable[
    [Callable[Concatenate[IRModule, PassContext, P], IRModule]], Callable[P, ModulePass]
]:
    """The house form: `f(mod, ctx, **options)` becomes a factory `F(**options)` of passes.

    `check` looks at the options when a pass is made.
    """

    def decorate(
        func: Callable[Concatenate[IRModule, PassContext, P], IRModule],
    ) -> Callable[P, ModulePass]:
        info = PassInfo(opt_level, name, required, traceable)

        @functools.wraps(func)
        def factory(*args: P.args, **kwargs: P.kwargs) -> ModulePass:
            check_options(func, inspect.signature(factory), args, kwargs)
            if check is not None:
                check(*args, **kwargs)

            def run(mod: IRModule, ctx: PassContext) -> IRModule:
                return func(mod, ctx, *args, **kwargs)

            return ModulePass(run, info)

        hide_leading_parameters(factory, func, 2)
        return factory

    return decorate


def hide_leading_parameters(factory: Any, func: Callable[..., Any], count: int) -> None:
    """Let `help()` show the options only: what a pass works on is given when it runs."""
    signature = inspect.signature(func)
    options = list(signature.parameters.values())[count:]
    factory.__signature__ = signature.replace(parameters=options)
    del factory.__wrapped__


def PrintIR(header: str = "", show_meta_data: bool = False) -> ModulePass:
    """A pass that writes the module to the error stream, and leaves it as it is."""

    def show(mod: IRModule, ctx: PassContext) -> IRModule:
        print(f"PrintIR({header}):\n{mod.script(show_meta=show_meta_data)}", file=sys.stderr)
        return mod

    return ModulePass(show, PassInfo(0, "PrintIR"))


# How a dialect makes a function that stands for another, by the type key of functions that use it.
STAND_INS: Final[dict[str, Callable[[GlobalVar], BaseFunc]]] = {}


def ApplyPassToFunction(
    transform: Pass, func_name_regex: str, error_if_no_function_matches_regex: bool = False
) -> ModulePass:
    """Run a pass on those functions whose name begins with a match; it cannot look into others.

    A name matches as by `re.match`: end the expression in `$` for whole names.

    Where the dialect has stand-ins, these replace the others, so that uses of them stay
    valid. Functions that match and are private are public while the pass runs, so that none goes.
    """

    def apply(mod: IRModule, ctx: PassContext) -> IRModule:
        pattern = re.compile(func_name_regex)
        chosen = [var for var in mod.functions if pattern.match(var.name_hint)]
        if not chosen:
            if error_if_no_function_matches_regex:
                names = sorted(var.name_hint for var in mod.functions)
                raise TVMError(f"no function matches {func_name_regex!r}; the module has {names}")
            return mod
        private = {v.name_hint for v in chosen if mod.functions[v].attrs.get(_SYMBOL) is None}
        others = {v.name_hint for v in mod.functions if v not in chosen}
        result = transform(mod.with_functions(_seen(mod, chosen)))
        functions = dict(mod.functions.items())
        old = {var.name_hint: var for var in functions}
        successors: dict[GlobalVar, GlobalVar] = {}
        for var, func in result.functions.items():
            if var.name_hint not in others:
                before = old.get(var.name_hint, var)
                if before is not var:
                    successors[before] = var
                hidden = var.name_hint in private
                functions[before] = func.without_attr(_SYMBOL) if hidden else func
        new = mod.with_functions(functions)
        return with_successors(new, successors) if successors else new

    return ModulePass(apply, PassInfo(0, f"ApplyPassTo{func_name_regex}"))


_SYMBOL: Final = "global_symbol"


def _seen(mod: IRModule, chosen: Sequence[GlobalVar]) -> dict[GlobalVar, BaseFunc]:
    """What a pass on some functions of a module gets to see."""
    kinds = {mod.functions[var].TYPE_KEY for var in chosen}
    make = next((STAND_INS[kind] for kind in sorted(kinds) if kind in STAND_INS), None)
    seen: dict[GlobalVar, BaseFunc] = {}
    for var, func in mod.functions.items():
        if var in chosen:
            known = func.attrs.get(_SYMBOL) is not None
            seen[var] = func if known else func.with_attr(_SYMBOL, var.name_hint)
        elif make is not None:
            seen[var] = make(var)
    return seen
