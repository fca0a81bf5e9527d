"""Schedules of blocks for CPUs."""
