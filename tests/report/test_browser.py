"""The page in a real browser: every view is opened, clicked through, and compared with the data.

It needs Chromium with its driver (Debian: chromium, chromium-driver), selenium and axe-core-python.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.covering import long
from tests.report.browser import BROWSER, DRIVER, Page, start
from tvm.report import Report, write_page
from tvm.report.words import Call, Curve, Kernel, Lap, Machine, Rate, Roofs, Source, Stage

pytest.importorskip("selenium.webdriver", reason="needs the package selenium")
pytest.importorskip("axe_core_python", reason="needs the package axe-core-python")
pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(
        BROWSER is None or DRIVER is None,
        reason="needs Chromium and its driver: Debian's chromium and chromium-driver",
    ),
]
VIEWS = ("graph", "kernel", "code", "time", "memory", "compile", "tuning")


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    made = start(1280, 860)
    yield made
    made.quit()


@pytest.fixture
def page(driver: Any) -> Iterator[Page]:
    driver.set_window_size(1280, 860)
    made = Page(driver)
    made.errors()
    yield made
    assert not made.errors()


@pytest.fixture(scope="session")
def told(report: Report) -> Report:
    """The report with times and roofs that are the same on every machine."""
    made = dataclasses.replace(report)
    made.calls = [dataclasses.replace(call) for call in report.calls]
    for number, call in enumerate(made.calls):
        call.measured_us, call.predicted_us = 40.0 / (number + 1), 10.0
    first = made.kernels[made.calls[0].kernel]
    made.kernels = {**made.kernels, first.name: dataclasses.replace(first, alternative="4x16 tile")}
    made.calls[0].alternative_us = 55.0
    made.latency_us = 61.5
    made.timeline = [
        Lap(0, 0, 0.0, 40.0), Lap(1, 0, 40.0, 20.0), Lap(0, 0, 1.0, 30.0, 0),
        Lap(0, 1, 2.0, 38.0, 1),
    ]  # fmt: skip
    roofs = Roofs(
        "example", 2, {"float32": Rate(200.0, 100.0), "int8": Rate(900.0, 450.0)},
        {"L1": Rate(800.0, 400.0), "memory": Rate(30.0, 20.0)},
    )  # fmt: skip
    made.machine = Machine("example", "x86_64", 256, 16, 2, 1 << 15, 1 << 18, 1 << 21, 2, roofs)
    made.lines = [*report.lines, "the loop by rule", "the fastest loop"]
    names, first_line = ("by rule", "fastest"), len(report.lines)
    programs = [Stage(-1, name, [first_line + i, 1]) for i, name in enumerate(names)]
    made.curves = [Curve("dense", [4e-5, None, 3e-5, 2e-5], programs), Curve("total", [1e-5])]
    return made


@pytest.fixture(scope="session")
def file(told: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "net.html"
    write_page(told, path)
    return path


@pytest.mark.parametrize(("theme", "width"), [long("light", 1280), ("dark", 412)])
def test_all_views_open_without_faults(page: Page, file: Path, theme: str, width: int) -> None:
    page.driver.set_window_size(width, 860)
    for view in VIEWS:
        page.open(file, view)
        page.driver.execute_script(
            "const s = document.querySelector('.theme select'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change', {bubbles: true}))", theme,
        )  # fmt: skip
        page.wait(f"[data-theme={theme}]")
        assert page.faults() == [], view
        wide = page.driver.execute_script(
            "return document.documentElement.scrollWidth - window.innerWidth"
        )
        assert wide <= 0, view


def test_graph_finds_nodes_and_leads_to_kernels(page: Page, file: Path, told: Report) -> None:
    page.open(file)
    assert len(page.all(".found li")) == len(told.sources)
    page.wait("[data-search]").send_keys("dense")
    assert [e.text.split("\n")[0] for e in page.all(".found li")] == ["net.onnx:dense"]
    page.wait(".found a").click()
    assert page.text(".details h2") == "net.onnx:dense"
    assert [e.text.split()[0] for e in page.all(".details .chip")] == [
        "net.onnx:bias", "net.onnx:relu"
    ]  # fmt: skip
    page.wait(".details li a").click()
    page.wait("[data-view=kernel]")
    assert page.text(".head h2") == told.calls[0].kernel
    page.open(file)
    page.button("kernels")
    assert [e.text.split("\n")[0] for e in page.all(".found li")] == [
        call.kernel for call in told.calls
    ]


def test_graph_follows_the_keyboard(page: Page, file: Path, told: Report) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open(file)
    canvas = page.wait(".canvas canvas")
    canvas.send_keys(Keys.ARROW_DOWN)
    page.becomes(".details h2", told.sources[0].name)
    canvas.send_keys(Keys.ARROW_DOWN)
    page.becomes(".details h2", told.sources[1].name)
    canvas.send_keys(Keys.ENTER)
    page.wait("[data-view=kernel]")


def _lines_become(page: Page, wanted: list[str]) -> None:
    """The editor shows these lines first, at the latest in a moment: it makes them anew."""
    script = """return [...document.querySelectorAll("[data-editor] .cm-line")].slice(0, 3)
        .map((line) => line.innerText)"""
    end = time.monotonic() + 60
    while (shown := page.driver.execute_script(script)) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert shown == wanted


def test_kernel_shows_its_texts_steps_and_buffers(page: Page, file: Path, told: Report) -> None:
    kernel = told.kernels[told.calls[0].kernel]
    page.open(file, "kernel", kernel=kernel.name)
    assert page.text(".reason") == kernel.reason
    assert page.text(".head .quiet") == "With the next rule that fits: 55.0 µs, by 4x16 tile"
    assert [e.text.split(". ", 1)[1] for e in page.all(".tools option")] == [
        stage.name for stage in kernel.stages
    ]
    last = told.text_lines(kernel.stages[-1].text)
    _lines_become(page, last[:3])
    page.button("the stage before")
    before = told.text_lines(kernel.stages[-2].text)
    _lines_become(page, before[:3])
    page.button("side by side")
    page.wait(".cm-changedLine")
    assert len(page.all(".cm-mergeView .cm-editor")) == 2
    page.button("schedule")
    shown = [s for s in kernel.steps if not s.kind.startswith(("Get", "Sample"))]
    rows = page.all("tbody tr")
    assert [row.find_element("css selector", "code").text for row in rows] == [
        step.text for step in shown
    ]
    assert shown[0].reason in rows[0].text
    page.button("buffers")
    assert [e.text for e in page.all("tbody td:first-child")] == [o.name for o in kernel.operands]


def test_a_line_of_assembly_shows_its_line_of_tir(page: Page, file: Path, told: Report) -> None:
    kernel = told.kernels[told.calls[0].kernel]
    code = kernel.code
    assert code is not None
    page.open(file, "code", kernel=kernel.name)
    lines = page.all("[data-pane=assembly] .cm-line")
    number = next(i for i, line in enumerate(code.asm_lines[: len(lines)]) if line)
    lines[number].click()
    marked = page.all("[data-pane=TIR] .cm-line.linked")
    assert [e.text for e in marked] == [told.text_lines(code.tir)[code.asm_lines[number] - 1]]
    assert f"{sum(code.mix.values())} instructions" in page.text(".mix")
    for kind, count in code.mix.items():
        assert f"{kind} {count}" in page.text(".mix")


def test_time_has_a_circle_and_a_row_a_kernel(page: Page, file: Path, told: Report) -> None:
    page.open(file, "time")
    assert len(page.all(".roofline circle")) == len(told.kernels)
    assert "float32 200 GFLOP/s (100 with one)" in page.text("section .quiet")
    rows = [e.text for e in page.all(".times tbody tr")]
    assert told.calls[0].kernel in rows[0]
    assert "40.0 µs" in rows[0]
    assert "66.7 %" in rows[0]
    assert "25 %" in rows[0]
    page.button("source nodes")
    assert [e.text for e in page.all(".times tbody td:first-child")] == [
        "net.onnx:total", "net.onnx:dense", "net.onnx:bias", "net.onnx:relu"
    ]  # fmt: skip
    page.wait(".roofline a").click()
    page.wait("[data-view=kernel]")


def test_a_run_has_a_lane_a_thread(page: Page, file: Path, told: Report) -> None:
    from selenium.webdriver.common.keys import Keys

    page.open(file, "time")
    assert [e.text for e in page.all(".lanes li")] == ["calls", "main", "worker 1"]
    canvas = page.wait(".flame canvas")
    for lap in told.timeline:
        canvas.send_keys(Keys.ARROW_RIGHT)
        name = told.calls[lap.call].kernel
        page.wait(".flame .told b")
        text = page.text(".flame .told")
        assert text.startswith(name)
        if lap.task >= 0:
            assert text.endswith(f"task {lap.task} on {'worker 1' if lap.thread else 'main'}")
    canvas.send_keys(Keys.ENTER)
    page.wait("[data-view=kernel]")
    assert page.text(".head h2") == told.calls[0].kernel


def test_memory_tells_what_is_alive(page: Page, file: Path, told: Report) -> None:
    memory = told.memory
    assert memory is not None
    page.open(file, "memory")
    assert "arena 2.0 KiB" in page.text(".facts:not(.top *)")
    (row,) = page.all("tbody tr")
    assert row.text.split()[0] == memory.held[0].value
    assert told.calls[0].kernel in row.text


def test_compile_has_all_passes(page: Page, file: Path, told: Report) -> None:
    page.open(file, "compile")
    assert len(page.all("tbody tr")) == len(told.passes)
    page.wait("section:last-child input").click()
    changed = [run for run in told.passes if run.changed]
    assert [e.text.split("\n")[0] for e in page.all("tbody td:first-child")] == [
        run.name for run in changed
    ]
    assert len(page.all(".graph-text option")) == len(told.graph)


def test_tuning_has_the_curves(page: Page, file: Path) -> None:
    page.open(file, "tuning")
    rows = [" ".join(e.text.split()) for e in page.all(".table-box tbody tr")]
    assert rows[0] == "dense 4 1 40.0 µs 20.0 µs 2.00"
    page.wait(".uplot canvas")
    page.button("side by side")
    page.wait(".cm-mergeView")
    sides = page.all(".cm-mergeView .cm-content")
    assert [side.text for side in sides] == ["the loop by rule", "the fastest loop"]
    page.button("total")
    assert not page.all("[data-editor]"), "no program of it was given"


def test_keys_change_views_and_kernels(page: Page, file: Path, told: Report) -> None:
    page.open(file)
    body = page.wait("body")
    for number, view in enumerate(VIEWS, 1):
        body.send_keys(str(number))
        page.wait(f"[data-view={view}]")
    body.send_keys("2")
    body.send_keys("j")
    page.becomes(".head h2", told.calls[0].kernel)
    body.send_keys("j")
    page.becomes(".head h2", told.calls[1].kernel)
    body.send_keys("/")
    assert page.driver.switch_to.active_element.get_attribute("type") == "search"


def test_twenty_thousand_nodes_stay_usable(page: Page, tmp_path: Path) -> None:
    count = 20_000
    sources = [
        Source(f"node{i}", "add", f"v{i}", "float32[1]", "", [i - 1, i - 4] if i > 3 else [], [i])
        for i in range(count)
    ]
    calls = [Call("k", f"v{i}", "", [i], [i - 1] if i else [], 1.0) for i in range(count)]
    kernel = Kernel("k", [], None, None, "", "", [], [], [])
    path = tmp_path / "large.html"
    large = Report("large", "llvm", {}, sources=sources, calls=calls, kernels={"k": kernel})
    write_page(large, path)
    page.open(path)
    assert "20,000 of 20,000 nodes" in page.text("aside .quiet")
    page.wait("[data-search]").send_keys("node19999")
    page.wait(".found li:only-child a").click()
    assert page.text(".details h2") == "node19999"
    drawn = page.driver.execute_script(
        "const c = document.querySelector('.canvas canvas');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v > 0)"
    )
    assert drawn
