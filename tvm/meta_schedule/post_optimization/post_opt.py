"""Refine the best schedule of each program that a search has found."""

from __future__ import annotations

import os

from tvm.target.target import Target

from .droplet import Droplet
from .utils import clean_file, read_cfg_file


class PostOpt:
    """Refines what the search in `work_dir` found; new records go to its database.

    Each program has `trials` measurements at most.
    """

    def __init__(self, work_dir: str, target: Target, trials: int = 100) -> None:
        self.work_dir = work_dir
        self.target = target if isinstance(target, Target) else Target(target)
        self.trials = trials

    def run(self) -> None:
        """Refine all programs."""
        records = os.path.join(self.work_dir, "database_tuning_record.json")
        workloads = os.path.join(self.work_dir, "database_workload.json")
        for _, path, workload in read_cfg_file(records, workloads).values():
            try:
                Droplet(path, workload, self.target, records).tune(self.trials)
            finally:
                clean_file(path)
