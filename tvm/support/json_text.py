"""JSON from files of others: what cannot be read is a ValueError, however it is wrong."""

from __future__ import annotations

import json
from typing import Any


def from_json(text: str | bytes) -> Any:
    """The data of a text of JSON; ValueError where it is none, or nested beyond use."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("JSON that is nested too deeply") from None
