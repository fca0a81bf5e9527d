"""The reference of the interface: a page a module, written from what the modules hold when loaded.

Loaded, not read: packages here give their names on demand, and operators are made by declarations.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

# What gets a page, in the order of the navigation.
MODULES: dict[str, tuple[str, ...]] = {
    "Base": (
        "tvm", "tvm.ir", "tvm.ir.transform", "tvm.ir.instrument", "tvm.target", "tvm.script",
        "tvm.ffi", "tvm.error", "tvm.testing",
    ),
    "Tensor programs": (
        "tvm.tir", "tvm.tir.op", "tvm.tir.schedule", "tvm.tir.transform", "tvm.tir.analysis",
        "tvm.tir.stmt_functor", "tvm.te", "tvm.topi", "tvm.topi.nn", "tvm.topi.image",
        "tvm.topi.vision", "tvm.arith", "tvm.dlight", "tvm.dlight.cpu", "tvm.dlight.gpu",
    ),
    "Graphs": (
        "tvm.relax", "tvm.relax.op", "tvm.relax.op.nn", "tvm.relax.op.image", "tvm.relax.op.vision",
        "tvm.relax.op.grad", "tvm.relax.op.memory", "tvm.relax.op.builtin", "tvm.relax.op.ccl",
        "tvm.relax.op.distributed", "tvm.relax.op.vm", "tvm.relax.transform", "tvm.relax.analysis",
        "tvm.relax.dpl", "tvm.relax.training", "tvm.relax.quantization", "tvm.relax.distributed",
        "tvm.relax.backend", "tvm.relax.frontend.nn", "tvm.relax.frontend.onnx",
        "tvm.relax.frontend.torch", "tvm.relax.frontend.stablehlo",
    ),
    "Tuning": (
        "tvm.meta_schedule", "tvm.meta_schedule.space_generator", "tvm.meta_schedule.schedule_rule",
        "tvm.meta_schedule.postproc", "tvm.meta_schedule.mutator", "tvm.meta_schedule.database",
        "tvm.meta_schedule.builder", "tvm.meta_schedule.runner", "tvm.meta_schedule.cost_model",
        "tvm.meta_schedule.feature_extractor", "tvm.meta_schedule.measure_callback",
        "tvm.meta_schedule.search_strategy", "tvm.meta_schedule.task_scheduler",
        "tvm.meta_schedule.cluster",
    ),
    "Running": (
        "tvm.runtime", "tvm.runtime.vm", "tvm.runtime.disco", "tvm.rpc", "tvm.report",
        "tvm.backend",
    ),
    "Relay": (
        "tvm.relay", "tvm.relay.op", "tvm.relay.op.nn", "tvm.relay.qnn.op", "tvm.relay.transform",
        "tvm.relay.analysis", "tvm.relay.frontend", "tvm.relay.dataflow_pattern",
    ),
}  # fmt: skip

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_MACHINERY = ("__init__", "__call__", "__getitem__", "__enter__", "__exit__")


def listed() -> list[str]:
    return [name for group in MODULES.values() for name in group]


def public(module: ModuleType) -> dict[str, object]:
    """Names of ours that users reach through the module: what it lists, or holds of its own."""
    stated = set(map(str, getattr(module, "__all__", ())))
    found: dict[str, object] = {}
    for name in sorted(stated | set(dir(module)), key=str.lower):
        if name.startswith("_"):
            continue
        value = getattr(module, name)
        home = str(getattr(value, "__module__", ""))
        own = f"{home}.".startswith(f"{module.__name__}.")
        if not inspect.ismodule(value) and (own or (name in stated and home.startswith("tvm"))):
            found[name] = value
    return found


class _AsWritten:
    """An annotation that is text, shown without quotes."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text

    @classmethod
    def of(cls, annotation: object) -> object:
        return cls(annotation) if isinstance(annotation, str) else annotation


