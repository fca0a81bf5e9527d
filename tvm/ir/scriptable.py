"""Anything that prints as TVMScript, with the options of its printing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from tvm.ffi.object import Object
from tvm.support.compiled import mypyc_attr
from tvm.support.registry import Registry

if TYPE_CHECKING:
    from .access_path import AccessPath

# The printer lives a floor above; it is found by name when something is printed.
Printer: TypeAlias = "Callable[[object, dict[str, object]], str]"
PRINTERS: Final[Registry[Printer]] = Registry(
    "printer", "tvm.script.printer", "tvm.script.notebook", "tvm.relay.text_printer"
)


@mypyc_attr(allow_interpreted_subclasses=True)
class Scriptable(Object):
    """An object with a text in TVMScript."""

    __slots__ = ()

    def script(
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
        num_context_lines: int = -1,
        syntax_sugar: bool = True,
        show_object_address: bool = False,
        show_all_struct_info: bool = True,
        path_to_underline: Sequence[AccessPath] | None = None,
        path_to_annotate: Mapping[AccessPath, str] | None = None,
        obj_to_underline: Sequence[object] | None = None,
        obj_to_annotate: Mapping[Any, str] | None = None,
    ) -> str:
        """This object as TVMScript.

        `name` is what it is called; the prefixes name the dialects and `module_alias` the module
        inside its functions. Literals of `int_dtype` and `float_dtype` and buffers of
        `buffer_dtype` go without their dtype. `show_meta` adds what has no text of its own.
        """
        options: dict[str, object] = {
            "name": name, "show_meta": show_meta, "ir_prefix": ir_prefix, "tir_prefix": tir_prefix,
            "relax_prefix": relax_prefix, "module_alias": module_alias,
            "buffer_dtype": buffer_dtype, "int_dtype": int_dtype, "float_dtype": float_dtype,
            "verbose_expr": verbose_expr, "indent_spaces": indent_spaces,
            "print_line_numbers": print_line_numbers, "num_context_lines": num_context_lines,
            "syntax_sugar": syntax_sugar, "show_object_address": show_object_address,
            "show_all_struct_info": show_all_struct_info, "path_to_underline": path_to_underline,
            "path_to_annotate": path_to_annotate, "obj_to_underline": obj_to_underline,
            "obj_to_annotate": obj_to_annotate,
        }  # fmt: skip
        return PRINTERS.get("script")(self, options)

    def _relax_script(self, **options: object) -> str:
        """The text as it stands in Relax, for nodes that other dialects print otherwise."""
        return PRINTERS.get("relax_script")(self, options)

    def show(
        self,
        style: str | None = None,
        black_format: bool | None = None,
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
        num_context_lines: int = -1,
        syntax_sugar: bool = True,
        show_object_address: bool = False,
        show_all_struct_info: bool = True,
        path_to_underline: Sequence[AccessPath] | None = None,
        path_to_annotate: Mapping[AccessPath, str] | None = None,
        obj_to_underline: Sequence[object] | None = None,
        obj_to_annotate: Mapping[Any, str] | None = None,
    ) -> None:
        """Print this object as TVMScript, in colours where the terminal has them."""
        options: dict[str, object] = {
            "name": name, "show_meta": show_meta, "ir_prefix": ir_prefix, "tir_prefix": tir_prefix,
            "relax_prefix": relax_prefix, "module_alias": module_alias,
            "buffer_dtype": buffer_dtype, "int_dtype": int_dtype, "float_dtype": float_dtype,
            "verbose_expr": verbose_expr, "indent_spaces": indent_spaces,
            "print_line_numbers": print_line_numbers, "num_context_lines": num_context_lines,
            "syntax_sugar": syntax_sugar, "show_object_address": show_object_address,
            "show_all_struct_info": show_all_struct_info, "path_to_underline": path_to_underline,
            "path_to_annotate": path_to_annotate, "obj_to_underline": obj_to_underline,
            "obj_to_annotate": obj_to_annotate,
        }  # fmt: skip
        shown = {"style": style, "black_format": bool(black_format)}
        PRINTERS.get("show")(self, {**options, **shown})
