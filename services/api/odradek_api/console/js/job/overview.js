/** How it goes: what became of URLs over time, how long fetches take, and why URLs were left out. */

import { el } from "../elements.js";
import { get } from "../gateway.js";
import { TimeChart } from "../charts.js";
import { ratesOf, thinned } from "../scales.js";
import { every } from "../streams.js";
import { link, path } from "../routing.js";
import { count, milliseconds, moment, rate } from "../words.js";
import { FINAL, meaning, OUTCOMES, OUTCOME_NAMES } from "../reasons.js";

const TREND_EVERY_MS = 2000;
const LATENCY_EVERY_MS = 10_000;
const MOST_BINS = 120;

export function overview({ root, id, watching, signal }) {
  const pace = outcomesChart();
  const latency = latencyChart();
  const from = el("p", { class: "soft small" });
  const sample = el("p", { class: "soft small" });
  const reasons = el("div", { class: "panels" });
  root.append(
    el("div", { class: "panels wide" },
      el("section", { class: "panel" }, el("h2", {}, "What became of URLs, each second"), pace.element, from),
      el("section", { class: "panel" }, el("h2", {}, "How long fetches take"), latency.element, sample)),
    reasons,
  );
  const over = () => FINAL.has(watching.job.state);
  repeated(TREND_EVERY_MS, signal, over, () => showTrend(id, pace, from, signal));
  repeated(LATENCY_EVERY_MS, signal, over, () => showLatency(id, latency, sample, signal));
  let known = "";
  watching.on(({ ledger }) => {
    const now = JSON.stringify(ledger?.reasons ?? {});
    if (now !== known) reasons.replaceChildren(...reasonPanels(id, ledger?.reasons ?? {}));
    known = now;
  }, signal);
}

/** As long as the job moves, once more when it does no more, and again when something opened it again. */
function repeated(ms, signal, over, look) {
  let last = false;
  every(ms, signal, async () => {
    const before = last;
    last = over();
    if (!(before && last)) await look();
  });
}

function outcomesChart() {
  const series = OUTCOMES.map((name) => ({ name, label: OUTCOME_NAMES[name] }));
  return new TimeChart({
    series, stacked: true, format: rate, said: "URLs finished a second, by outcome",
    time: (ms) => moment(ms, Date.now()),
  });
}

function latencyChart() {
  return new TimeChart({
    series: [["p50", "Half within"], ["p95", "95 % within"], ["p99", "99 % within"]].map(([name, label]) => ({ name, label })),
    format: milliseconds, said: "Duration of fetches", time: (ms) => moment(ms, Date.now()),
  });
}

async function showTrend(id, chart, from, signal) {
  try {
    const { columns, points, source } = await get(path`/v1/jobs/${id}/trend`, { signal });
    chart.show(thinned(ratesOf(columns, points), MOST_BINS));
    from.textContent = points.length < 2
      ? "The chart begins with the second reading."
      : source === "events" ? "From the crawl log, which counts tries: this gateway was started after the job." : "";
  } catch (error) {
    if (!signal.aborted) from.textContent = error.message;
  }
}

async function showLatency(id, chart, sample, signal) {
  try {
    const found = await get(path`/v1/jobs/${id}/latency`, { signal });
    chart.show(found.windows.map((each) => ({ at: each.at_ms, values: { p50: each.p50_ms, p95: each.p95_ms, p99: each.p99_ms } })));
    sample.textContent = found.sample === 0
      ? "No fetch is in the log yet."
      : `Of the newest ${count(found.sample)} fetches: half within ${milliseconds(found.p50_ms)}, 95 % within ${milliseconds(found.p95_ms)}, 99 % within ${milliseconds(found.p99_ms)}.`;
  } catch (error) {
    if (!signal.aborted) sample.textContent = error.message;
  }
}

function reasonPanels(id, reasons) {
  return [
    ["failed", "Failed, by reason", "failures"],
    ["skipped", "Skipped, by reason", "skipped"],
    ["refused", "Links never accepted, by reason", null],
  ].map(([outcome, title, tab]) => {
    const found = Object.entries(reasons[outcome] ?? {}).sort((one, other) => other[1] - one[1]);
    return el(
      "section", { class: "panel" }, el("h2", {}, title),
      found.length === 0 ? el("p", { class: "soft" }, "None.") : bars(id, outcome, found, tab),
    );
  });
}

/** A bar for each reason, as long as its share. */
function bars(id, outcome, found, tab) {
  const most = found[0][1];
  return el("ul", { class: "bars" }, found.map(([reason, number]) => {
    const bar = el("span", { class: "fill", data: { outcome: outcome === "refused" ? "pending" : outcome }, "aria-hidden": "true" });
    bar.style.inlineSize = `${Math.max(1, (number / most) * 100)}%`;
    const name = tab === null ? el("span", { class: "mono" }, reason) : el("a", { class: "mono", href: link(["jobs", id, tab], { reason }) }, reason);
    return el("li", { title: meaning(reason) }, el("span", { class: "row" }, name, el("span", { class: "grow" }), el("span", { class: "number" }, count(number))), bar);
  }));
}
