"""Accelerators of users: a subclass of `UMABackend` says what they take and how they compute it."""

from .api.utils import PassPhase as PassPhase
from .api.utils import uma_available as uma_available
from .backend import UMABackend as UMABackend

__all__ = ["PassPhase", "UMABackend", "uma_available"]