def signature(name: str, value: object) -> str:
    """The call as a user writes it, a parameter a line where one line is too long."""
    try:
        sig = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return name
    parameters = [
        p.replace(annotation=_AsWritten.of(p.annotation))
        for n, p in sig.parameters.items() if n not in ("self", "cls")
    ]  # fmt: skip
    result = _AsWritten.of(sig.return_annotation)
    if isinstance(value, type):
        result = inspect.Signature.empty
    sig = sig.replace(parameters=parameters, return_annotation=result)
    text = _ADDRESS.sub("", f"{name}{sig}")
    if len(text) <= 96 or not parameters:
        return text
    head, closing = f"{name}(\n", text[text.rindex(")") :]
    inner = _ADDRESS.sub("", str(sig.replace(return_annotation=inspect.Signature.empty)))[1:-1]
    return head + "".join(f"    {part.strip()},\n" for part in _parts(inner)) + closing


def _parts(text: str) -> Iterator[str]:
    """The text cut at commas that stand outside of brackets and quotes."""
    depth, quote, start = 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def described(value: object) -> str:
    """The docstring as Markdown; what it shows of Python's prompt is set as code."""
    text = inspect.getdoc(value) or ""
    if isinstance(value, type) and text == inspect.getdoc(object):
        return ""
    lines: list[str] = []
    shown = False
    for line in text.splitlines():
        starts = line.lstrip().startswith(">>> ")
        if starts and not shown:
            lines += ["", "```pycon"]
            shown = True
        elif shown and not line.strip():
            lines += ["```"]
            shown = False
        lines.append(line)
    return "\n".join([*lines, "```"] if shown else lines)


def _members(cls: type) -> Iterator[tuple[str, object, bool]]:
    """Methods and properties that the class itself documents: name, value, whether it is called."""
    for name, raw in vars(cls).items():
        if name.startswith("_") and name not in _MACHINERY[1:]:
            continue
        value = raw.__func__ if isinstance(raw, staticmethod | classmethod) else raw
        if isinstance(value, property):
            yield name, value, False
        elif inspect.isfunction(value) and value.__doc__:
            yield name, value, True


def _entry(name: str, value: object, level: int) -> str:
    is_class = isinstance(value, type)
    called = is_class or callable(value)
    parts = [f"{'#' * level} {'class ' if is_class else ''}`{name}` {{#{name}}}"]
    if called:
        parts.append(f"```python\n{signature(name, value)}\n```")
    parts.append(described(value))
    if is_class:
        for member, inner, is_called in _members(value):
            parts.append(f"{'#' * (level + 1)} `{name}.{member}` {{#{name}.{member}}}")
            if is_called:
                parts.append(f"```python\n{signature(member, inner)}\n```")
            parts.append(described(inner))
    return "\n\n".join(part for part in parts if part)


def page(name: str) -> str:
    """The page of one module as Markdown.

    What a deeper module with a page of its own holds too is named here and described there.
    """
    module = importlib.import_module(name)
    names = public(module)
    elsewhere: dict[str, list[str]] = {}
    deeper = [other for other in listed() if other.startswith(name + ".")]
    for other in sorted(deeper, key=lambda path: -path.count(".")):  # the page that describes it
        theirs = public(importlib.import_module(other))
        for key in [key for key, value in names.items() if theirs.get(key) is value]:
            elsewhere.setdefault(other, []).append(key)
            del names[key]
    parts = [f"# {name}", described(module)]
    for other in deeper:
        here = elsewhere.get(other, [])
        links = ", ".join(f"[`{key}`]({other}.md#{key})" for key in here)
        also = f", also reached from here: {links}" if links else ""
        parts.append(f"[{other}]({other}.md){also}")
    for title, wanted in (("Classes", True), ("Functions", False)):
        chosen = {k: v for k, v in names.items() if isinstance(v, type) is wanted}
        if chosen:
            parts.append(f"## {title}")
            parts += [_entry(key, value, 3) for key, value in chosen.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def index() -> str:
    lines = [
        "# Reference", "",
        "Every public module, from its docstrings. Names, parameters and defaults are those of",
        "TVM v0.22, Relay's those of v0.18.", "",
    ]  # fmt: skip
    for group, names in MODULES.items():
        lines += [f"## {group}", ""]
        for name in names:
            doc = inspect.getdoc(importlib.import_module(name)) or ""
            first = " ".join(doc.partition("\n\n")[0].split())
            lines.append(f"- [{name}]({name}.md): {first}")
        lines.append("")
    return "\n".join(lines)
