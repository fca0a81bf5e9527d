"""`relay.vm`: the names of `relay.backend.vm`."""

from .backend.vm import VMCompiler as VMCompiler
from .backend.vm import VMExecutor as VMExecutor
from .backend.vm import compile as compile
