"""A report as one page: script, style and data in a single file that needs no network.

The page is `static/app.js` and `static/app.css`, which `make page` bundles from `web/`. The report
and its trace lie in it as gzip in base64; nothing of them is executed, and the page may run no
script but its own.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from pathlib import Path
from string import Template
from typing import Final

from tvm.runtime.files import draft_of

from .events import trace_events
from .words import Report

STATIC: Final = Path(__file__).parent / "static"

_PAGE: Final = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '$hash'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'">
<title>$title</title>
<style>$style</style>
</head>
<body>
<div id="app"></div>
<noscript>This page shows its report by its own script, which needs JavaScript.</noscript>
<script type="text/plain" id="trace">$trace</script>
<script type="text/plain" id="report">$report</script>
<script>$script</script>
</body>
</html>
""")  # noqa: E501


def page(report: Report) -> str:
    """The page's text."""
    script = _static("app.js").replace("</script", "<\\/script")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _PAGE.substitute(
        hash=f"sha256-{digest}",
        title=html.escape(report.title),
        style=_static("app.css").replace("</style", "<\\/style"),
        trace=_packed(json.dumps(trace_events(report), separators=(",", ":"))),
        report=_packed(report.to_json()),
        script=script,
    )


def write_page(report: Report, path: str | Path) -> None:
    """Write the page to a file; it appears whole or not at all."""
    with draft_of(path) as draft:
        draft.write_text(page(report), encoding="utf-8")


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _static(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
