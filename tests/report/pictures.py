"""The pictures of docs/seeing.md, taken of a page: python -m tests.report.pictures PAGE.html

It needs what tests/report/test_browser.py needs. PAGE is made by `tvm view MODEL --out PAGE.html`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from tests.report.browser import Page, start

FOLDER: Final = Path(__file__).parents[2] / "docs" / "pictures"
SIZE: Final = (1280, 960)


def take(path: Path) -> None:
    """Open each view, bring it to where it shows something, and take its picture."""
    driver = start(*SIZE)
    page = Page(driver)
    FOLDER.mkdir(exist_ok=True)

    def picture(name: str) -> None:
        time.sleep(0.5)
        driver.save_screenshot(str(FOLDER / f"{name}.png"))

    try:
        page.open(path, "graph", node="40")
        picture("graph")
        page.open(path, "kernel")
        page.button("side by side")
        names = [option.text.split(". ", 1)[1] for option in page.all(".tools label select option")]
        at = names.index("ApplyDefaultSchedule")
        for label, number in (("from", at - 1), ("to", at)):
            page.choose(label, number)
        picture("kernel")
        page.button("schedule")
        picture("schedule")
        page.open(path, "code")
        scroller = page.wait("[data-pane=TIR] .cm-scroller")
        driver.execute_script("arguments[0].scrollTop = 700", scroller)
        time.sleep(0.5)
        lines = page.all("[data-pane=TIR] .cm-line")
        next(line for line in lines if " * " in line.text and " + " in line.text).click()
        picture("code")
        for view in ("time", "memory", "compile"):
            page.open(path, view)
            picture(view)
        page.open(path, "time")
        run = page.wait(".flame")
        driver.execute_script("arguments[0].scrollIntoView({block: 'end'})", run)
        run.find_element("css selector", "canvas").send_keys("++++")
        picture("timeline")
    finally:
        driver.quit()


if __name__ == "__main__":
    take(Path(sys.argv[1]).resolve())
