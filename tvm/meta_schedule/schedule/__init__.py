"""Schedules of whole blocks by hand, which blocks name in their annotation `schedule_rule`."""
