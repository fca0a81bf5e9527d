"""The whole road from a module to something that runs."""

from __future__ import annotations

from .build_module import build as build
from .build_module import compile as compile
from .build_module import lower as lower
