from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

from tvm.report import Report, trace_events, write_page
from tvm.report.page import STATIC, page

pytestmark = pytest.mark.pure
WEB = Path(__file__).parents[2] / "web"


def test_the_page_holds_the_report(report: Report, tmp_path: Path) -> None:
    write_page(report, tmp_path / "net.html")
    text = (tmp_path / "net.html").read_text(encoding="utf-8")
    assert Report.from_json(_unpacked(text, "report")) == report
    assert json.loads(_unpacked(text, "trace")) == trace_events(report)


def _unpacked(text: str, name: str) -> str:
    found = re.search(rf'id="{name}">([^<]*)<', text)
    assert found is not None
    return gzip.decompress(base64.b64decode(found[1])).decode()


def test_the_page_asks_nobody_for_anything(report: Report) -> None:
    text = page(report)
    outside = re.findall(r'(?:src|href)\s*=\s*["\']?(?:https?:)?//', text)
    assert not outside
    assert "default-src 'none'" in text


def test_the_page_may_run_its_own_script_only(report: Report) -> None:
    text = page(report)
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_names_are_no_markup() -> None:
    evil = "</script><script>alert(1)</script>"
    text = page(Report(evil, "llvm", {}, notes=[evil]))
    assert "alert(1)</script>" not in text.replace("&lt;/script&gt;", "")


def test_the_script_was_made_from_its_sources() -> None:
    hash_ = hashlib.sha256()
    sources = sorted(p for p in (WEB / "src").rglob("*") if p.is_file())
    for path in [*sources, WEB / "package-lock.json", WEB / "build.mjs"]:
        hash_.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes())
    first = (STATIC / "app.js").read_text(encoding="utf-8").split("\n", 1)[0]
    assert hash_.hexdigest()[:32] in first, "make page"


def test_the_licences_of_what_is_in_the_script_are_beside_it() -> None:
    text = (STATIC / "LICENSES.txt").read_text(encoding="utf-8")
    for name in ("preact", "@codemirror/view", "@codemirror/merge", "uplot"):
        assert re.search(rf"^{re.escape(name)} [\d.]+ \(MIT\)$", text, re.MULTILINE)
