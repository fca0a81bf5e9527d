"""The door to `I`: `from tvm.script import ir as I`."""

from tvm.script.ir_dialect.builder import (
    GlobalVar,
    Range,
    current_ir_module,
    decl_function,
    def_function,
    dummy_global_info,
    lookup_vdevice,
    module_attrs,
    module_get_attr,
    module_get_attrs,
    module_global_infos,
    module_set_attr,
    vdevice,
)
from tvm.script.ir_dialect.entry import ir_module, pyfunc

__all__ = [
    "GlobalVar", "Range", "current_ir_module", "decl_function", "def_function", "dummy_global_info",
    "ir_module", "lookup_vdevice", "module_attrs", "module_get_attr", "module_get_attrs",
    "module_global_infos", "module_set_attr", "pyfunc", "vdevice",
]  # fmt: skip
