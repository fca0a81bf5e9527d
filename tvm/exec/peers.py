"""Other runtimes to compare with: they take the same ONNX file, inputs and number of threads.

All run in turns in one process, and the fastest turn of each counts: what else the machine does
then hits all of them alike, and can make none look faster than it is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tvm.error import message
from tvm.exec.command import Mistake, table
from tvm.support.scratch import scratch
from tvm.support.suggest import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arrays = Sequence["NDArray[np.generic]"]
Runner = Callable[[], Sequence[Any]]


class Peer(NamedTuple):
    """How long a runtime takes, and how far its results are from ours."""

    name: str
    min_s: float
    median_s: float
    ratio: float  # of its fastest turn to ours: above one, it is slower
    difference: float  # the largest, as a share of the largest value


def onnxruntime(path: Path, arrays: Arrays, threads: int) -> Runner:
    """A session on the CPU."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = dict(zip([value.name for value in session.get_inputs()], arrays))
    return lambda: list(session.run(None, feeds))


def openvino(path: Path, arrays: Arrays, threads: int) -> Runner:
    """A request on the CPU, in the precision of the model: left alone it may compute in less."""
    import openvino as ov

    core = ov.Core()
    hints = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32"}
    core.set_property("CPU", hints)
    request = core.compile_model(str(path), "CPU").create_infer_request()
    return lambda: list(request.infer(list(arrays)).values())


PEERS: Final[dict[str, Callable[[Path, Arrays, int], Runner]]] = {
    "onnxruntime": onnxruntime, "openvino": openvino
}  # fmt: skip


def peer_names(text: str) -> list[str]:
    """The names in `onnxruntime,openvino`."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PEERS:
            near = did_you_mean(name, PEERS)
            legal = ", ".join(PEERS)
            raise argparse.ArgumentTypeError(f"no runtime {name!r}{near}; legal: {legal}")
    return names


def compare(
    names: Sequence[str], path: Path, ours: Runner, arrays: Arrays, threads: int, turns: int
) -> tuple[float, list[Peer]]:
    """Seconds of our fastest turn, and the peers."""
    runners = [ours, *(_peer(name, path, arrays, threads) for name in names)]
    results = [[_array(value) for value in run()] for run in runners]
    taken: list[list[float]] = [[] for _ in runners]
    for _ in range(turns):
        for run, seconds in zip(runners, taken):
            start = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - start)
    least = min(taken[0])
    peers = [
        Peer(name, min(s), statistics.median(s), min(s) / least, _difference(results[0], result))
        for name, s, result in zip(names, taken[1:], results[1:])
    ]
    return least, peers


def node_seconds(path: Path, arrays: Arrays, threads: int, runs: int = 10) -> dict[str, float]:
    """Seconds of the nodes by name, as ONNX Runtime profiles itself: the least of several runs.

    What it fuses it calls by the value that comes out, which is the last of the fused nodes'.
    """
    import onnx
    import onnxruntime as ort

    nodes = onnx.load(path, load_external_data=False).graph.node
    maker = {value: node.name for node in nodes for value in node.output if node.name}
    with scratch("tvm-peers-") as folder:
        options = ort.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        options.enable_profiling = True
        options.profile_file_prefix = os.path.join(folder, "nodes")
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feeds = dict(zip([value.name for value in session.get_inputs()], arrays))
        for _ in range(runs):
            session.run(None, feeds)
        events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    found: dict[str, float] = {}
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "Node" and name.endswith("_kernel_time"):
            own, seconds = name.removesuffix("_kernel_time"), float(event["dur"]) * 1e-6
            node = maker.get(own.removesuffix("_nchwc"), own)
            found[node] = min(seconds, found.get(node, seconds))
    return found


def show_peers(ours_s: float, peers: Sequence[Peer]) -> str:
    """A table, ourselves first."""
    rows = [["tvm", f"{ours_s * 1e6:,.1f}", "", "1.00", ""]]
    rows += [
        [p.name, f"{p.min_s * 1e6:,.1f}", f"{p.median_s * 1e6:,.1f}", f"{p.ratio:.2f}",
         f"{p.difference:.1e}"]
        for p in peers
    ]  # fmt: skip
    return table(["runtime", "least us", "median us", "times ours", "differs"], rows, range(1, 5))


def _peer(name: str, path: Path, arrays: Arrays, threads: int) -> Runner:
    try:
        return PEERS[name](path, arrays, threads)
    except ImportError as error:
        legal = f"pip install {name}"
        raise Mistake(message(f"--vs {name}", found=str(error), legal=legal)) from error
    except Exception as error:  # what another runtime refuses, it says in its own way
        found = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Mistake(message(f"--vs {name}: it does not take {path}", found=found)) from error


def _array(value: Any) -> Any:
    import numpy as np

    # results may lie in memory that the next run overwrites
    return np.array(value.numpy() if hasattr(value, "numpy") else value)


def _difference(ours: Sequence[Any], theirs: Sequence[Any]) -> float:
    import numpy as np

    worst = 0.0
    for have, want in zip(ours, theirs, strict=True):
        if have.shape != want.shape:
            return float("inf")
        a, b = want.astype(np.float64), have.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            finite = np.abs(a[np.isfinite(a)])
            largest = float(finite.max()) if finite.size else 0.0
            gap = float(np.abs(a - b)[~same].max())
            worst = max(worst, gap / largest if largest else float("inf"))
    return worst
