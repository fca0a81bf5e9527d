"""Reports: tables, CSV, JSON."""

from __future__ import annotations

import json

import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime.profiling import (
    Count,
    DeviceWrapper,
    Duration,
    MetricCollector,
    Percent,
    Ratio,
    Report,
    profile_function,
)

pytestmark = pytest.mark.pure


def call(name: str, us: float, percent: float) -> dict[str, object]:
    return {"Name": name, "Duration (us)": Duration(us), "Percent": Percent(percent),
            "Device": "cpu0", "Count": Count(1)}  # fmt: skip


REPORT = Report(
    [call("add", 2.5, 20), call("conv", 7.5, 60), call("add", 2.5, 20)],
    {"cpu0": {"Duration (us)": Duration(12.5), "Percent": Percent(100)}},
    {"Executor": "VM"},
)


def test_the_table_adds_calls_of_one_name_and_sorts_them() -> None:
    assert REPORT.table() == (
        "Name        Duration (us)  Percent  Device  Count  Argument Shapes\n"
        "conv                 7.50    60.00    cpu0      1\n"
        "add                  5.00    40.00    cpu0      2\n"
        "----------\n"
        "Sum                 12.50   100.00              3\n"
        "Total               12.50   100.00    cpu0\n"
        "\nConfiguration\n-------------\nExecutor: VM\n"
    )
    assert REPORT.table(sort=False, aggregate=False, col_sums=False).count("add") == 2


def test_csv() -> None:
    assert REPORT.csv().splitlines()[:2] == [
        "Count,Device,Duration (us),Name,Percent", '1,"cpu0",2.5,"add",20'
    ]  # fmt: skip
    two = Report([{"Name": 'a "b"'}, {"Name": "c", "Foo": Ratio(0.25)}], {}, {})
    assert two.csv() == 'Foo,Name\n,"a ""b"""\n0.25,"c"\n'


def test_a_report_of_nothing() -> None:
    empty = Report([], {}, {})
    assert empty.csv() == "\n"
    lines = str(empty).splitlines()
    assert lines[0].startswith("Name  ")
    assert lines[1:] == ["----------", "Sum"]


def test_json_comes_back() -> None:
    back = Report.from_json(REPORT.json())
    assert back.calls == REPORT.calls
    assert back.device_metrics == REPORT.device_metrics
    assert back.configuration == REPORT.configuration
    assert json.loads(REPORT.json())["calls"][0]["Name"] == {"string": "add"}
    with pytest.raises(TVMError, match="read a profiling report"):
        Report.from_json("[]")


def test_metrics_are_compared_by_value() -> None:
    assert Count(3) == Count(3) != Count(4)
    assert Ratio(0.5) == Ratio(0.5)
    assert len({Duration(1), Duration(1), Percent(1.0)}) == 2


def test_collectors_see_a_call() -> None:
    class Calls(MetricCollector):
        def init(self, devices: list[DeviceWrapper]) -> None:
            self.devices = [d.device for d in devices]

        def start(self, device: object) -> int:
            return 5

        def stop(self, started: int) -> dict[str, Count]:
            return {"Calls": Count(started)}

    runs = []
    collector = Calls()
    functions = {"f": lambda x: runs.append(x)}
    metrics = profile_function(functions, tvm.cpu(), [collector], "f", warmup_iters=3)(1)
    assert metrics["Calls"] == Count(5)
    assert isinstance(metrics["Duration (us)"], Duration)
    assert len(runs) == 4
    assert collector.devices == [tvm.cpu()]
