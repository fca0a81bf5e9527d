"""The system's C compiler, as a linker of what we compile."""

from tvm.runtime.linker import (
    LinkError,
    create_executable,
    create_shared,
    create_staticlib,
    cross_compiler,
    get_cc,
    get_global_symbol_section_map,
    get_target_by_dump_machine,
)

__all__ = [
    "LinkError",
    "create_executable",
    "create_shared",
    "create_staticlib",
    "cross_compiler",
    "get_cc",
    "get_global_symbol_section_map",
    "get_target_by_dump_machine",
]
