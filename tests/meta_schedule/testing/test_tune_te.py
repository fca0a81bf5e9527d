from __future__ import annotations

from pathlib import Path

import pytest

from tvm.meta_schedule.runner import LocalRunner, RPCRunner
from tvm.meta_schedule.testing import tune_te
from tvm.meta_schedule.testing.local_rpc import LocalRPC

pytestmark = pytest.mark.cpu
TARGET = "llvm -num-cores 1"


def test_the_best_schedule_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    quick = ["--number", "1", "--min-repeat-ms", "0", "--work-dir", str(tmp_path)]
    tune_te.main(["--workload", "GMM", "--target", TARGET, "--num-trials", "2", *quick])
    out = capsys.readouterr().out
    assert "T.block(" in out
    assert "sch.get_block(" in out
    assert (tmp_path / "database_tuning_record.json").read_text(encoding="utf-8").strip()


def test_options() -> None:
    base = ["--workload", "SFM", "--target", TARGET, "--num-trials", "8"]
    assert isinstance(tune_te.runner_of(tune_te.parser().parse_args(base)), LocalRunner)
    with LocalRPC(silent=True) as rpc:
        away = ["--rpc-host", rpc.tracker_host, "--rpc-port", str(rpc.tracker_port)]
        away += ["--rpc-key", rpc.tracker_key, "--repeat", "4"]
        runner = tune_te.runner_of(tune_te.parser().parse_args(base + away))
    assert isinstance(runner, RPCRunner)
    assert runner.rpc_config.tracker_key == rpc.tracker_key
    assert runner.evaluator_config.repeat == 4
    with pytest.raises(SystemExit):
        tune_te.parser().parse_args(["--workload", "no such", "--target", TARGET])
