"""What tests of Relax programs use: registered functions, small models, comparisons, dumps."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

if TYPE_CHECKING:
    from . import ast_printer as ast_printer
    from . import lib_comparator as lib_comparator
    from . import runtime_builtin as runtime_builtin
    from . import vm as vm
else:
    __getattr__ = lazy_names(
        __name__,
        {"dump_ast": "tvm.relax.testing.ast_printer:dump_ast"},
        ("ast_printer", "attention", "lib_comparator", "matmul", "nn", "runtime_builtin",
         "transform", "vm"),
    )  # fmt: skip
