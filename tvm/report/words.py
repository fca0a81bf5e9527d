"""The words of a report: plain records, and their JSON form.

Texts are long and nearly the same from pass to pass. All lines stand once in `Report.lines`; a text
is a list of runs, `[first, count, first, count, ...]`, of them.
"""

from __future__ import annotations

import dataclasses
import json
import typing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

from tvm.error import TVMError, message
from tvm.runtime.files import draft_of
from tvm.support.html import document, line, table
from tvm.support.json_text import from_json

SCHEMA: Final = 2  # of the JSON form; a reader refuses another one

T = TypeVar("T")


@dataclass
class Source:
    """An operator of the program as it was given; `inputs` are numbers of others."""

    name: str  # of the node in the model, or the line of the script
    op: str
    value: str  # what the program calls its result
    shape: str
    place: str  # `file:line`, or the model's node
    inputs: list[int]
    calls: list[int]  # the calls of kernels that compute it


@dataclass
class Call:
    """A call of a kernel, in the order of `main`; `inputs` are the calls whose results it reads."""

    kernel: str
    value: str
    shape: str
    sources: list[int]
    inputs: list[int]
    measured_us: float | None = None
    predicted_us: float | None = None
    alternative_us: float | None = None  # with the next rule that fits; None where none does
    times: int = 1  # that a run makes this call, in a loop; the microseconds are of all of them


@dataclass
class Operand:
    """A buffer of a kernel: a parameter, or memory of its own with a scope."""

    name: str
    dtype: str
    shape: str
    nbytes: int | None
    scope: str
    role: str  # "read", "written", "own"


@dataclass
class Stage:
    """A text as a pass left it; `run` is the number of the pass in `Report.passes`, -1 before."""

    run: int
    name: str
    text: list[int]


@dataclass
class Step:
    """A primitive that the rule applied: where the rule says so, and its reason in its words."""

    text: str
    kind: str
    where: str
    reason: str


@dataclass
class Code:
    """Machine code of a kernel. `ir_lines[i]` is the line of `tir` that line i came from, or 0."""

    tir: list[int]
    ir: list[int]
    ir_lines: list[int]
    asm: list[int]
    asm_lines: list[int]
    mix: dict[str, int]
    spills: int


@dataclass
class Launch:
    """A launch of a kernel on a GPU; numbers that only a run tells are None.

    `words` are 32-bit words of a thread's own arrays; registers and bytes of its stack are those of
    the compiler's code, where that was made. `resident` blocks of it run on a multiprocessor at a
    time, and fill the share `occupancy` of its warps; `limit` keeps more from fitting.
    """

    blocks: int | None
    threads: int | None
    shared: int
    words: int
    registers: int | None = None
    stack: int | None = None
    resident: int | None = None
    occupancy: float | None = None
    limit: str = ""


@dataclass
class Kernel:
    """A kernel: what it computes, how it was scheduled and why, what it became, what it costs."""

    name: str
    operands: list[Operand]
    flops: float | None
    nbytes: int | None
    rule: str
    reason: str
    refused: list[str]  # rules that were asked before: "Name", or "Name (why)" of one that failed
    stages: list[Stage]
    steps: list[Step]
    code: Code | None = None
    threads: int = 1
    work: dict[str, float] = field(default_factory=dict)  # flops by the kind of arithmetic
    alternative: str = ""  # the next rule that fits
    launches: list[Launch] = field(default_factory=list)


@dataclass
class PassRun:
    """One run of a pass. Sizes are statements and bindings of what it saw and left."""

    name: str
    depth: int
    start_us: float
    duration_us: float
    functions_before: int
    functions_after: int
    changed: list[str]
    size_before: int = 0
    size_after: int = 0


@dataclass
class Held:
    """A value in the arena: bytes from `offset` on, needed from call `first` to call `last`."""

    value: str
    maker: int  # the call that makes it, -1 for one that no call does
    offset: int
    nbytes: int
    first: int
    last: int


@dataclass
class Memory:
    """The arena of `main`, and the constants beside it."""

    arena_bytes: int
    constant_bytes: int
    peak_bytes: int  # of values that live at one time
    peak_call: int
    held: list[Held]


@dataclass
class Lap:
    """A call of a kernel in one run, or a task of it, on a thread; 0 is the one that calls.

    A kernel whose loops run on several threads has a task on each of them; `task` is its number,
    and -1 for the call as a whole.
    """

    call: int
    thread: int
    start_us: float
    duration_us: float
    task: int = -1


@dataclass
class Rate:
    """Operations or bytes a second, in billions, of all threads together and of one by itself."""

    all: float
    one: float


@dataclass
class Roofs:
    """What the machine reached in programs that do nothing else, in GFLOP/s and GB/s."""

    cpu: str
    threads: int
    peaks: dict[str, Rate]  # by the kind of arithmetic, see tvm.report.work
    gbytes: dict[str, Rate]  # by where the data lie: "L1", "L2", "memory"


@dataclass
class Machine:
    """The processor, as rules see it."""

    name: str
    arch: str
    vector_bits: int
    vector_registers: int
    fma_ports: int
    l1d_bytes: int
    l2_bytes: int
    l3_bytes: int
    cores: int
    roofs: Roofs | None = None


@dataclass
class Gpu:
    """The GPU, as rules see it; GFLOP/s and GB/s are those of the chip, 0 where none is named."""

    name: str
    chip: str
    multiprocessors: int
    warp_size: int
    registers: int
    shared: int
    l2_bytes: int
    gflops: float
    gbytes: float


