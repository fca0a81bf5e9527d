"""The playground: what its session makes of texts, and (long) the page itself in a browser.

The page needs npm (Debian: nodejs, npm), and Chromium with its driver (chromium, chromium-driver).
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, loaded
from tests.report.browser import BROWSER, DRIVER, Page, start

FOLDER = ROOT / "web" / "playground"
DOUBLED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] * T.float32(2)
"""
OF_ANY_SIZE = """
n = te.var("n")
A = te.placeholder((n,), name="A")
B = te.compute((n,), lambda i: te.exp(A[i]), name="B")
f = te.create_prim_func([A, B])
"""


@pytest.fixture(scope="module")
def session() -> Any:
    return loaded(FOLDER / "session.py")


def examples() -> list[Path]:
    return sorted((FOLDER / "examples").glob("*.txt"))


@pytest.mark.pure
@pytest.mark.parametrize("path", examples(), ids=lambda path: path.stem)
def test_examples_run_and_keep_their_results(path: Path, session: Any) -> None:
    program, schedule = path.read_text(encoding="utf-8").split("# --- schedule\n")
    made = session.run(program, schedule, "n=5, m=9")
    if "refused" in program.splitlines()[0]:
        assert made["error"]["part"] == "schedule"
        assert made["error"]["line"] == 2
        assert "not data parallel" in made["error"]["text"]
        return
    assert made["error"] is None
    assert [stage["name"] for stage in made["stages"]] == [
        "Program", "Scheduled", "Steps", "Lowered", "C",
    ]  # fmt: skip
    assert made["values"]
    for value in made["values"]:
        assert value["apart"] <= 1e-5 * value["scale"]


@pytest.mark.pure
def test_a_run_gives_texts_and_values(session: Any) -> None:
    made = session.run(DOUBLED, "i, = sch.get_loops('B')\nsch.vectorize(i)\nprint('done')")
    texts = {stage["name"]: stage["text"] for stage in made["stages"]}
    assert "for i in T.vectorized(8):" in texts["Scheduled"]
    assert "sch.vectorize(loop=l1)" in texts["Steps"]
    assert "B[0:8] = A[0:8] * T.Broadcast(T.float32(2.0), 8)" in texts["Lowered"]
    assert "__tvm_ffi_main(" in texts["C"]
    assert made["printed"] == "done\n"
    (value,) = made["values"]
    assert (value["name"], value["shape"], value["same"]) == ("B", [8], True)


@pytest.mark.pure
def test_a_schedule_that_changes_values_is_told(session: Any) -> None:
    other = DOUBLED.replace("(2)", "(3)") + "mod = tvm.IRModule({'main': main})"
    made = session.run(DOUBLED, other)
    (value,) = made["values"]
    assert not value["same"]
    assert value["apart"] == pytest.approx(value["scale"] / 2, rel=1e-6)


@pytest.mark.pure
def test_sizes_bind_symbols(session: Any) -> None:
    assert session.run(OF_ANY_SIZE)["values"][0]["shape"] == [16]
    assert session.run(OF_ANY_SIZE, sizes="n=3")["values"][0]["shape"] == [3]


@pytest.mark.pure
@pytest.mark.parametrize(
    ("program", "schedule", "sizes", "part", "line", "words"),
    [
        (DOUBLED.replace("range(8)", "T.grd(8)"), "", "", "program", 2, "T has no word 'grd'"),
        ("a = (", "", "", "program", 1, "SyntaxError"),
        ("a = 3", "", "", "program", None, "neither a T.prim_func nor"),
        (DOUBLED, "x = 1\nsch.get_loops('C')", "", "schedule", 2, "with the name: C"),
        (DOUBLED, "sch.reverse()", "", "schedule", 1, "reverse"),
        (DOUBLED, "", "n:3", "sizes", None, "legal: numbers by name"),
        (OF_ANY_SIZE, "", "n=9999999", "sizes", None, "1,048,576 at most"),
        (DOUBLED.replace("float32", "complex9"), "", "", "program", 2, "complex9"),
    ],
)
def test_what_is_refused_stands_with_its_line(
    program: str, schedule: str, sizes: str, part: str, line: int | None, words: str, session: Any
) -> None:
    error = session.run(program, schedule, sizes)["error"]
    assert (error["part"], error["line"]) == (part, line)
    assert words in error["text"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The page, built from its sources and served."""
    folder = tmp_path_factory.mktemp("site")
    assert loaded(ROOT / "docs" / "site" / "playground.py").build(folder / "playground")
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/playground/"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: what the browser asks for is no news."""


def _finished(page: Page) -> str:
    """What the page says once a run has ended."""
    from selenium.webdriver.support.ui import WebDriverWait

    ended = "return ['done', 'refused', 'failed'].includes(document.documentElement.dataset.state)"
    WebDriverWait(page.driver, 180).until(lambda driver: driver.execute_script(ended))
    return page.text("#status")


@pytest.mark.long
@pytest.mark.device
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm: Debian's nodejs and npm")
@pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="needs Chromium and its driver: Debian's chromium and chromium-driver",
)
def test_the_page_in_a_browser(address: str) -> None:
    pytest.importorskip("selenium.webdriver", reason="needs the package selenium")
    pytest.importorskip("axe_core_python", reason="needs the package axe-core-python")
    driver = start(1280, 860)
    page = Page(driver)
    try:
        driver.get(address)
        assert "the schedule changed no value" in _finished(page)
        assert "T.vectorized(8)" in page.text("#shown")
        driver.save_screenshot(str(ROOT / "docs" / "pictures" / "playground.png"))
        assert not page.faults()
        shown = {"Values": "C: float32 32 x 32", "Steps": "sch.reorder", "Lowered": "C_1",
                 "C": "Made by TVM", "Program": "main"}  # fmt: skip
        for tab, text in shown.items():
            page.button(tab)
            assert text in page.text("#shown"), tab
        assert not page.faults()
        for number in range(1, len(examples())):
            page.choose("Example", number)
            said = _finished(page)
            assert ("refused" in said) == (number == len(examples()) - 1), said
        assert "not data parallel" in page.text("#shown")
        assert page.wait("#schedule .cm-line.wrong").text == "sch.parallel(i)"
        assert not page.faults()

        field = page.wait("#schedule .cm-content")  # an endless loop is stopped, and all goes on
        driver.execute_script("arguments[0].focus()", field)
        from selenium.webdriver import ActionChains, Keys

        keys = ActionChains(driver)
        keys.key_down(Keys.CONTROL).send_keys("a").key_up(Keys.CONTROL)
        keys.send_keys("while True: pass").perform()
        page.button("Run")
        page.becomes("#status", "running ...")
        page.button("Stop")
        page.choose("Example", 0)
        assert "the schedule changed no value" in _finished(page)

        driver.set_window_size(400, 860)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 400
        assert not page.errors()
    finally:
        driver.quit()
