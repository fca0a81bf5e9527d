"""Measure the schedules of a database again, on another machine or for another target.

    python -m tvm.meta_schedule.testing.distributed_measure_candidates \\
        --candidate-cache-dir FOLDER --result-cache-dir FOLDER --target "llvm -num-cores 8"

A folder holds pairs of files NAME_workload.json and NAME_candidates.json; results have the same
names, and NAME_failed_indices.txt lists the records that did not compile or run.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import Builder, BuilderInput, LocalBuilder
from tvm.meta_schedule.database import Database, JSONDatabase, MemoryDatabase, TuningRecord
from tvm.meta_schedule.runner import Runner, RunnerInput, RunnerResult
from tvm.meta_schedule.utils import remove_build_dir
from tvm.target import Target

from .tune_te import add_runner_options, runner_of

_WORKLOAD, _CANDIDATES = "_workload.json", "_candidates.json"


def measure_candidates(
    database: Database, builder: Builder, runner: Runner
) -> tuple[Database, list[int]]:
    """The records with the times of now, in memory; and the numbers of those without any."""
    measured, failed = MemoryDatabase(), list[int]()
    for number, record in enumerate(database.get_all_tuning_records()):
        result = _measured(record, builder, runner)
        if result.run_secs is None:
            failed.append(number)
            continue
        workload = measured.commit_workload(record.workload.mod)
        measured.commit_tuning_record(
            TuningRecord(record.trace, workload, result.run_secs, record.target, record.args_info)
        )
    return measured, failed


def _measured(record: TuningRecord, builder: Builder, runner: Runner) -> RunnerResult:
    """The times of one record, one file at a time on the disk."""
    target = record.target
    if target is None:
        return RunnerResult(None, "the record names no target")
    mod = record.schedule().mod
    (built,) = builder.build([BuilderInput(mod, target)])
    if built.artifact_path is None:
        return RunnerResult(None, built.error_msg)
    try:
        info = record.args_info or ArgInfo.from_entry_func(mod)
        (future,) = runner.run([RunnerInput(built.artifact_path, target.kind.name, info)])
        return future.result()
    finally:
        remove_build_dir(built.artifact_path)


def parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    found = argparse.ArgumentParser(
        prog="python -m tvm.meta_schedule.testing.distributed_measure_candidates",
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    found.add_argument("--candidate-cache-dir", required=True, type=Path)
    found.add_argument("--result-cache-dir", required=True, type=Path)
    found.add_argument("--target", type=Target, help="instead of the target of each record")
    add_runner_options(found)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every pair of files that has no result yet."""
    args = parser().parse_args(arguments)
    source, results = args.candidate_cache_dir, args.result_cache_dir
    results.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob(f"*{_WORKLOAD}")):
        name = path.name.removesuffix(_WORKLOAD)
        if (results / path.name).exists():
            continue
        given: Database = JSONDatabase(str(path), str(source / f"{name}{_CANDIDATES}"))
        if args.target is not None:
            given = _retargeted(given, args.target)
        measured, failed = measure_candidates(given, LocalBuilder(), runner_of(args))
        kept = JSONDatabase(str(results / path.name), str(results / f"{name}{_CANDIDATES}"))
        for record in measured.get_all_tuning_records():
            kept.commit_workload(record.workload.mod)
            kept.commit_tuning_record(record)
        listed = "\n".join(map(str, failed))
        (results / f"{name}_failed_indices.txt").write_text(listed, encoding="utf-8")
        print(f"{name}: {len(measured.get_all_tuning_records())} measured, {len(failed)} failed")


def _retargeted(database: Database, target: Target) -> Database:
    """The same schedules for another target."""
    found = MemoryDatabase()
    for record in database.get_all_tuning_records():
        workload = found.commit_workload(record.workload.mod)
        found.commit_tuning_record(
            TuningRecord(record.trace, workload, None, target, record.args_info)
        )
    return found


if __name__ == "__main__":
    main()
