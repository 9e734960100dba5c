/** The rail: where one can go, whether the API is there, and the few things that belong to the person. */

import { el, icon, say, svg } from "./elements.js";
import { every } from "./streams.js";
import { forgetKey, storedKey } from "./keyring.js";
import { notice } from "./dialogs.js";

const PLACES = [
  ["jobs", "Jobs", "#/"],
  ["logs", "Logs", "#/logs"],
  ["hosts", "Hosts", "#/hosts"],
  ["letters", "Dead letters", "#/dead-letters"],
];
const LOOK_EVERY_MS = 10_000;

/** Draws the rail; the returned function marks where one is. */
export function buildRail(rail) {
  const links = new Map(PLACES.map(([name, label, href]) => [name, el("a", { href }, icon(name), label)]));
  const pulse = el("span", { class: "pulse", role: "status", data: { state: "waiting" } }, "Connecting");
  rail.append(
    el("a", { class: "wordmark", href: "#/", "aria-label": "Odradek, all jobs" }, spool(), "Odradek"),
    el("nav", { "aria-label": "Main" }, el("ul", {}, [...links.values()].map((each) => el("li", {}, each)))),
    el(
      "div", { class: "foot" }, pulse,
      el("a", { href: "#/documents", class: "button documents" }, icon("document"), el("span", { class: "label" }, "API documents")),
      el("span", { class: "zone", title: "Of this device; what is exported is in UTC" }, `Times in ${zone()}`),
      forgetting(),
      el("button", { onclick: changeTheme, "aria-label": "Change between light and dark" }, icon("moon"), el("span", { class: "label" }, "Light or dark")),
    ),
  );
  watch(pulse);
  return (name) => {
    for (const [each, shown] of links) {
      if (each === name) shown.setAttribute("aria-current", "page");
      else shown.removeAttribute("aria-current");
    }
  };
}

function zone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone?.replaceAll("_", " ") ?? "local time";
}

/** The creature: a star-shaped spool with a thread. */
function spool() {
  return svg(
    "svg", { viewBox: "0 0 32 32", "aria-hidden": "true", class: "spool" },
    svg("path", {
      d: "M16 2l3.6 6.7 8-.9-4.4 6.7 4.4 6.7-8-.9L16 27l-3.6-6.7-8 .9 4.4-6.7-4.4-6.7 8 .9z",
      class: "star", "stroke-width": 2, "stroke-linejoin": "round",
    }),
    svg("circle", { cx: 16, cy: 14.5, r: 5.2, class: "coil" }),
    svg("circle", { cx: 16, cy: 14.5, r: 2, class: "coil" }),
    svg("path", { d: "M21.2 14.5c0 6 2 10 7.3 15.5", class: "loose", "stroke-width": 2, "stroke-linecap": "round" }),
  );
}

function forgetting() {
  const button = el("button", { hidden: true, onclick: forget, "aria-label": "Forget the API key" }, icon("key"), el("span", { class: "label" }, "Forget the key"));
  const look = () => {
    button.hidden = storedKey() === null;
  };
  addEventListener("odradek:key", look);
  look();
  return button;
}

function forget() {
  forgetKey();
  dispatchEvent(new Event("odradek:key"));
  notice("The key is forgotten on this device.");
  location.reload();
}

function changeTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("odradek.theme", next);
  } catch {
    document.documentElement.dataset.theme = next;
    return;
  }
  dispatchEvent(new Event("odradek:theme"));
}

/** Asks the API every few seconds whether it is there and has read everything. */
function watch(pulse) {
  const never = new AbortController().signal;
  every(LOOK_EVERY_MS, never, async () => {
    const [state, words] = await health();
    pulse.dataset.state = state;
    say(pulse, words);
  });
}

async function health() {
  try {
    const response = await fetch("./health/ready", { cache: "no-store" });
    if (response.ok) return ["ready", "Ready"];
    return ["waiting", "Starting"];
  } catch {
    return ["away", "No answer"];
  }
}
