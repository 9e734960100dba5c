"""The console in a browser, over the real gateway and a world in memory: what each view shows and does."""

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from tests.e2e.console.browser import DESKTOP, PHONE, Browser, browsing
from tests.e2e.console.installing import axe_source, need_chromium
from tests.e2e.console.serving import served
from tests.e2e.console.staged import HOSTILE_TITLE, HOSTILE_URL, JOB, SKIPPED, Stage, a_ledger
from tests.e2e.console.staged_runs import DAILY

from odradek.clock import now_ms

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

VIEWS = {
    "jobs": ("#/", "books-1f2e3d4c"),
    "job": (f"#/jobs/{JOB}", "Of the newest 1,000 fetches"),
    "failures": (f"#/jobs/{JOB}/failures", "https://books.example/catalogue/99"),
    "skipped": (f"#/jobs/{JOB}/skipped", "https://books.example/catalogue/99"),
    "hosts of a job": (f"#/jobs/{JOB}/hosts", "books.example"),
    "items": (f"#/jobs/{JOB}/items", "vol. 49"),
    "runs": (f"#/jobs/{DAILY}/runs", "quick.example"),
    "runs of a job that has one": (f"#/jobs/{JOB}/runs", "This job runs once"),
    "ledger": (f"#/jobs/{JOB}/ledger", "Links found"),
    "specification": (f"#/jobs/{JOB}/specification", "max_pages: 60000"),
    "logs": ("#/logs", "cdn.books.example"),
    "url": (f"#/url?job={JOB}&url=https%3A%2F%2Fbooks.example%2Fcatalogue%2F7", "What happened to it"),
    "hosts": ("#/hosts", "news.example"),
    "dead letters": ("#/dead-letters", "RecursionError"),
    "new job": ("#/new", "As a file or command"),
    "API documents": ("#/documents", "/v1/dead-letters/replay"),
    "nowhere": ("#/nowhere", "This address leads nowhere"),
    "no such job": ("#/jobs/none-such", "No such job"),
}


@pytest.fixture(scope="module")
def stage() -> Stage:
    return Stage().furnish()


