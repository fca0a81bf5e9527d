"""Reports on where the time of a run went."""

from __future__ import annotations

import json as _json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.support.html import document, table
from tvm.support.json_text import from_json

from ._device import Device


class Count:
    """A number of events."""

    def __init__(self, count: int) -> None:
        self.value = int(count)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self), self.value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value})"


class Duration:
    """A time in microseconds."""

    def __init__(self, duration: float) -> None:
        self.microseconds = float(duration)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.microseconds == other.microseconds

    def __hash__(self) -> int:
        return hash(self.microseconds)

    def __repr__(self) -> str:
        return f"Duration({self.microseconds})"


class Percent:
    """A share of a hundred."""

    def __init__(self, percent: float) -> None:
        self.percent = float(percent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Percent) and self.percent == other.percent

    def __hash__(self) -> int:
        return hash(self.percent)

    def __repr__(self) -> str:
        return f"Percent({self.percent})"


class Ratio:
    """One amount for another."""

    def __init__(self, ratio: float) -> None:
        self.ratio = float(ratio)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ratio) and self.ratio == other.ratio

    def __hash__(self) -> int:
        return hash(self.ratio)

    def __repr__(self) -> str:
        return f"Ratio({self.ratio})"


# The key of each metric in the JSON form, and the attribute that holds its number.
_METRICS: dict[str, tuple[type[Any], str]] = {
    "count": (Count, "value"),
    "microseconds": (Duration, "microseconds"),
    "percent": (Percent, "percent"),
    "ratio": (Ratio, "ratio"),
}


