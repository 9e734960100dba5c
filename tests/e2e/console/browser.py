"""Headless Chromium of Debian, driven by selenium; what the page logs is kept, so that a test can ask for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait
from tests.e2e.console.installing import CHROMEDRIVER, CHROMIUM

DESKTOP, PHONE = (1360, 900), (390, 844)


NAMED = """
    const name = (each) => each.getAttribute("aria-label") ?? each.labels?.[0]?.textContent ?? each.textContent;
    const usable = (each) => each.checkVisibility() && !each.disabled && each.closest("[inert]") === null;
    const top = document.querySelector("dialog[open]") ?? document;
    const all = [...top.querySelectorAll("a, button, input, select, textarea, summary")].filter(usable);
    return all.find((each) => name(each).trim() === arguments[0])
      ?? all.find((each) => name(each).trim().startsWith(arguments[0])) ?? null;
"""


class Browser:
    """One window. `open("#/logs")`, `see("Jobs")`, `click("New job")`: as a person would say it."""

    def __init__(self, driver: Chrome, address: str, deadline_s: float = 20) -> None:
        self.driver, self.address, self.deadline_s = driver, address, deadline_s

    def open(self, place: str = "") -> None:
        """Load the console at this place afresh."""
        self.driver.get("about:blank")
        self.driver.get(f"{self.address}/{place}")

    def until(self, holds: Callable[[], Any], what: str, deadline_s: float | None = None) -> Any:
        """What `holds` gives once it is true; fails with what the page shows then."""
        wait = WebDriverWait(self.driver, deadline_s or self.deadline_s, 0.2, ignored_exceptions=[Exception])
        try:
            return wait.until(lambda _: holds())
        except Exception as error:
            raise AssertionError(f"not {what}; the page shows: {self.text()[:3000]}") from error

    def text(self) -> str:
        """All that can be seen."""
        return str(self.run("return document.body.innerText"))

    def see(self, *words: str, deadline_s: float | None = None) -> None:
        """Wait until all of these words can be seen."""
        self.until(lambda: all(each in self.text() for each in words), f"seen: {words}", deadline_s)

    def find(self, css: str) -> WebElement:
        """Wait for an element that is shown."""
        found: WebElement = self.until(
            lambda: next(each for each in self.driver.find_elements(By.CSS_SELECTOR, css) if each.is_displayed()), css
        )
        return found

    def named(self, name: str) -> WebElement:
        """Wait for a link, button or field that can be used and has this name (or begins with it)."""
        found: WebElement = self.until(lambda: self.run(NAMED, name), f"there: {name}")
        return found

    def click(self, name: str) -> None:
        """Press what has this name."""
        self.named(name).click()

    def write(self, name: str, text: str) -> None:
        """Write into the field with this label."""
        control = self.named(name)
        control.clear()
        control.send_keys(text)

    def run(self, script: str, *values: Any) -> Any:
        """The value of some JavaScript in the page."""
        return self.driver.execute_script(script, *values)

    def complaints(self) -> list[str]:
        """What the browser has logged since the last time: errors and warnings, refusals of the policy among them."""
        return [f"{each['level']}: {each['message']}" for each in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]  # selenium

    def theme(self, name: str) -> None:
        """Light or dark, as the system would say it."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """The size of the window's inside."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


@contextmanager
def browsing(address: str, downloads: Path | None = None) -> Iterator[Browser]:
    """A window at the console of this address."""
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                   "--no-proxy-server", "--force-color-profile=srgb", "--window-size=1360,900"):  # fmt: skip
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    if downloads is not None:
        options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    driver = Chrome(options, Service(CHROMEDRIVER))
    try:
        browser = Browser(driver, address)
        browser.size(*DESKTOP)
        yield browser
    finally:
        driver.quit()
