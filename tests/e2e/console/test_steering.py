"""The console in a browser, over the real gateway and a world in memory: what a person can do there."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from tests.component.api.fakes import World
from tests.e2e.console.browser import Browser, browsing
from tests.e2e.console.installing import need_chromium
from tests.e2e.console.serving import served
from tests.e2e.console.staged import HOSTILE_TITLE, Stage
from tests.e2e.console.staged_runs import DAILY
from tests.e2e.console.staged_store import JOB

from odradek.clock import now_ms
from odradek.contracts import HostChanged, JobChanged, RetryAsked

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


@pytest.fixture
def stage() -> Stage:
    return Stage().furnish()


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    need_chromium()
    with browsing("http://127.0.0.1") as browser:
        yield browser


@pytest.fixture
def browser(window: Browser, stage: Stage) -> Iterator[Browser]:
    with served(stage.world) as address:
        yield Browser(window.driver, address)


def test_failures_of_one_reason_are_retried_and_nothing_else(browser: Browser, stage: Stage) -> None:
    browser.open(f"#/jobs/{JOB}/failures")
    browser.click("timeout_read")
    browser.see("The server stopped sending for too long.", "640")
    browser.click("Retry timeout_read")
    browser.see("are open again")

    reasons = {fact.reason for _, fact in stage.world.log.facts(RetryAsked) if isinstance(fact, RetryAsked)}
    assert reasons == {"timeout_read"}


def test_a_job_is_paused_and_resumed_and_asks_before_it_is_cancelled(browser: Browser, stage: Stage) -> None:
    browser.open(f"#/jobs/{JOB}")
    browser.click("Pause")
    browser.until(lambda: stage.world.jobs.values[JOB].wanted == "paused", "paused")
    browser.until(lambda: browser.driver.switch_to.active_element.text == "Resume", "focus where it was")
    browser.click("Resume")
    browser.until(lambda: stage.world.jobs.values[JOB].wanted == "running", "resumed")
    browser.click("Cancel")
    browser.see("Cancel this job for good?")
    browser.click("Go back")
    browser.until(lambda: "for good?" not in browser.text(), "closed")

    assert stage.world.jobs.values[JOB].wanted == "running"


def test_a_recurring_job_is_steered_between_two_runs_too(browser: Browser, stage: Stage) -> None:
    stage.recurring(now_ms(), under_way=False)
    browser.open(f"#/jobs/{DAILY}/runs")
    browser.see("Run 8 begins")
    browser.click("Begin the next run now")
    browser.see("Run 8 begins.")
    browser.click("Pause")
    browser.until(lambda: stage.world.jobs.values[DAILY].wanted == "paused", "paused")
    browser.see("Resume")

    told = [
        (fact.asked_run, fact.wanted) for _, fact in stage.world.log.facts(JobChanged) if isinstance(fact, JobChanged)
    ]
    assert list(dict.fromkeys(told)) == [(8, "running"), (8, "paused")]  # each partition is told


def test_a_host_is_overridden_and_blocked_for_the_whole_fleet(browser: Browser, stage: Stage) -> None:
    browser.open("#/hosts")
    browser.click("Override books.example")
    browser.write("Delay between", "soon")
    browser.click("Tell the fleet")
    browser.see("write a number and ms")
    browser.write("Delay between", "5s")
    browser.click("Tell the fleet")
    browser.see("The fleet is told about books.example.")
    browser.click("Block news.example")
    browser.click("Block the host")
    browser.see("The fleet is told about news.example.")

    facts = [fact for _, fact in stage.world.log.facts(HostChanged) if isinstance(fact, HostChanged)]
    assert [(fact.key, fact.delay_ms, fact.blocked) for fact in facts] == [
        ("books.example", 5000, False), ("news.example", None, True),
    ]  # fmt: skip


def test_dead_letters_are_looked_into_and_replayed(browser: Browser, stage: Stage) -> None:
    browser.open("#/dead-letters?reason=poison")
    browser.find(".letters summary").click()
    browser.see(HOSTILE_TITLE, "The page or message could not be processed")
    browser.click("Replay")
    browser.see("Sent again.")

    assert [(send.topic, send.value) for send in stage.world.log.sent] == [
        ("pages", stage.world.store.dead["odradek.pages-0-0"]["value"])
    ]
    assert [name for name, letter in stage.world.store.dead.items() if letter.get("replayed_at")] == [
        "odradek.pages-0-0"
    ]


def test_items_are_exported_as_a_file(browser: Browser, tmp_path: Path) -> None:
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.open(f"#/jobs/{JOB}/items")
    browser.click("Export as JSON lines")
    file = tmp_path / f"{JOB}.jsonl"
    browser.until(file.exists, "downloaded")

    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(lines) == 240
    assert lines[0]["data"]["title"] == HOSTILE_TITLE


def test_a_wrong_specification_is_refused_field_by_field_and_nothing_typed_is_lost(browser: Browser) -> None:
    browser.open("#/new")
    browser.write("Seeds", "https://books.example/")
    browser.write("Page limit", "many")
    browser.write("Delay between", "soon")
    browser.click("Start the job")
    browser.see("Not started yet")

    wrong = [
        each.get_attribute("placeholder") for each in browser.driver.find_elements(By.CSS_SELECTOR, "[aria-invalid]")
    ]
    assert wrong == ["no limit", "1s"]
    assert browser.named("Page limit").get_attribute("value") == "many"
    assert browser.complaints() != []  # the browser itself notes a 422


def test_a_job_is_written_as_a_file_and_as_curl_while_it_is_typed(browser: Browser) -> None:
    browser.open("#/new")
    browser.write("Seeds", "https://books.example/\nhttps://news.example/")
    browser.write("Page limit", "500")
    browser.click("Add a rule")
    browser.write("Field", "title")
    browser.write("Selector", "h3")
    browser.see('- "https://news.example/"', "max_pages: 500", "fields:", "css: h3")
    browser.click("curl")
    browser.see("curl -X POST", '"max_pages": 500', '"css": "h3"')


def test_a_job_is_not_started_without_what_cannot_be_read_of_its_form(browser: Browser, stage: Stage) -> None:
    known = set(stage.world.jobs.values)
    browser.open("#/new")
    browser.write("Seeds", "https://books.example/")
    browser.click("Anything else")
    for text, words in [('{"scope": {"max_pages": 10}', "It is not JSON"), ("[1]", "Give a JSON object")]:
        browser.write("More of the specification", text)
        browser.click("Start the job")
        browser.see("Not started yet", words)

    assert set(stage.world.jobs.values) == known
    assert browser.run("return document.activeElement.tagName") == "TEXTAREA"


def test_the_api_document_is_made_by_the_console_from_the_gateway_alone(browser: Browser) -> None:
    browser.complaints()
    browser.open("docs")
    browser.see("Every route of this gateway", "/v1/dead-letters/replay")
    browser.run(
        "document.querySelectorAll('summary').forEach((each) => each.textContent.includes('/preview') && each.click())"
    )
    browser.see("PreviewRequest", "curl -X POST", "/v1/preview", "429")
    loaded = browser.run("return performance.getEntriesByType('resource').map((each) => new URL(each.name).origin)")

    assert set(loaded) == {browser.address}
    assert browser.complaints() == []


KEYS = {"ODRADEK_API_KEYS": "mine:6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090"}


def test_where_a_key_is_wanted_the_browser_itself_streams_an_export_and_the_key_stays_out_of_its_address(
    browser: Browser, stage: Stage, tmp_path: Path
) -> None:
    world = World(KEYS, jobs=stage.world.jobs, progress=stage.world.progress, store=stage.world.store)
    browser.driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    with served(world) as address:
        other = Browser(browser.driver, address)
        other.open(f"#/jobs/{JOB}/items")
        other.write("API key", "abc123")
        other.click("Continue")
        other.see("vol. 49")
        other.run(
            "window.followed = []; document.addEventListener('click', (event) => followed.push(event.target.href))"
        )
        other.click("Export as CSV")
        file = tmp_path / f"{JOB}.csv"
        other.until(file.exists, "downloaded")
        followed = [each for each in other.run("return followed") if each]

    assert file.read_text().count("vol. ") == 239
    assert [each.partition("&ticket=")[0] for each in followed] == [f"{address}/v1/jobs/{JOB}/export?format=csv"]
    assert "abc123" not in followed[0]


def test_the_key_is_asked_for_once_and_travels_in_a_header_only(browser: Browser) -> None:
    world = World(KEYS)
    with served(world) as address:
        other = Browser(browser.driver, address)
        other.open()
        other.see("Who is asking?")
        other.write("API key", "wrong")
        other.click("Continue")
        other.see("That key is not known here.")
        other.write("API key", "abc123")
        other.click("Continue")
        other.see("No thread on the spool yet")
        other.driver.get(f"{address}/#/hosts")
        other.see("No host yet")
        stored = other.run("return [sessionStorage.length, localStorage.getItem('odradek.key'), document.cookie]")

    assert stored == [1, None, ""]
    assert "abc123" not in other.driver.current_url
