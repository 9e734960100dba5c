/** Counts of events: lists that narrow down, and bars over time. */

import { el } from "./elements.js";
import { binned } from "./scales.js";
import { count, counted, milliseconds, moment, shortCount } from "./words.js";

const LISTS = [["outcome", "Outcome"], ["reason", "Reason"], ["status", "HTTP status"], ["host", "Host"], ["action", "What happened"]];
const BAR_PX = 27;
// The rail and the margins of a wide window, of a narrow one, and the widest that the page becomes.
const [BESIDE_WIDE_PX, BESIDE_NARROW_PX, WIDEST_PX] = [330, 70, 1250];

/** As many bars as a finger can tell apart. */
function mostBars() {
  const width = innerWidth - (innerWidth > 820 ? BESIDE_WIDE_PX : BESIDE_NARROW_PX);
  return Math.max(8, Math.floor(Math.min(width, WIDEST_PX) / BAR_PX));
}

/** A list for each facet; choosing a value narrows, choosing it again widens. */
export function facetLists(found, chosen, go) {
  const lists = LISTS.filter(([name]) => (found[name] ?? []).length > 0).map(([name, label]) =>
    el("section", {}, el("h2", {}, label), el("ul", {}, found[name].map(({ value, count: number }) => facet(name, value, shortCount(number), counted(number, "event"), chosen, go)))));
  return (found.slowest_hosts ?? []).length > 0 ? [...lists, slowest(found.slowest_hosts, chosen, go)] : lists;
}

function slowest(hosts, chosen, go) {
  return el("section", {}, el("h2", {}, "Slowest hosts"), el("ul", {}, hosts.map(({ value, count: number, mean_ms: mean }) =>
    facet("host", value, milliseconds(mean), `${milliseconds(mean)} on average, ${counted(number, "fetch", "fetches")}`, chosen, go))));
}

function facet(name, value, number, said, chosen, go) {
  const on = String(chosen[name] ?? "") === String(value);
  return el("li", {}, el("button", {
    class: "facet", type: "button", "aria-pressed": String(on), title: `${value}: ${said}`,
    onclick: () => go({ [name]: on ? null : value }),
  }, el("span", { class: "mono value" }, String(value)), el("span", { class: "number soft" }, number)));
}

/** Events over time; a bar narrows to its span. */
export function histogram({ time: moments, every_s: everyS }, go) {
  const bins = binned(moments.map(({ at, count: number }) => ({ at: Date.parse(at), count: number })), mostBars(), everyS * 1000);
  if (bins.length < 2) return el("div");
  const most = Math.max(...bins.map((each) => each.count));
  const now = Date.now();
  const bars = bins.map((bin) => {
    const words = `${moment(bin.from, now)} to ${moment(bin.to, now)}: ${counted(bin.count, "event")}`;
    const bar = el("button", {
      type: "button", class: "bar-button", "aria-label": words, title: words, disabled: bin.count === 0,
      onclick: () => go({ since: new Date(bin.from).toISOString(), until: new Date(bin.to).toISOString() }),
    }, el("span", { class: "bar" }));
    bar.firstChild.style.blockSize = bin.count === 0 ? "0" : `${Math.max(4, (bin.count / most) * 100)}%`;
    return bar;
  });
  return el("div", { class: "histogram", role: "group", "aria-label": "Events over time; choose a bar to narrow down" },
    el("div", { class: "bars-row" }, bars),
    el("div", { class: "row small soft" }, el("span", {}, moment(bins[0].from, now)), el("span", { class: "grow" }), el("span", {}, `at most ${count(most)} in a bar`), el("span", { class: "grow" }), el("span", {}, moment(bins.at(-1).to, now))));
}
