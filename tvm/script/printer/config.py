"""How TVMScript is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tvm.error import CheckError, message
from tvm.ffi.object import Object
from tvm.ir.access_path import AccessPath
from tvm.ir.node import of_type
from tvm.support.dtype import DataType
from tvm.support.suggest import did_you_mean


class InvalidNameError(CheckError, ValueError):
    """A name that Python has no use for."""


class PrinterConfig(Object):
    """Names of the dialects, dtypes that go without saying, and what to underline or annotate."""

    def __init__(
        self,
        *,
        name: str | None = None,
        show_meta: bool = False,
        ir_prefix: str = "I",
        tir_prefix: str = "T",
        relax_prefix: str = "R",
        module_alias: str = "cls",
        buffer_dtype: str = "float32",
        int_dtype: str = "int32",
        float_dtype: str = "void",
        verbose_expr: bool = False,
        indent_spaces: int = 4,
        print_line_numbers: bool = False,
        num_context_lines: int | None = None,
        syntax_sugar: bool = True,
        show_object_address: bool = False,
        show_all_struct_info: bool = True,
        path_to_underline: Sequence[AccessPath] | None = None,
        path_to_annotate: Mapping[AccessPath, str] | None = None,
        obj_to_underline: Sequence[object] | None = None,
        obj_to_annotate: Mapping[object, str] | None = None,
    ) -> None:
        alias = module_alias or "cls"  # there may be none
        for prefix in (ir_prefix, tir_prefix, relax_prefix, alias):
            of_type(prefix, str, "print a script: a prefix")
            if not prefix.isidentifier():
                raise InvalidNameError(
                    message(
                        "print a script with a prefix",
                        found=f"{prefix!r}, which is no identifier of Python",
                        legal='a name such as "T"',
                    )
                )
        self.binding_names: Final[list[str]] = [] if name is None else [name]
        self.show_meta: Final = show_meta
        self.ir_prefix: Final = ir_prefix
        self.tir_prefix: Final = tir_prefix
        self.relax_prefix: Final = relax_prefix
        self.module_alias: Final = module_alias
        self.buffer_dtype: Final = DataType(buffer_dtype)
        self.int_dtype: Final = DataType(int_dtype)
        self.float_dtype: Final = DataType(float_dtype)
        self.verbose_expr: Final = verbose_expr
        self.indent_spaces: Final = indent_spaces
        self.print_line_numbers: Final = print_line_numbers
        self.num_context_lines: Final = -1 if num_context_lines is None else num_context_lines
        self.syntax_sugar: Final = syntax_sugar
        self.show_object_address: Final = show_object_address
        self.show_all_struct_info: Final = show_all_struct_info
        self.path_to_underline: Final = [AccessPath.of(path) for path in path_to_underline or ()]
        self.path_to_annotate: Final = {
            AccessPath.of(path): note for path, note in (path_to_annotate or {}).items()
        }
        self.obj_to_underline: Final = list(obj_to_underline or ())
        self.obj_to_annotate: Final = dict(obj_to_annotate or {})


_OPTIONS: Final = (
    "name", "show_meta", "ir_prefix", "tir_prefix", "relax_prefix", "module_alias", "buffer_dtype",
    "int_dtype", "float_dtype", "verbose_expr", "indent_spaces", "print_line_numbers",
    "num_context_lines", "syntax_sugar", "show_object_address", "show_all_struct_info",
    "path_to_underline", "path_to_annotate", "obj_to_underline", "obj_to_annotate",
)  # fmt: skip


def config_of(options: Mapping[str, object]) -> PrinterConfig:
    """The configuration of options given by name; an unknown name is refused."""
    for name in options:
        if name not in _OPTIONS:
            raise TypeError(
                message(
                    f"print a script with option {name!r}",
                    found=f"no such option{did_you_mean(name, _OPTIONS)}",
                    legal=", ".join(_OPTIONS),
                )
            )
    return PrinterConfig(**options)  # type: ignore[arg-type]
