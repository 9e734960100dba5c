/** The whole life of one URL in one job: what it is, where it stands and why, and everything that happened to it. */

import { el, icon, outward } from "../elements.js";
import { empty, heading, outcomeBadge, shownIn } from "../parts.js";
import { get } from "../gateway.js";
import { eventList } from "../events.js";
import { explainForm } from "../job/left.js";
import { link } from "../routing.js";
import { ago, count, milliseconds } from "../words.js";
import { meaning } from "../reasons.js";

export function urlView({ root, query, signal }) {
  const { job, url } = query;
  const again = el("button", { onclick: () => read() }, icon("retry"), "Ask again");
  const explained = el("div");
  const events = el("div");
  root.append(
    heading("One URL", {
      over: job ? el("a", { class: "crumb small", href: link(["jobs", job]) }, job) : null,
      about: url ? outward(url) : "", actions: url ? [again] : [],
    }),
  );
  if (!job || !url) {
    root.append(empty("Which URL?", "Give its address; it need not be known to the job."), job ? explainForm(job) : "");
    return;
  }
  root.append(explained, el("h2", { class: "after" }, "What happened to it"), events, el("h2", { class: "after" }, "Another URL of this job"), explainForm(job));
  const read = () => {
    const asked = get("/v1/explain", { query: { job, url }, signal });
    shownIn(explained, "what the frontier knows", async () => explanation(await asked, job), signal);
    shownIn(events, "the log", async () => history(job, (await asked).fingerprint, signal), signal);
  };
  read();
}

async function history(job, fingerprint, signal) {
  if (fingerprint === null) return empty("No events", "It is no URL that can be crawled.");
  const { data } = await get("/v1/logs", { query: { job, fingerprint, limit: 100 }, signal });
  return data.length === 0
    ? empty("No events", "Nothing was tried yet, or the log of it is too old and gone.")
    : el("div", { class: "stack" }, eventList(data));
}

function explanation(found, job) {
  const frontier = found.frontier ?? {};
  const seen = frontier.seen === true;
  return el("div", { class: "stack" },
    el("section", { class: "panel verdict-panel" },
      el("div", { class: "row" }, frontier.state ? stateOf(frontier.state) : "", el("h2", {}, headline(found, frontier, seen))),
      el("p", { class: "soft" }, details(found, frontier, seen))),
    el("div", { class: "panels two" },
      pairs("Identity", [
        ["Canonical URL", found.canonical, true], ["Fingerprint", found.fingerprint, true], ["Host", found.host, true],
        ["Politeness key", found.key, true], ["Frontier partition", found.partition],
      ]),
      pairs("In the frontier", seen ? [
        ["Found on", frontier.via ? outward(frontier.via) : "a seed"], ["Depth", frontier.depth], ["Priority", frontier.priority],
        ["Tries", (frontier.try ?? 0) + 1], ["HTTP status", frontier.status], ["Due", due(frontier.due_ms)],
      ] : [["Seen before", found.answered ? "no" : "unknown: no scheduler answered"]]),
      pairs("robots.txt", [["State", frontier.robots?.state], ["Rule", frontier.robots?.rule, true]]),
      pairs("Its host now", hostFacts(frontier.host ?? {}))),
    frontier.history?.length > 0 && steps(frontier.history),
    el("div", { class: "row" }, found.fingerprint && el("a", { class: "button", href: link(["logs"], { job, fingerprint: found.fingerprint }) }, icon("logs"), "In the log")));
}

function stateOf(state) {
  return outcomeBadge(state);
}

function headline(found, frontier, seen) {
  if (found.fingerprint === null) return "Not a URL that can be crawled";
  if (!found.answered) return "No scheduler answered";
  if (!seen) return found.refusal === null ? "Not seen by this job" : "Would be refused";
  if (frontier.state === "pending") return frontier.doing ? `On its way (${frontier.doing})` : "Waiting for its turn";
  return frontier.reason ? frontier.reason : "Done";
}

function details(found, frontier, seen) {
  if (seen && frontier.reason) return meaning(frontier.reason) || `The reason is ${frontier.reason}.`;
  return seen ? "" : `${found.sentence.slice(0, 1).toUpperCase()}${found.sentence.slice(1)}.`;
}

function hostFacts(host) {
  return [
    ["Delay", host.delay_ms === null || host.delay_ms === undefined ? null : milliseconds(host.delay_ms)],
    ["At the same time", host.concurrency], ["In flight", host.in_flight], ["Next due", due(host.next_due_ms)],
    ["Back-off until", due(host.back_off_until_ms)], ["Errors in a row", host.error_streak], ["Blocked", host.blocked ? "yes" : "no"],
  ];
}

function due(atMs) {
  return atMs ? ago(atMs, Date.now()) : null;
}

function pairs(title, given) {
  const shown = given.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("section", { class: "panel" }, el("h2", {}, title),
    shown.length === 0 ? el("p", { class: "soft" }, "Nothing known.") : el("dl", { class: "pairs" }, shown.map(([name, value, mono]) =>
      el("div", {}, el("dt", { class: "soft" }, name), el("dd", { class: mono ? "mono" : "" }, typeof value === "number" ? count(value) : value)))));
}

function steps(history) {
  return el("section", { class: "panel" }, el("h2", {}, "Its transitions in the frontier's log"),
    el("ol", { class: "steps" }, history.map((step) => el("li", {},
      el("span", { class: "mono" }, step.kind), " ", step.reason && el("span", { class: "soft" }, step.reason), " ",
      step.status && el("span", { class: "soft" }, String(step.status)), el("span", { class: "soft small mono" }, ` at ${step.offset}.${step.index}`)))));
}
