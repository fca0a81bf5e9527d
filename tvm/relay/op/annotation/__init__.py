"""Marks on values: for fusion, memory, devices and outside compilers."""

from .annotation import as_virtual_device as as_virtual_device
from .annotation import cast_hint as cast_hint
from .annotation import checkpoint as checkpoint
from .annotation import compiler_begin as compiler_begin
from .annotation import compiler_end as compiler_end
from .annotation import function_on_device as function_on_device
from .annotation import on_device as on_device
from .annotation import stop_fusion as stop_fusion
