"""What a compiled program says about itself; it travels as JSON inside the library."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.support.json_text import from_json

from .bytecode import Bytecode

FORMAT: Final = 2
SYMBOL: Final = "__tvm_artefact"  # the JSON in a library, zero-terminated


@dataclass(frozen=True)
class ValueInfo:
    """A parameter or result: an extent is a number, or the name of a symbolic size."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True)
class FunctionInfo:
    """What a function takes and gives."""

    name: str
    params: tuple[ValueInfo, ...]
    results: tuple[ValueInfo, ...]


@dataclass(frozen=True)
class KernelInfo:
    """A kernel, and the operators of the source model that it came from."""

    name: str
    sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class GraphInfo:
    """A program that executors of graphs run: its name, the executor it is for, and its graph.

    `bound` has digests of the parameters that became constants, by their names.
    """

    name: str = "default"
    executor: str = "graph"
    json: str = ""
    bound: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Artefact:
    """A compiled program: its functions, its kernels, and how it runs.

    `profile_calls` gives, for each function with a profiling form, the kernel of each call in the
    order of the calls, and `profile_readings` how many readings of the clock that form keeps one by
    one, where it does. `machine` names the language whose machine runs it, where that is not
    Relax. `exports` are all functions that can be called from outside, `tensors` the
    symbols, shapes and types of the constants that the bytecode uses, `variants` the functions that
    stand in for another where a call has their sizes.
    """

    functions: tuple[FunctionInfo, ...] = ()
    kernels: tuple[KernelInfo, ...] = ()
    profile_calls: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    profile_readings: Mapping[str, int] = field(default_factory=dict)
    bytecode: Bytecode | None = None
    exports: tuple[str, ...] = ()
    tensors: tuple[ValueInfo, ...] = ()
    kind: str = "llvm"
    entry: str | None = None
    variants: Mapping[str, str] = field(default_factory=dict)
    launching: frozenset[str] = frozenset()  # kernels whose host code only launches
    devices: tuple[Mapping[str, Any], ...] = ()  # kernels of devices: DeviceModule.as_record
    machine: str = ""
    graph: GraphInfo = GraphInfo()
    late: tuple[tuple[str, int], ...] = ()  # constants that come from elsewhere, by name
    stored: tuple[tuple[str, bytes], ...] = ()  # modules by kind, as `save_to_bytes` gave them

    def function(self, name: str) -> FunctionInfo | None:
        """The function called `name`."""
        return next((f for f in self.functions if f.name == name), None)

    def to_json(self) -> str:
        """As text that `from_json` reads."""
        record: dict[str, Any] = {
            "format": FORMAT,
            "kind": self.kind,
            "entry": self.entry,
            "machine": self.machine,
            "late": [list(pair) for pair in self.late],
            "graph": [self.graph.name, self.graph.executor, self.graph.json,
                      dict(self.graph.bound)],
            "exports": list(self.exports),
            "variants": dict(self.variants),
            "launching": sorted(self.launching),
            "functions": [
                {"name": f.name, "params": _values(f.params), "results": _values(f.results)}
                for f in self.functions
            ],
            "kernels": [{"name": k.name, "sources": list(k.sources)} for k in self.kernels],
            "profile_calls": {name: list(calls) for name, calls in self.profile_calls.items()},
            "profile_readings": dict(self.profile_readings),
            "tensors": _values(self.tensors),
            "bytecode": None if self.bytecode is None else self.bytecode.as_record(),
            "devices": [dict(device) for device in self.devices],
            "stored": [[kind, base64.b64encode(b).decode()] for kind, b in self.stored],
        }
        return json.dumps(record, separators=(",", ":"))

    @staticmethod
    def from_json(text: str) -> Artefact:
        """The artefact of a text made by `to_json`."""
        try:
            record = from_json(text)
            if record["format"] != FORMAT:
                raise TVMError(
                    message(
                        "load a compiled program",
                        found=f"format {record['format']}",
                        legal=f"format {FORMAT}; compile the program again",
                    )
                )
            return Artefact(
                functions=tuple(
                    FunctionInfo(f["name"], _read_values(f["params"]), _read_values(f["results"]))
                    for f in record["functions"]
                ),
                kernels=tuple(
                    KernelInfo(k["name"], tuple(k["sources"])) for k in record["kernels"]
                ),
                profile_calls={n: tuple(c) for n, c in record["profile_calls"].items()},
                profile_readings={
                    str(n): int(c) for n, c in record.get("profile_readings", {}).items()
                },
                bytecode=(
                    None if record["bytecode"] is None else Bytecode.from_record(record["bytecode"])
                ),
                exports=tuple(record["exports"]),
                tensors=_read_values(record["tensors"]),
                kind=record["kind"],
                entry=record["entry"],
                machine=str(record.get("machine", "")),
                late=tuple((str(name), int(at)) for name, at in record.get("late", ())),
                graph=_graph(record.get("graph", ())),
                variants=dict(record.get("variants", {})),
                launching=frozenset(map(str, record.get("launching", ()))),
                devices=tuple(dict(device) for device in record.get("devices", ())),
                stored=tuple(
                    (str(kind), base64.b64decode(b)) for kind, b in record.get("stored", ())
                ),
            )
        except (ValueError, KeyError, TypeError) as err:
            raise TVMError(
                message("load a compiled program", found=f"damaged description: {err}")
            ) from err


def _graph(fields: Sequence[Any]) -> GraphInfo:
    if not fields:
        return GraphInfo()
    name, executor, graph, *bound = fields
    return GraphInfo(str(name), str(executor), str(graph), dict(*bound))


def _values(values: tuple[ValueInfo, ...]) -> list[list[Any]]:
    return [[v.name, list(v.shape), v.dtype] for v in values]


def _read_values(records: list[list[Any]]) -> tuple[ValueInfo, ...]:
    return tuple(ValueInfo(name, tuple(shape), dtype) for name, shape, dtype in records)
