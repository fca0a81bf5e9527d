"""Files with one tuning record a line: `[number of the workload, record]`."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tvm.support.json_text import from_json


def write_file(json_list: Sequence[Any], log: str | None = None, mode: str = "w") -> str:
    """Write one JSON value a line into `log` (a new file without one); its path."""
    if log is None:
        handle, log = tempfile.mkstemp(suffix=".json")
        os.close(handle)
    with open(log, mode, encoding="utf-8") as sink:
        sink.writelines(json.dumps(value) + "\n" for value in json_list)
    return log


def clean_file(filename: str) -> None:
    """The file is gone, if it was there."""
    Path(filename).unlink(missing_ok=True)


def get_time(log: str) -> list[list[float]]:
    """The seconds of each record."""
    return [record[1][1] for record in _lines(log)]


def read_cfg_file(
    path_tuning_file: str, path_workload_file: str
) -> dict[int, tuple[float, str, Any]]:
    """Of each workload by its number: the best mean seconds, a file with that record, itself."""
    workloads = _lines(path_workload_file)
    best: dict[int, Any] = {}
    for record in _lines(path_tuning_file):
        known = best.get(record[0])
        if record[1][1] and (known is None or _mean(record) < _mean(known)):
            best[record[0]] = record
    return {at: (_mean(r), write_file([r]), workloads[at]) for at, r in best.items()}


def _mean(record: Any) -> float:
    return math.fsum(record[1][1]) / len(record[1][1])


def _lines(path: str) -> list[Any]:
    text = Path(path).read_text(encoding="utf-8")
    return [from_json(line) for line in text.splitlines() if line.strip()]
