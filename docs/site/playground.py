"""The page that runs the compiler in the browser: bundled from web/playground with npm."""

from __future__ import annotations

import logging
import shutil
import subprocess
from pathlib import Path
from typing import Final

import typing_extensions

SOURCE: Final = Path(__file__).resolve().parents[2] / "web" / "playground"
_LOG: Final = logging.getLogger("mkdocs.playground")


def build(folder: Path) -> bool:
    """Write the page into the folder; without npm a page that says so, and False."""
    npm = shutil.which("npm")
    if npm is None:
        folder.mkdir(parents=True, exist_ok=True)
        missing = "This site was built without npm (Node 20), so the playground is not in it."
        (folder / "index.html").write_text(f"<!doctype html><p>{missing}</p>\n", encoding="utf-8")
        _LOG.warning("npm was not found: the site is without the playground (Node 20 brings npm)")
        return False
    for command in (
        [npm, "ci", "--silent", "--no-audit", "--no-fund"],
        [npm, "run", "--silent", "check"],
        ["node", "build.mjs", str(folder.resolve()), str(typing_extensions.__file__)],
    ):
        subprocess.run(command, cwd=SOURCE, check=True)
    return True
