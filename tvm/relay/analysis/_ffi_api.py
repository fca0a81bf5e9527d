"""Functions that programs reach here by their older names."""

from .type_solver import _test_type_solver as _test_type_solver
