/** The runs of a recurring job: when the next one begins, whether it will be in time, what the last ones did. */

import { el, icon } from "../elements.js";
import { broken, empty, loading, stateBadge, when } from "../parts.js";
import { table } from "../tables.js";
import { get, post } from "../gateway.js";
import { doing, notice } from "../dialogs.js";
import { link, path } from "../routing.js";
import { count, duration, moment, stamp } from "../words.js";
import { every } from "../streams.js";
import { Freshness } from "./freshness.js";
import { inTime, lateBegin, nextRun } from "./run_words.js";

const AGAIN_EVERY_MS = 3000;

export function runs({ root, id, watching, signal }) {
  const place = el("div", { class: "stack" }, loading("the runs"));
  const fresh = new Freshness(id, signal);
  root.append(place);
  let [known, ended] = ["", -1];
  const read = async () => {
    try {
      const found = await get(path`/v1/jobs/${id}/runs`, { signal });
      if (found.data.length > 0 && fresh.element.parentNode !== root) root.append(fresh.element);
      const last = found.data.find((run) => run.ended_at_ms !== null)?.run ?? 0;
      if (last !== ended && found.data.length > 0) fresh.load();
      ended = last;
      if (JSON.stringify(found) === known || place.contains(document.activeElement)) return;
      known = JSON.stringify(found);
      place.replaceChildren(...shown(id, watching, found, signal));
    } catch (error) {
      if (!signal.aborted && known === "") place.replaceChildren(broken(error, read));
    }
  };
  every(AGAIN_EVERY_MS, signal, read);
}

function shown(id, watching, found, signal) {
  if (found.data.length === 0) {
    return [empty("This job runs once", "With a schedule it runs again and again, and costs little where nothing has changed. Give it one from a shell:"),
      el("pre", { class: "code", tabindex: "0", "aria-label": "How to give the job a schedule" }, `odradek jobs set ${id} 'schedule={every: 24h}'`)];
  }
  return [ahead(id, watching, found, signal), found.missed !== null && late(found), history(id, found.data), slowest(found)].filter(Boolean);
}

function ahead(id, watching, found, signal) {
  const begin = el("button", {
    class: "primary",
    onclick: () => doing(begin, async () => {
      watching.took(await post(path`/v1/jobs/${id}/runs`, { signal }));
      notice(`Run ${found.next_run} begins.`);
    }),
  }, icon("resume"), "Begin the next run now");
  const facts = [
    ["Next", nextRun(found, Date.now())],
    found.deadline_ms !== null && ["To be fresh by", stamp(found.deadline_ms)],
    found.expected_end_ms !== null && ["Expected end", stamp(found.expected_end_ms)],
  ].filter(Boolean);
  const filtered = (change) => el("a", { class: "button", href: link(["jobs", id, "items"], { change }) }, `${change[0].toUpperCase()}${change.slice(1)} items`);
  return el("section", { class: "panel stack" },
    el("dl", { class: "pairs" }, facts.map(([name, words]) => el("div", {}, el("dt", { class: "soft" }, name), el("dd", {}, words)))),
    el("div", { class: "row" }, found.next_run !== null && begin, ["new", "changed", "gone"].map(filtered)));
}

function late({ missed }) {
  return el("div", { class: "broken", role: "alert" }, el("h2", {}, "It will not be in time"), el("p", {}, missed));
}

function history(id, data) {
  const number = (name, words) => ({ name: words, kind: "number", cell: (run) => count(run[name]) });
  return table("Runs", [
    { name: "Run", kind: "number", cell: (run) => count(run.run) },
    { name: "State", cell: (run) => stateBadge(run.state) },
    { name: "Began", cell: (run) => el("div", {}, when(run.began_at_ms, moment(run.began_at_ms, Date.now())), lateBegin(run) && el("div", { class: "small bad" }, lateBegin(run))) },
    { name: "Took", cell: (run) => el("span", { class: "short" }, run.duration_ms === null ? "–" : duration(run.duration_ms / 1000)) },
    { name: "Deadline", cell: (run) => el("span", { class: run.met === false ? "bad" : "" }, inTime(run)) },
    number("accepted", "URLs"), number("fetched", "Fetched"), number("not_modified", "Not modified"), number("skipped", "Skipped"),
    { name: "Failed", kind: "number", cell: (run) => el("span", { class: run.failed > 0 ? "bad" : "" }, count(run.failed)) },
    number("items", "Items read"),
  ], data);
}

function slowest({ slowest_hosts: hosts }) {
  if (hosts.length === 0) return null;
  return el("section", { class: "stack" }, el("h2", {}, "Where it takes longest"), table("Hosts where it takes longest", [
    { name: "Host", cell: (host) => host.host },
    { name: "URLs", kind: "number", cell: (host) => count(host.urls) },
    { name: "Left", kind: "number", cell: (host) => count(host.open) },
    { name: "One every", kind: "number", cell: (host) => duration(host.gap_ms / 1000) },
    { name: "Takes", kind: "number", cell: (host) => duration(host.left_ms / 1000) },
  ], hosts));
}
