"""What `make docs` makes beside the pages in docs/: reference, notebooks, playground."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs loads this file alone
import api
import notebooks
import playground


def on_config(config: Any) -> Any:
    """The reference in the navigation, group by group."""
    groups = [{group: [f"api/{name}.md" for name in names]} for group, names in api.MODULES.items()]
    config["nav"].append({"Reference": ["api/index.md", *groups]})
    return config


def on_files(files: Files, *, config: Any) -> Files:
    made = {f"api/{name}.md": api.page(name) for name in api.listed()}
    made["api/index.md"] = api.index()
    for file in [file for file in files.documentation_pages() if _has_notebook(file)]:
        made[_notebook_of(file)] = notebooks.notebook(file.content_string)
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_post_build(*, config: Any) -> None:
    playground.build(Path(config["site_dir"]) / "playground")


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    if not _has_notebook(page.file):
        return markdown
    return f"[As a notebook]({Path(_notebook_of(page.file)).name}){{: download }}\n\n{markdown}"


def _has_notebook(file: File) -> bool:
    return not file.src_uri.startswith("api/") and notebooks.has_examples(file.content_string)


def _notebook_of(file: File) -> str:
    return file.src_uri.removesuffix(".md") + ".ipynb"
