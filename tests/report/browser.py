"""A page in Chromium: opened, read, clicked.

It needs Chromium with its driver (Debian: chromium, chromium-driver), selenium and axe-core-python.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

BROWSER: Final = shutil.which("chromium")
DRIVER: Final = shutil.which("chromedriver")


def start(width: int, height: int) -> Any:
    """Chromium without a window, which keeps what its console says."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--window-size={width},{height}", "--hide-scrollbars"):  # fmt: skip
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options, webdriver.ChromeService(DRIVER))


class Page:
    """A page in the browser: finds elements by CSS, and clicks them."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path, view: str = "graph", **more: str) -> None:
        """Open the page at a view, and wait until it is there."""
        words = "&".join(f"{key}={value}" for key, value in {"view": view, **more}.items())
        self.driver.get("about:blank")
        self.driver.get(f"file://{path}#{words}")
        self.wait(f"[data-ready][data-view={view}]")

    def wait(self, css: str) -> Any:
        """The first element that fits, as soon as there is one."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, 20).until(
            lambda driver: driver.find_element("css selector", css)
        )

    def all(self, css: str) -> list[Any]:
        """All elements that fit."""
        found: list[Any] = self.driver.find_elements("css selector", css)
        return found

    def button(self, text: str) -> None:
        """Click the button with this text or label."""
        path = f"//button[normalize-space()='{text}' or @aria-label='{text}']"
        self.driver.find_element("xpath", path).click()

    def choose(self, label: str, number: int) -> None:
        """Choose an option of the select with this label."""
        from selenium.webdriver.support.ui import Select

        path = f"//label[starts-with(normalize-space(), '{label}')]/select"
        Select(self.driver.find_element("xpath", path)).select_by_index(number)

    def text(self, css: str) -> str:
        """The text of the first element that fits."""
        return str(self.wait(css).text)

    def becomes(self, css: str, text: str) -> None:
        """Wait until the first element that fits has this text."""
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 20).until(
            lambda _: self.text(css) == text, f"{css} is {self.text(css)!r}, not {text!r}"
        )

    def errors(self) -> list[str]:
        """What the console complained of since the last question."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def faults(self) -> list[str]:
        """The serious faults that axe finds."""
        import axe_core_python as axe

        script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
        self.driver.execute_script(script)
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations"
            ".filter(v => v.impact === 'serious' || v.impact === 'critical')"
            ".map(v => v.id + ': ' + v.nodes.map(n => n.target + ' ' + n.failureSummary))))"
        )
        return list(found)