@pytest.fixture(scope="module")
def browser(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    need_chromium()
    with served(stage.world) as address, browsing(address, tmp_path_factory.mktemp("downloads")) as window:
        yield window


@pytest.fixture(autouse=True)
def desktop_by_day(browser: Browser) -> None:
    browser.size(*DESKTOP)
    browser.theme("light")
    browser.complaints()


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_its_matter_quietly_to_everybody_by_day_and_night_and_on_a_phone(
    browser: Browser, view: str
) -> None:
    place, words = VIEWS[view]
    browser.open(place)
    browser.see(words)
    complaints = [each for each in browser.complaints() if "status of 404" not in each]
    by_day = axe(browser, AA)
    browser.theme("dark")
    by_night = axe(browser, COLOURS)
    browser.size(*PHONE, phone=True)
    fits = browser.until(lambda: browser.run("return document.documentElement.scrollWidth <= innerWidth"), "narrow")

    assert (complaints, by_day, by_night, fits) == ([], [], [], True)


AA = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast"]


def axe(browser: Browser, rules: list[str]) -> list[tuple[str, str, list[str]]]:
    browser.driver.set_script_timeout(90)
    browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": axe_source()})
    report = browser.driver.execute_async_script(
        """
        const done = arguments[arguments.length - 1];
        axe.run({preload: false, runOnly: arguments[0]})
          .then((report) => done(report.violations), (error) => done([{id: "axe", help: String(error), nodes: []}]));
        """,
        rules,
    )
    return [(each["id"], each["help"], [node["html"][:160] for node in each["nodes"][:3]]) for each in report]


def test_what_was_crawled_is_shown_as_text_and_never_becomes_markup_script_or_link(browser: Browser) -> None:
    places = ["#/", f"#/jobs/{JOB}/items", "#/logs", "#/jobs/forum-5d2a9c11", f"#/url?job={JOB}&url={HOSTILE_URL}"]
    for place in places[:4]:
        browser.open(place)
        browser.see(HOSTILE_TITLE)
        assert browser.driver.find_elements(By.CSS_SELECTOR, "main img, main script, main iframe") == [], place
    browser.open(places[4])
    browser.see("Not a URL that can be crawled")
    links = [each.get_attribute("href") or "" for each in browser.driver.find_elements(By.TAG_NAME, "a")]

    assert [link for link in links if link.startswith("javascript:")] == []
    assert browser.driver.title != "owned"
    assert browser.complaints() == []


def test_even_a_mistake_of_the_console_could_not_turn_text_into_markup(browser: Browser) -> None:
    browser.open()
    browser.see("books")

    refused = browser.run(
        "try { document.querySelector('main').innerHTML = '<img src=x>'; return false } catch (e) { return e.name }"
    )

    assert refused == "TypeError"


def test_the_list_of_jobs_is_narrowed_down_and_its_address_says_how(browser: Browser) -> None:
    browser.open("#/jobs?state=paused")
    browser.see("news-0b1c2d3e")
    assert "shop-93fe10aa" not in browser.text()

    browser.click("All")
    browser.write("Find a job", "shop")
    browser.until(lambda: "news-0b1c2d3e" not in browser.text() and "shop-93fe10aa" in browser.text(), "only the shop")

    assert browser.driver.current_url.endswith("#/jobs?q=shop")


def test_logs_are_narrowed_down_by_facets_and_the_address_can_be_sent_to_somebody(browser: Browser) -> None:
    browser.open("#/logs")
    browser.see("3,001 events")
    browser.find('.facet[title^="timeout_read:"]').click()
    browser.until(
        lambda: "3,001 events" not in browser.text() and "timeout_read: the server said so" in browser.text(), "narrow"
    )
    browser.find(".bar-button:not(:disabled)").click()
    browser.until(lambda: "since=" in browser.driver.current_url, "narrowed to a span")
    address = browser.driver.current_url

    browser.driver.get("about:blank")
    browser.driver.get(address)
    browser.see("timeout_read", "since")

    assert "reason=timeout_read" in address


def test_runs_show_what_is_late_and_why_and_how_fresh_items_are_within_a_span_that_one_chooses(
    browser: Browser,
) -> None:
    browser.open(f"#/jobs/{DAILY}/runs")
    browser.see("Run 8 is under way", "It will not be in time", "one every 1.2 s", "5 min late", "in time")
    browser.see("96 % of the items were seen within 24 hours", "https://slow.example/p/1")
    Select(browser.named("Fresh is what was seen within")).select_by_visible_text("7 days")
    browser.see("100 % of the items were seen within 7 days")


def test_the_ledger_shows_both_sums_and_the_count_of_every_url(browser: Browser) -> None:
    browser.open("#/jobs/docs-77aa01bc/ledger")
    browser.see("Balanced: every URL is accounted for", "Where every accepted URL is", "What every link found became")

    accepted, pending = a_ledger(0.1, pending=0, failed={}).accepted, 0
    assert f"{accepted:,}" in browser.text()
    assert f"{pending}\nPending" in browser.text()
    assert f"{sum(SKIPPED.values())}\nSkipped" in browser.text()


def test_everything_is_reached_with_the_keyboard_and_focus_is_seen(browser: Browser) -> None:
    browser.open("#/")
    browser.see("books-1f2e3d4c")
    keys = ActionChains(browser.driver)
    reached: list[str] = []
    while len(reached) < 40 and reached[-1:] != ["books"]:
        keys.send_keys(Keys.TAB).perform()
        reached.append(browser.driver.switch_to.active_element.accessible_name)
    outline = browser.run("return getComputedStyle(document.activeElement).outlineStyle")
    keys.send_keys(Keys.ENTER).perform()
    browser.see("What became of URLs")

    assert reached[0] == "Skip to content"
    assert {"Jobs", "Logs", "Hosts", "Dead letters", "New job"} <= set(reached)
    assert outline == "solid"


def test_the_list_goes_on_by_itself_after_the_gateway_was_away(browser: Browser) -> None:
    stage = Stage().furnish()
    with served(stage.world) as address:
        other = Browser(browser.driver, address)
        other.open()
        other.see("books-1f2e3d4c")
    other.see("The API does not answer")
    stage.a_job("later-00000001", "later", now_ms(), a_ledger(0.01))
    with served(stage.world, int(address.rpartition(":")[2])):
        other.see("later-00000001", deadline_s=30)
        assert "The API does not answer" not in other.text()
    other.complaints()  # refused connections are in the log, as they should be


def many_jobs(count: int) -> Stage:
    stage = Stage()
    ledger = a_ledger(0.01, pending=0)
    now = now_ms()
    for number in range(count):
        stage.a_job(f"job-{number:06}", None, now - number * 1000, ledger, state="complete")
    stage.a_job(
        "big", "big", now + 1000, a_ledger(pending=50, failed={"http_404": 99_000, "dns": 1000}), state="failed"
    )
    return stage


def test_ten_thousand_jobs_and_a_hundred_thousand_failures_do_not_slow_it_down(browser: Browser) -> None:
    few, many = many_jobs(10), many_jobs(10_000)
    few.report("big", a_ledger(pending=50, failed={"http_404": 120, "dns": 1}))
    with served(few.world) as address:
        timed(Browser(browser.driver, address), "#/", "11 jobs")
        small = looked_at(Browser(browser.driver, address), "11 jobs")
    with served(many.world) as address:
        other = Browser(browser.driver, address)
        timed(other, "#/", "10,001 jobs")
        large = looked_at(other, "10,001 jobs")
        rows = len(other.driver.find_elements(By.CSS_SELECTOR, "tbody tr"))
        last = timed(other, "#/jobs?page=200", "Page 200 of 201")

    print({"few": small, "many": large, "page 200": last})  # noqa: T201  (measured)
    assert rows == 100
    assert max(large["jobs_s"], last["s"]) < 3 * small["jobs_s"] + 1
    assert large["failures_s"] < 3 * small["failures_s"] + 1


def looked_at(browser: Browser, words: str) -> dict[str, float]:
    jobs = timed(browser, "#/", words)
    failures = timed(browser, "#/jobs/big/failures?reason=http_404", "https://books.example/catalogue/99")
    return {"jobs_s": jobs["s"], "failures_s": failures["s"], "longest_task_ms": max(jobs["ms"], failures["ms"])}


def timed(browser: Browser, place: str, words: str) -> dict[str, float]:
    """Seconds from the start of loading until the words are seen, and the longest task in which nothing else went."""
    browser.open(place)
    browser.see(words)
    seen: dict[str, float] = browser.driver.execute_async_script(
        """
        const done = arguments[0], s = Math.round(performance.now()) / 1000;
        const watch = new PerformanceObserver((list) => {
          done({s, ms: Math.max(...list.getEntries().map((each) => each.duration))});
        });
        watch.observe({type: "longtask", buffered: true});
        setTimeout(() => done({s, ms: 0}), 300);
        """
    )
    return seen