class Report:
    """One dict a call (name -> metric), metrics of whole devices, and the configuration."""

    def __init__(
        self,
        calls: Sequence[Mapping[str, Any]],
        device_metrics: Mapping[str, Mapping[str, Any]],
        configuration: Mapping[str, Any],
    ) -> None:
        self.calls = [dict(call) for call in calls]
        self.device_metrics = {name: dict(m) for name, m in device_metrics.items()}
        self.configuration = dict(configuration)

    def csv(self) -> str:
        """Comma-separated values, one line a call; columns by their names, texts in quotes."""
        names = sorted({name for call in self.calls for name in call})
        rows = [[_cell(c[name]) if name in c else "" for name in names] for c in self.calls]
        return "".join([",".join(row) + "\n" for row in (names, *rows)])

    def table(self, sort: bool = True, aggregate: bool = True, col_sums: bool = True) -> str:
        """A table for people: the slowest first, calls of one name together, sums below."""
        rows = _aggregated(self.calls) if aggregate else [dict(call) for call in self.calls]
        if sort:
            rows.sort(key=lambda row: -_microseconds(row))
        names = [*_FIRST, *[name for name in _columns(rows) if name not in _FIRST]]
        lines = [[_shown(row.get(name, "")) for name in names] for row in rows]
        if col_sums:
            lines.append(["-" * 10] + [""] * (len(names) - 1))
            lines.append(_sums(rows, names))
        for device, metrics in self.device_metrics.items():
            total = {"Name": "Total", "Device": device, **metrics}
            lines.append([_shown(total.get(name, "")) for name in names])
        text = _aligned(names, lines)
        settings = "".join(f"\n{key}: {_shown(v)}" for key, v in self.configuration.items())
        return text + ("\n\nConfiguration\n-------------" + settings if settings else "") + "\n"

    def frame(self) -> Any:
        """The calls as a frame of pandas: plain numbers, one row a call.

        ImportError, with what to do, where pandas is not installed.
        """
        try:
            import pandas
        except ImportError as err:
            asked, legal = "a profile as a frame", "pip install pandas, or csv() and json()"
            raise ImportError(message(asked, found=str(err), legal=legal)) from err
        rows = [{name: _number(value) for name, value in call.items()} for call in self.calls]
        return pandas.DataFrame(rows, columns=_columns(self.calls))

    def _repr_html_(self) -> str:
        """What notebooks show: the table, the slowest first."""
        rows = sorted(_aggregated(self.calls), key=lambda row: -_microseconds(row))
        names = _columns(rows)
        right = [n for n, name in enumerate(names) if any(_is_number(r.get(name)) for r in rows)]
        cells = [[_shown(row.get(name, "")) for name in names] for row in rows]
        return document(table(names, cells, right))

    def json(self) -> str:
        """The whole report; `from_json` reads it back."""
        return _json.dumps(
            {
                "calls": [_plain(call) for call in self.calls],
                "device_metrics": {k: _plain(v) for k, v in self.device_metrics.items()},
                "configuration": _plain(self.configuration),
            }
        )

    @classmethod
    def from_json(cls, s: str) -> Report:
        """The report of a text made by `json`."""
        try:
            record = from_json(s)
            return cls(
                [_rich(call) for call in record["calls"]],
                {name: _rich(m) for name, m in record["device_metrics"].items()},
                _rich(record.get("configuration", {})),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            raise TVMError(
                message(
                    "read a profiling report",
                    found=f"{type(err).__name__}: {err}",
                    legal="JSON with calls, device_metrics and configuration",
                )
            ) from err

    def __str__(self) -> str:
        return self.table()


_FIRST: Final = ("Name", "Duration (us)", "Percent", "Device", "Count", "Argument Shapes")


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    present = {name for row in rows for name in row}
    return [name for name in _FIRST if name in present] + sorted(present - set(_FIRST))


def _microseconds(row: Mapping[str, Any]) -> float:
    value = row.get("Duration (us)")
    return value.microseconds if isinstance(value, Duration) else 0.0


def _aggregated(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Calls of one name on one device as one row; amounts are added, shares too."""
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    for call in calls:
        key = (call.get("Name"), call.get("Device"), call.get("Argument Shapes"))
        row = rows.setdefault(key, {})
        for name, value in call.items():
            row[name] = _added(row[name], value) if name in row else value
    return list(rows.values())


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, Count):
        return Count(a.value + b.value)
    if isinstance(a, Duration):
        return Duration(a.microseconds + b.microseconds)
    if isinstance(a, Percent):
        return Percent(a.percent + b.percent)
    if isinstance(a, Ratio):
        return Ratio((a.ratio + b.ratio) / 2)
    return a


def _sums(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    cells = ["Sum"]
    for name in names[1:]:
        amounts = (Count, Duration, Percent)
        values = [row[name] for row in rows if isinstance(row.get(name), amounts)]
        total = values[0] if values else ""
        for value in values[1:]:
            total = _added(total, value)
        cells.append(_shown(total))
    return cells


def _number(value: Any) -> Any:
    for kind, attribute in _METRICS.values():
        if isinstance(value, kind):
            return getattr(value, attribute)
    return value


def _cell(value: Any) -> str:
    number = _number(value)
    if isinstance(number, (int, float)):
        return f"{number:g}" if isinstance(number, float) else str(number)
    return '"' + str(number).replace('"', '""') + '"'


def _is_number(value: Any) -> bool:
    return isinstance(_number(value), (int, float))


def _shown(value: Any) -> str:
    if isinstance(value, Count):
        return f"{value.value:,}"
    number = _number(value)
    return f"{number:,.2f}" if isinstance(number, float) else str(number)


def _aligned(names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(names, *lines)]
    rows = [[names[0].ljust(widths[0]), *(n.rjust(w) for n, w in zip(names[1:], widths[1:]))]]
    for line in lines:
        rows.append([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))])
    return "\n".join("  ".join(row).rstrip() for row in rows)


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        for key, (kind, attribute) in _METRICS.items():
            if isinstance(value, kind):
                out[name] = {key: getattr(value, attribute)}
                break
        else:
            out[name] = value if isinstance(value, (int, float)) else {"string": str(value)}
    return out


def _rich(row: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            ((key, number),) = value.items()
            out[name] = number if key == "string" else _METRICS[key][0](number)
        else:
            out[name] = value
    return out


class MetricCollector:
    """Collects more about each call than its time; subclasses say what."""

    def init(self, devices: Sequence[DeviceWrapper]) -> None:
        """Called once, before anything runs."""

    def start(self, device: Device) -> Any:
        """Called before a call; what it returns is given to `stop`."""
        return None

    def stop(self, started: Any) -> Mapping[str, Any]:
        """Called after the call; the metrics to put in its row."""
        return {}


class DeviceWrapper:
    """A device, as collectors are given it."""

    def __init__(self, dev: Device) -> None:
        self.device = dev


def profile_function(
    mod: Any,
    dev: Device,
    collectors: Sequence[MetricCollector],
    func_name: str | None = None,
    warmup_iters: int = 10,
) -> Callable[..., dict[str, Any]]:
    """A function that runs `func_name` once after warming up, and gives its metrics."""
    func = mod.entry_func if func_name is None else mod[func_name]

    def profile(*args: Any) -> dict[str, Any]:
        for collector in collectors:
            collector.init([DeviceWrapper(dev)])
        for _ in range(warmup_iters):
            func(*args)
        dev.sync()
        started = [collector.start(dev) for collector in collectors]
        begin = time.perf_counter()
        func(*args)
        dev.sync()
        seconds = time.perf_counter() - begin
        metrics: dict[str, Any] = {"Duration (us)": Duration(seconds * 1e6)}
        for collector, token in zip(collectors, started):
            metrics.update(collector.stop(token))
        return metrics

    return profile
