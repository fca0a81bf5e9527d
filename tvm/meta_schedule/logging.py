"""Loggers of the search: one for the scheduler of tasks, and one with a file for each task."""

from __future__ import annotations

import copy
import logging
import logging.config
import os
import re
from collections.abc import Callable, Mapping, Sequence
from logging import Logger
from typing import Any

ROOT = "tvm.meta_schedule"
_FORMAT = "%(asctime)s [%(levelname)s] %(message)s"


def get_logger(name: str) -> Logger:
    """The logger of a name."""
    return logging.getLogger(name)


def get_logging_func(logger: Logger | None) -> Callable[[int, str, int, str], None] | None:
    """A function (level, file, line, message) that logs; None without a logger.

    Level 0 is what only clears a notebook's cell, and says nothing elsewhere.
    """
    if logger is None:
        return None
    speaks: Logger = logger

    def log(level: int, filename: str, lineno: int, msg: str) -> None:
        if level > 0:
            location = f"[{os.path.basename(filename)}:{lineno}] " if filename else ""
            speaks.log(level, "%s%s", location, msg)

    return log


def create_loggers(
    log_dir: str,
    params: Sequence[Mapping[str, Any]],
    logger_config: Mapping[str, Any] | None = None,
    disable_existing_loggers: bool = False,
) -> None:
    """Make a logger with a file in `log_dir` for each `params`.

    `logger_config` is one for `logging.config.dictConfig`, in whose handlers and loggers the
    entries of `params`, such as {logger_name}, stand for themselves.
    """
    os.makedirs(log_dir, exist_ok=True)
    given = copy.deepcopy(dict(logger_config or {}))
    config: dict[str, Any] = {
        "version": given.get("version", 1),
        "disable_existing_loggers": disable_existing_loggers,
        "formatters": {"tvm.meta_schedule.standard_formatter": {"format": _FORMAT}},
        "handlers": {},
        "loggers": {},
    }
    config["formatters"].update(given.get("formatters", {}))
    handlers = given.get("handlers") or {"{logger_name}.file": _file_handler(log_dir)}
    loggers = given.get("loggers") or {
        "{logger_name}": {"level": "INFO", "handlers": list(handlers), "propagate": False}
    }
    for values in params:
        config["handlers"].update(_filled(handlers, values))
        config["loggers"].update(_filled(loggers, values))
    logging.config.dictConfig(config)


def _file_handler(log_dir: str) -> dict[str, Any]:
    return {
        "class": "logging.FileHandler",
        "filename": os.path.join(log_dir.replace("{", "{{").replace("}", "}}"),
                                 "{logger_name}.log"),
        "mode": "a",
        "delay": True,
        "encoding": "utf-8",
        "level": "DEBUG",
        "formatter": "tvm.meta_schedule.standard_formatter",
    }  # fmt: skip


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with `{name}` replaced in all its strings."""
    if isinstance(template, str):
        return template.format(**values)
    if isinstance(template, Mapping):
        return {_filled(key, values): _filled(part, values) for key, part in template.items()}
    if isinstance(template, (list, tuple)):
        return [_filled(part, values) for part in template]
    return template


def get_loggers_from_work_dir(work_dir: str, task_names: Sequence[str]) -> list[Logger]:
    """A logger for each task, with its file in `work_dir`/logs."""
    digits = len(str(max(len(task_names) - 1, 0)))
    names = [
        f"{ROOT}.logging.task_{i:0{digits}d}_{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}"
        for i, name in enumerate(task_names)
    ]
    create_loggers(os.path.join(work_dir, "logs"), [{"logger_name": name} for name in names])
    return [get_logger(name) for name in names]


def create_scheduler_logger(work_dir: str) -> Logger:
    """The logger of the scheduler of tasks, with its file in `work_dir`/logs."""
    name = f"{ROOT}.logging.task_scheduler"
    create_loggers(os.path.join(work_dir, "logs"), [{"logger_name": name}])
    return get_logger(name)
