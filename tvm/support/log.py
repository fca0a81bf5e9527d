"""Loggers of the project: one a part, below `tvm`; silent unless the user sets a level."""

from __future__ import annotations

import logging


def logger(part: str) -> logging.Logger:
    """The logger of a part, such as `relax.LegalizeOps`."""
    return logging.getLogger(f"tvm.{part}")
