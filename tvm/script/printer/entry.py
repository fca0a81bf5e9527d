"""Printing: a node and options in, TVMScript out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from tvm.ir.access_path import AccessPath
from tvm.ir.json import save_json
from tvm.ir.node import Node
from tvm.ir.scriptable import PRINTERS
from tvm.script.highlight import cprint
from tvm.support.recursion import nested_programs

from .config import PrinterConfig, config_of
from .doc import CommentDoc, Doc, ExprDoc, ExprStmtDoc, StmtBlockDoc
from .doc_printer import to_python_script
from .docsifier import Docsifier, dialect_of, load_dialect
from .followed import FollowedPath

_OMITTED: Final = "Metadata omitted. Use show_meta=True in script() method to show it."


def script(node: object, options: Mapping[str, object] | None = None) -> str:
    """The node as TVMScript; the options are those of `PrinterConfig`."""
    return script_of(node, config_of(options or {}))


def relax_script(node: object, options: Mapping[str, object] | None = None) -> str:
    """The node as it prints within Relax."""
    return script_of(node, config_of(options or {}), "relax")


def script_of(node: object, config: PrinterConfig, within: str | None = None) -> str:
    """The node as TVMScript under a configuration, as it stands in its dialect or in another."""
    with nested_programs():
        return _script_of(node, config, within)


def _script_of(node: object, config: PrinterConfig, within: str | None) -> str:
    d = Docsifier(config)
    if within is not None:
        load_dialect(within)  # nodes of others have rules of their own there
    _set_marks(d, node)
    dialect = within or dialect_of(type(node))
    # in TensorIR the frame around the whole may hold declarations of free variables
    with d.frame(node if dialect == "tir" else None, dialect) as frame:
        doc = d.doc(node)
        stmts = frame.stmts
        if isinstance(doc, ExprDoc):
            if not config.verbose_expr:  # without the definitions of free variables
                stmts.clear()
            stmts.append(ExprStmtDoc(doc))
        elif isinstance(doc, StmtBlockDoc):
            stmts.extend(doc.stmts)
        else:
            stmts.append(doc)
        head = _metadata(d, stmts)
    for followed in d.followed:
        followed.mark()
    text = to_python_script(
        StmtBlockDoc(stmts),
        config.indent_spaces,
        config.print_line_numbers,
        None if config.num_context_lines < 0 else config.num_context_lines,
        [*d.marks.values(), *(followed.path for followed in d.followed)],
    )
    return head + text


def _metadata(d: Docsifier, stmts: list[Doc]) -> str:
    if not d.metadata:
        return ""
    if not d.cfg.show_meta:
        stmts.append(CommentDoc(_OMITTED))
        return ""
    saved = json.loads(save_json({key: list(items) for key, items in d.metadata.items()}))
    text = json.dumps(saved, separators=(",", ":"))
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"""')
    return f'metadata = tvm.ir.load_json("""{escaped}""")\n'


def header(d: Docsifier, doc: Doc) -> Doc:
    """The document below the imports of the dialects that it uses, if nothing encloses it."""
    return doc if len(d.frames) > 1 or not d.ir_usage else with_imports(d, doc)


def with_imports(d: Docsifier, doc: Doc) -> StmtBlockDoc:
    """The document below the imports of the dialects that were used up to here."""
    names = [name for name in ("ir", "tir", "relax") if name in d.ir_usage]
    imports: list[Doc] = [
        CommentDoc(f"from tvm.script import {name} as {getattr(d.cfg, f'{name}_prefix')}")
        for name in names
    ]
    return StmtBlockDoc([*imports, CommentDoc(""), doc])


def _set_marks(d: Docsifier, root: object) -> None:
    """Find the objects that are to be underlined or annotated, and give each a path."""
    cfg = d.cfg
    d.followed.extend(FollowedPath(root, path) for path in cfg.path_to_underline)
    for number, obj in enumerate(cfg.obj_to_underline):
        d.marks[id(obj)] = AccessPath.root().attr(f"<object {number}>")
    for path, note in cfg.path_to_annotate.items():
        target = _at(root, path)
        if target is not None:
            d.notes[id(target)] = note
    for obj, note in cfg.obj_to_annotate.items():
        d.notes[id(obj)] = note


def _at(root: Any, path: AccessPath) -> Node | None:
    """The node that lies at the path below the root."""
    found = root
    for kind, key in path.steps:
        if kind == "attr" and hasattr(found, key):
            found = getattr(found, key)
        elif kind in ("array_item", "map_item"):
            try:
                found = found[key]
            except (KeyError, IndexError, TypeError):
                return None
        else:
            return None
    return found if isinstance(found, Node) and found is not root else None


def show(node: object, options: Mapping[str, object]) -> str:
    """Print a node's text in colours, where the terminal has them; the text without them."""
    given = dict(options)
    style, black_format = given.pop("style", None), given.pop("black_format", False)
    text = script(node, given)
    cprint(text, style=None if style is None else str(style), black_format=bool(black_format))
    return text


PRINTERS.register("script", script)
PRINTERS.register("relax_script", relax_script)
PRINTERS.register("show", show)
