"""Builders: modules become files of compiled code, whatever may go wrong on the way."""

from .builder import Builder, BuilderInput, BuilderResult, PyBuilder, create
from .local_builder import LocalBuilder

__all__ = [
    "Builder", "BuilderInput", "BuilderResult", "PyBuilder", "create", "LocalBuilder",
]  # fmt: skip
