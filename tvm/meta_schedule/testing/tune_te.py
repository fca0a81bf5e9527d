"""Search for schedules of a workload of tensor expressions.

    python -m tvm.meta_schedule.testing.tune_te --workload GMM --target "llvm -num-cores 8" \\
        --num-trials 64

Measures here, or with --rpc-host on servers that a tracker lends.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tvm.meta_schedule.database import Database
from tvm.meta_schedule.runner import EvaluatorConfig, LocalRunner, RPCConfig, RPCRunner, Runner
from tvm.meta_schedule.tir_integration import tune_tir
from tvm.target import Target

from .te_workload import CONFIGS, create_te_workload


def add_runner_options(to: argparse.ArgumentParser) -> None:
    """How candidates are measured, and where."""
    to.add_argument("--rpc-host", help="the tracker; without it programs run here")
    to.add_argument("--rpc-port", type=int, default=9190)
    to.add_argument("--rpc-key", help="the name of the servers to ask for")
    to.add_argument("--number", type=int, default=3, help="runs that one figure is the mean of")
    to.add_argument("--repeat", type=int, default=1, help="figures of one candidate")
    to.add_argument("--min-repeat-ms", type=int, default=100, help="least time of one figure")
    to.add_argument("--cpu-flush", action="store_true", help="empty the caches between figures")


def runner_of(args: argparse.Namespace) -> Runner:
    """The runner that the options ask for."""
    how = EvaluatorConfig(args.number, args.repeat, args.min_repeat_ms, args.cpu_flush)
    if args.rpc_host is None:
        return LocalRunner(evaluator_config=how)
    where = RPCConfig(args.rpc_host, args.rpc_port, args.rpc_key, session_timeout_sec=60)
    return RPCRunner(where, how)


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m tvm.meta_schedule.testing.tune_te", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--workload", required=True, choices=sorted(CONFIGS))
    found.add_argument("--size", type=int, default=0, help="which of the workload's sizes")
    found.add_argument("--target", required=True, type=Target)
    found.add_argument("--num-trials", required=True, type=int)
    found.add_argument("--work-dir", type=Path, help="where the records go; else none are kept")
    add_runner_options(found)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Tune, and print the best schedule."""
    args = parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    func = create_te_workload(args.workload, args.size)
    with tempfile.TemporaryDirectory() as folder:
        database: Database = tune_tir(
            func, args.target, str(args.work_dir or folder), args.num_trials,
            num_trials_per_iter=min(64, args.num_trials), runner=runner_of(args),
        )  # fmt: skip
        records = sorted(
            (record for record in database.get_all_tuning_records() if record.is_valid()),
            key=lambda record: record.mean_secs,
        )
        if not records:
            print("No valid schedule found!")
            return
        print(f"{records[0].mean_secs * 1e6:.3f} us")
        print(records[0].schedule().mod.script())
        print(records[0].trace)


if __name__ == "__main__":
    main()
