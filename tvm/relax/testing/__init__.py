"""What tests of Relax programs use: registered functions, small models, comparisons, dumps."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

_FILES = {
    "ast_printer": ("dump_ast",),
    "attention": (
        "get_relax_attention_module", "get_relax_attention_rewrite_module",
        "get_relax_stacked_attention_module",
    ),
    "matmul": (
        "get_relax_matmul_dequantize_module", "get_relax_matmul_module",
        "get_relax_matmul_multiply_module",
    ),
    "nn": (
        "Linear", "LogSoftmax", "Module", "Parameter", "Placeholder", "ReLU", "Sequential",
        "checkpoint", "emit", "emit_checkpoint", "emit_checkpoint_sequential", "emit_te",
        "init_params",
    ),
}  # fmt: skip
_HOMES = {name: f"{__name__}.{file}:{name}" for file, names in _FILES.items() for name in names}

if TYPE_CHECKING:
    from . import ast_printer as ast_printer
    from . import lib_comparator as lib_comparator
    from . import runtime_builtin as runtime_builtin
    from . import vm as vm
else:
    __getattr__ = lazy_names(
        __name__,
        _HOMES,
    )  # fmt: skip