@dataclass
class Curve:
    """A tuned kernel: seconds of each trial in order, None for one that failed; its program as it
    came, as the rule schedules it, and as the fastest trial does."""

    task: str
    seconds: list[float | None]
    stages: list[Stage] = field(default_factory=list)


@dataclass(repr=False)
class Report:
    """All that is known of one compilation."""

    title: str
    target: str
    versions: dict[str, str]
    machine: Machine | None = None
    gpu: Gpu | None = None
    lines: list[str] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    kernels: dict[str, Kernel] = field(default_factory=dict)
    graph: list[Stage] = field(default_factory=list)
    passes: list[PassRun] = field(default_factory=list)
    memory: Memory | None = None
    timeline: list[Lap] = field(default_factory=list)  # of one run
    curves: list[Curve] = field(default_factory=list)
    latency_us: float | None = None
    compile_us: float = 0.0
    notes: list[str] = field(default_factory=list)  # what could not be told, and why
    schema: int = SCHEMA

    def __repr__(self) -> str:
        taken = "" if self.latency_us is None else f", {self.latency_us:,.1f} us a run"
        return f"Report({self.title!r}, {len(self.kernels)} kernels{taken})"

    def text(self, runs: list[int]) -> str:
        """The text of a stage or of code."""
        return "\n".join(self.text_lines(runs))

    def text_lines(self, runs: list[int]) -> list[str]:
        """The same as lines."""
        found: list[str] = []
        for first, count in zip(runs[::2], runs[1::2]):
            found += self.lines[first : first + count]
        return found

    def _repr_html_(self) -> str:
        """What notebooks show: a row a kernel, the dearest first."""
        rows: list[tuple[float, list[str]]] = []
        for name, kernel in self.kernels.items():
            calls = [call for call in self.calls if call.kernel == name]
            taken = sum([call.measured_us or 0.0 for call in calls])
            shown = f"{taken:,.1f}" if taken else "-"
            rows.append((-taken, [name, str(len(calls)), shown, kernel.rule, kernel.reason]))
        cells = [row for _, row in sorted(rows, key=lambda pair: pair[0])]
        header = ["kernel", "calls", "us", "rule", "reason"]
        told = f"{self.title} for {self.target}"
        notes = [line(note) for note in self.notes]
        return document(line(told), table(header, cells, right=(1, 2)), *notes)

    def to_json(self) -> str:
        """The report as JSON; `from_json` reads it back."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Report:
        """The report of a text that `to_json` made; TVMError for any other."""
        try:
            data = from_json(text)
        except ValueError as error:
            raise _unreadable(f"no JSON: {error}") from error
        found = data.get("schema") if isinstance(data, dict) else None
        if found != SCHEMA:
            raise _unreadable(f"schema {found!r}")
        return _record(Report, data, "report")

    def save(self, path: str | Path) -> None:
        """Write the JSON form to a file."""
        with draft_of(Path(path)) as draft:
            Path(draft).write_text(self.to_json(), encoding="utf-8")

    @staticmethod
    def load(path: str | Path) -> Report:
        """The report in a file."""
        return Report.from_json(Path(path).read_text(encoding="utf-8"))


class LineTable:
    """Gathers the lines of texts, each once, behind those that there are."""

    def __init__(self, lines: list[str] | None = None) -> None:
        self.lines: list[str] = [] if lines is None else lines
        self._known = {text: number for number, text in enumerate(self.lines)}

    def add(self, text: str) -> list[int]:
        """The runs that make up a text."""
        return self.add_lines(text.split("\n"))

    def add_lines(self, lines: list[str]) -> list[int]:
        """The runs that make up a text given as lines."""
        runs: list[int] = []
        after = -1  # the number that the next line has if it continues the run
        for text in lines:
            number = self._known.get(text)
            if number is None:
                number = self._known[text] = len(self.lines)
                self.lines.append(text)
            if number == after:
                runs[-1] += 1
            else:
                runs += [number, 1]
            after = number + 1
        return runs


def _unreadable(found: str) -> TVMError:
    legal = f"JSON of schema {SCHEMA}, as Report.to_json writes it"
    return TVMError(message("read a report", found=found, legal=legal))


def _record(cls: type[T], data: Any, where: str) -> T:
    """A record of a class from plain data; each field has to be of its type."""
    if not isinstance(data, dict):
        raise _unreadable(f"{where} is {type(data).__name__}, not an object")
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise _unreadable(f"{where} has a field {unknown[0]!r}")
    values = {name: _value(hints[name], value, f"{where}.{name}") for name, value in data.items()}
    try:
        return cls(**values)
    except TypeError as error:
        raise _unreadable(f"{where}: {error}") from error


def _value(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and isinstance(data, list):
        return [_value(arguments[0], part, f"{where}[{i}]") for i, part in enumerate(data)]
    if origin is dict and isinstance(data, dict):
        return {key: _value(arguments[1], part, f"{where}.{key}") for key, part in data.items()}
    if dataclasses.is_dataclass(kind):
        return _record(kind, data, where)  # type: ignore[arg-type]
    if type(None) in arguments:
        if data is None:
            return None
        return _value(next(a for a in arguments if a is not type(None)), data, where)
    if kind is float and type(data) in (int, float):
        return float(data)
    if isinstance(kind, type) and type(data) is kind:
        return data
    raise _unreadable(f"{where} is {data!r:.40}")
