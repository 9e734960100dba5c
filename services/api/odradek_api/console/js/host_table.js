/** Hosts with their pace, errors, robots and back-off, and what a person can tell the fleet to do. */

import { el } from "./elements.js";
import { check, field, setError, when } from "./parts.js";
import { table } from "./tables.js";
import { confirmed, doing, notice, opened } from "./dialogs.js";
import { put } from "./gateway.js";
import { link, path } from "./routing.js";
import { ago, count, milliseconds, moment, percent, rate } from "./words.js";

const ROBOTS = { rules: "read, with rules", allowed: "allows everything" };

/** `paces`: their HostPaces; `own`: columns of the caller after the name; `job`: whose log a name leads to. */
export function hostTable(hosts, { paces, changed, own = [], job = null }) {
  const now = Date.now();
  paces.note(hosts.filter((host) => host.fetches !== undefined), now);
  const made = table("Hosts", [
    { name: "Host", cell: (host) => el("span", { class: "apart" }, name(host, job), flags(host)) },
    ...own,
    { name: "Pace", kind: "number", cell: (host) => speed(paces.of(host, now)) },
    { name: "Fetches", kind: "number", cell: (host) => count(host.fetches) },
    { name: "Errors", kind: "number", cell: errors },
    { name: "Latency", kind: "number", cell: (host) => milliseconds(host.mean_latency_ms) },
    { name: "Delay", kind: "number", cell: (host) => (host.delay_ms === undefined ? "–" : `${milliseconds(host.delay_ms)}${host.concurrency > 1 ? ` × ${host.concurrency}` : ""}`) },
    { name: "robots.txt", cell: robots },
    { name: "Back-off until", cell: backOff },
    { name: "", cell: (host) => actions(host, changed) },
  ], hosts);
  made.classList.add("hosts");
  return made;
}

/** Leads to what happened there. */
function name(host, job) {
  return el("a", { class: "mono host-name", href: link(["logs"], { job, q: `odradek.host_key:"${host.key}"` }) }, host.key);
}

function speed(perSecond) {
  return perSecond === null ? el("span", { class: "soft", title: "Known with the next reading" }, "…") : `${rate(perSecond)}\u00a0/s`;
}

function flags(host) {
  if (host.blocked) return el("span", { class: "flag bad" }, "blocked");
  if (host.error_streak > 2) return el("span", { class: "flag" }, `${count(host.error_streak)} errors in a row`);
  return "";
}

function errors(host) {
  if (!host.fetches) return "–";
  const share = host.failures / host.fetches;
  const words = share > 0 && share < 0.01 ? "< 1 %" : percent(share);
  return el("span", { class: share >= 0.1 ? "bad" : "", title: `${count(host.failures)} of ${count(host.fetches)}` }, words);
}

function robots(host) {
  const states = [...new Set(Object.values(host.robots ?? {}))].map((state) => ROBOTS[state] ?? state);
  if (states.length === 0) return el("span", { class: "soft" }, "not read yet");
  return el("span", { title: Object.entries(host.robots).map(([origin, state]) => `${origin}: ${state}`).join("\n") }, states.join(", "));
}

function backOff(host) {
  const until = host.back_off_until_ms;
  return until && until > Date.now() ? el("span", { class: "apart" }, el("span", { class: "flag" }, when(until, moment(until, Date.now()))), el("span", { class: "soft small short" }, ago(until, Date.now()))) : el("span", { class: "soft" }, "–");
}

function actions(host, changed) {
  const override = el("button", { class: "quiet", "aria-label": `Override ${host.key}`, onclick: () => overriding(host, changed) }, "Override");
  const block = el("button", { class: "quiet", "aria-label": `${host.blocked ? "Unblock" : "Block"} ${host.key}`, onclick: () => blocking(block, host, changed) }, host.blocked ? "Unblock" : "Block");
  const waits = host.back_off_until_ms > Date.now();
  const clear = waits && el("button", {
    class: "quiet", "aria-label": `End the back-off of ${host.key}`,
    onclick: () => doing(clear, () => sent(host.key, { clear_back_off: true }, changed)),
  }, "Go on now");
  return el("div", { class: "row nowrap" }, clear, override, block);
}

async function blocking(button, host, changed) {
  const sure = host.blocked || (await confirmed(
    `Block ${host.key} everywhere?`,
    "Nothing more is fetched from it, by any job; its URLs are skipped with the reason host_blocked.",
    "Block the host",
  ));
  if (sure) await doing(button, () => sent(host.key, { blocked: !host.blocked }, changed));
}

async function sent(key, override, changed) {
  await put(path`/v1/hosts/${key}`, { body: override });
  notice(`The fleet is told about ${key}.`);
  setTimeout(changed, 1500);
}

function overriding(host, changed) {
  const delay = el("input", { placeholder: "as computed", value: "" });
  const concurrency = el("input", { type: "number", min: 1, max: 1000, placeholder: "as computed" });
  const clear = el("input", { type: "checkbox" });
  const delayField = field("Delay between two fetches", delay, { hint: "Such as 5s or 200ms; empty: as robots.txt, the job and the host's own pace make it." });
  const save = el("button", { class: "primary", type: "submit" }, "Tell the fleet");
  const dialog = el("dialog", { "aria-labelledby": "override" });
  const form = el("form", {
    onsubmit: (event) => {
      event.preventDefault();
      submit();
    },
  },
  el("h2", { id: "override" }, `Override ${host.key}`),
  el("p", { class: "soft" }, "For every job and every fetcher, at once."),
  delayField,
  field("Fetches at the same time", concurrency),
  check("End a back-off now", clear),
  el("div", { class: "row end" }, el("button", { type: "button", onclick: () => dialog.close() }, "Go back"), save));
  const submit = () => doing(save, async () => {
    try {
      await sent(host.key, {
        delay: delay.value.trim() || null, concurrency: concurrency.value === "" ? null : Number(concurrency.value),
        blocked: host.blocked ?? false, clear_back_off: clear.checked,
      }, changed);
      dialog.close();
    } catch (error) {
      const wrong = error.errors?.find((each) => each.field === "delay");
      if (wrong === undefined) throw error;
      setError(delayField, wrong.message);
    }
  });
  dialog.append(form);
  return opened(dialog);
}
