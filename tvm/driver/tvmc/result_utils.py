"""What a run says to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .model import TVMCResult


def format_times(times: Any) -> str:
    """Means, medians and extremes of measured times in milliseconds, as a table."""
    return str(times)


def get_top_results(result: TVMCResult, max_results: int) -> Any:
    """The largest values of the first row of the first output and where they stand.

    Two rows of `max_results` numbers: indices, then values, by falling values.
    """
    row = np.asarray(result.outputs["output_0"])[0]
    places = np.argsort(row)[::-1][:max_results]
    return np.array([places, row[places]])
