"""Loggers with files."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tvm.meta_schedule.logging import (
    create_loggers,
    create_scheduler_logger,
    get_logger,
    get_loggers_from_work_dir,
    get_logging_func,
)

pytestmark = pytest.mark.pure


def _close(logger: logging.Logger) -> None:
    for handler in logger.handlers:
        handler.close()


def test_a_file_for_each_task(tmp_path: Path) -> None:
    names = [f"conv2d_{i}" for i in range(10)] + ["a/b c"]
    loggers = get_loggers_from_work_dir(str(tmp_path), names)
    for i, logger in enumerate(loggers):
        logger.info("hello %d", i)
        _close(logger)
    files = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert files[0] == "tvm.meta_schedule.logging.task_00_conv2d_0.log"
    assert files[-1] == "tvm.meta_schedule.logging.task_10_a_b_c.log"
    assert (tmp_path / "logs" / files[3]).read_text().endswith("[INFO] hello 3\n")


def test_scheduler_logger(tmp_path: Path) -> None:
    logger = create_scheduler_logger(str(tmp_path))
    logger.warning("slow")
    _close(logger)
    path = tmp_path / "logs" / "tvm.meta_schedule.logging.task_scheduler.log"
    assert "[WARNING] slow" in path.read_text()


def test_own_configuration(tmp_path: Path) -> None:
    config = {
        "handlers": {"{logger_name}.h": {
            "class": "logging.FileHandler", "filename": str(tmp_path / "{logger_name}.txt")}},
        "loggers": {"{logger_name}": {"level": "ERROR", "handlers": ["{logger_name}.h"]}},
    }  # fmt: skip
    create_loggers(str(tmp_path), [{"logger_name": "tests.one"}], config)
    logger = get_logger("tests.one")
    logger.info("quiet")
    logger.error("loud")
    _close(logger)
    assert (tmp_path / "tests.one.txt").read_text() == "loud\n"


def test_logging_function(caplog: pytest.LogCaptureFixture) -> None:
    assert get_logging_func(None) is None
    log = get_logging_func(get_logger("tests.func"))
    with caplog.at_level(logging.DEBUG, logger="tests.func"):
        log(logging.INFO, "/a/b/search.py", 12, "found")
        log(0, "/a/b/search.py", 13, "clear")
        log(logging.WARNING, "", 0, "plain")
    assert [r.getMessage() for r in caplog.records] == ["[search.py:12] found", "plain"]
