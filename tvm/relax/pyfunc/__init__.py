"""Relax functions as Python functions: operators in torch, and the language's own calls."""
