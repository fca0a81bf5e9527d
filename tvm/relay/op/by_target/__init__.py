"""Operators as a target likes them: other operands, layouts and ways, by the target's keys."""
