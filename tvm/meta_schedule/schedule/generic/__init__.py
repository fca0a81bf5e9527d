"""Schedules of blocks for any target."""
