"""Patterns of outside compilers, by the compiler's name."""

from .register import get_pattern_table as get_pattern_table
from .register import register_pattern_table as register_pattern_table
