/** Crawl events as rows, and one of them whole. */

import { el, opening } from "./elements.js";
import { outcomeBadge, when } from "./parts.js";
import { link } from "./routing.js";
import { milliseconds, moment } from "./words.js";

/** A list of events; each opens to everything that is known of it. */
export function eventList(events) {
  return el("ol", { class: "events" }, events.map((event) => el("li", {}, eventRow(event))));
}

function eventRow(event) {
  const { odradek = {}, http = null, url = {} } = event;
  const at = Date.parse(event["@timestamp"]);
  const status = http?.response?.status_code ?? null;
  const duration = event.event?.duration ?? null;
  return opening(
    el("summary", {},
      el("span", { class: "mono soft" }, when(at, moment(at, Date.now()))),
      el("span", { class: "mono action" }, event.event?.action ?? ""),
      odradek.outcome ? outcomeBadge(odradek.outcome) : el("span", {}),
      el("span", { class: "what" }, el("span", { class: "url" }, url?.full ?? event.message ?? ""),
        el("span", { class: "soft small said" }, event.message && url?.full ? event.message : "")),
      el("span", { class: "number small" }, [status, duration === null ? null : milliseconds(duration / 1e6)].filter((each) => each !== null).join(" · "))),
    () => whole(event));
}

function whole(event) {
  const { odradek = {}, url = {} } = event;
  const links = [
    url?.full && odradek.job_id && ["The whole life of this URL", link(["url"], { job: odradek.job_id, url: url.full })],
    odradek.job_id && ["Its job", link(["jobs", odradek.job_id])],
    odradek.fingerprint && ["Every event of this URL", link(["logs"], { job: odradek.job_id, fingerprint: odradek.fingerprint })],
  ].filter(Boolean);
  return el("div", { class: "whole stack tight" },
    el("div", { class: "row" }, links.map(([words, href]) => el("a", { class: "small", href }, words))),
    el("dl", { class: "fields" }, flattened(event).map(([name, value]) => el("div", {}, el("dt", { class: "mono soft" }, name), el("dd", { class: "mono" }, value)))));
}

/** [["http.response.status_code", "200"], …] without what is empty. */
export function flattened(value, prefix = "") {
  if (value === null || value === undefined || value === "") return [];
  if (typeof value !== "object" || Array.isArray(value)) {
    return [[prefix, typeof value === "object" ? JSON.stringify(value) : String(value)]];
  }
  return Object.entries(value).flatMap(([name, each]) => flattened(each, prefix === "" ? name : `${prefix}.${name}`));
}
