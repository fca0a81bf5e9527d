"""Tests of schedules, whose code need not be fast where only its numbers are looked at."""

from __future__ import annotations

from tests.unoptimised import code_as_it_is_written as code_as_it_is_written
