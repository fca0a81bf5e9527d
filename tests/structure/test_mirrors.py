"""Each source file has its test file: tvm/a/b.py has tests/a/test_b.py, or one that covers it."""

from __future__ import annotations

import pytest

from tests.structure.sources import PACKAGE, ROOT, show, sources

pytestmark = pytest.mark.pure

# Sources (or folders, ending in "/") whose test has another name, and why.
COMMANDS = "commands are tested as a user runs them, in a process of their own"
MAPS = "one subject: detection, division and inverses of maps check each other"
COVERED_BY: dict[str, tuple[str, str]] = {
    "tvm/arith/_ffi_api.py": ("tests/arith/test_domain_touched.py", "two names of functions"),
    "tvm/arith/iter_map_nodes.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_rewrite.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/iter_map_subspace.py": ("tests/arith/test_iter_affine_map.py", MAPS),
    "tvm/arith/rules/": ("tests/arith/test_rules.py", "all rules are tried out by one test"),
    "tvm/__main__.py": ("tests/end_to_end/test_cli.py", "two lines that call the command line"),
    "tvm/exec/bench.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/compile.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/library.py": ("tests/end_to_end/test_cli.py", COMMANDS),
    "tvm/exec/run.py": ("tests/end_to_end/test_cli.py", COMMANDS),
}


def _mirror(source: str) -> str:
    folder, _, name = source.removeprefix("tvm/").rpartition("/")
    return "/".join(filter(None, ["tests", folder, f"test_{name}"]))


def _cover(source: str) -> str:
    """The test file that the table gives the source, by its own name or its nearest folder."""
    name = source
    while name:
        if name in COVERED_BY:
            return COVERED_BY[name][0]
        head, _, _ = name.rstrip("/").rpartition("/")
        name = f"{head}/" if head else ""
    return _mirror(source)


def test_each_source_has_a_test() -> None:
    named = [show(p) for p in sources() if p.name != "__init__.py"]
    missing = [f"{s}: no {_cover(s)}" for s in named if not (ROOT / _cover(s)).is_file()]
    assert not missing, "\n" + "\n".join(missing)


def test_the_table_names_what_exists() -> None:
    gone = [name for name in COVERED_BY if not (ROOT / name).exists()]
    assert not gone
    assert PACKAGE.is_dir()
