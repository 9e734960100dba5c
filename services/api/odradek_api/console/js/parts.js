/** Pieces that several views show: headings, states, empty and broken places, fields. */

import { el, icon, say, svg } from "./elements.js";
import { count, percent, stamp } from "./words.js";
import { OUTCOMES, OUTCOME_NAMES, STATE_NAMES } from "./reasons.js";

/** Title, what it is about, and what can be done. */
export function heading(title, { about = null, actions = [], over = null } = {}) {
  return el(
    "header", { class: "heading" },
    el("div", { class: "grow" }, over, el("h1", {}, title), about && el("div", { class: "about" }, about)),
    el("div", { class: "row" }, ...actions),
  );
}

/** A job's state in a word and a colour. */
export function stateBadge(state) {
  const badge = el("span", { class: "badge" });
  setState(badge, state);
  return badge;
}

export function setState(badge, state) {
  badge.dataset.state = state;
  say(badge, STATE_NAMES[state] ?? state);
}

/** An outcome in a word and a colour. */
export function outcomeBadge(outcome) {
  return el("span", { class: "outcome", data: { outcome } }, OUTCOME_NAMES[outcome] ?? outcome);
}

/** Nothing is here, why, and what to do. */
export function empty(title, explanation, ...actions) {
  const spool = svg(
    "svg", { viewBox: "0 0 120 60", "aria-hidden": "true", class: "thread" },
    svg("path", {
      d: "M4 44c20-34 34-34 40-14s-22 22-18 2 40-34 50-8 24 18 40 4",
      fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-linecap": "round",
    }),
  );
  return el(
    "div", { class: "empty" }, spool, el("h2", {}, title), el("p", { class: "soft" }, explanation),
    actions.length > 0 && el("div", { class: "row" }, ...actions),
  );
}

/** Something could not be shown: the API's own sentence, and another try. */
export function broken(error, again = null) {
  return el(
    "div", { class: "broken", role: "alert" },
    el("h2", {}, error.title ?? "This cannot be shown"),
    el("p", {}, error.message),
    again && el("button", { onclick: again }, icon("retry"), "Try again"),
  );
}

/** When something happened, or will: in words, with the full time for who points at it. */
export function when(atMs, words) {
  return el("time", { datetime: new Date(atMs).toISOString(), title: stamp(atMs) }, words);
}

/** A long address on few lines; whole for who points at it. */
export function clamped(node, text) {
  node.classList.add("clamped");
  node.title = text;
  return node;
}

/** While something is asked for. */
export function loading(what) {
  return el("p", { class: "loading soft", role: "status" }, `Reading ${what} …`);
}

/** Puts what `make()` resolves to into a place; meanwhile says so, and afterwards offers to try again. */
export async function shownIn(parent, what, make, signal, { quietly = false } = {}) {
  if (!quietly || parent.childElementCount === 0) parent.replaceChildren(loading(what));
  try {
    const made = await make();
    if (!signal.aborted) parent.replaceChildren(made);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    parent.replaceChildren(broken(error, () => shownIn(parent, what, make, signal)));
  }
}

let numbered = 0;

/** A labelled control with its explanation and, later, its error. */
export function field(label, control, { hint = null, name = null, wide = false } = {}) {
  numbered += 1;
  const id = `field-${numbered}`;
  control.id = id;
  const told = [];
  if (hint !== null) told.push(`${id}-hint`);
  told.push(`${id}-error`);
  control.setAttribute("aria-describedby", told.join(" "));
  return el(
    "div", { class: wide ? "field wide" : "field", data: { name: name ?? "" } },
    el("label", { for: id }, label),
    control,
    hint && el("div", { class: "hint", id: `${id}-hint` }, hint),
    el("div", { class: "error", id: `${id}-error` }),
  );
}

/** A checkbox with its words. */
export function check(label, control, name = null) {
  numbered += 1;
  control.id = `field-${numbered}`;
  return el("div", { class: "field check", data: { name: name ?? "" } }, control, el("label", { for: control.id }, label));
}

/** The words of an error beside its field; null takes them away. */
export function setError(shown, message) {
  const control = shown.querySelector("input, select, textarea");
  const place = shown.querySelector(".error");
  if (place !== null) say(place, message ?? "");
  if (message === null) control?.removeAttribute("aria-invalid");
  else control?.setAttribute("aria-invalid", "true");
}

/** All accepted URLs in one bar, by what became of them, with the numbers below. */
export class OutcomeBar {
  #segments = new Map();
  #labels = new Map();

  constructor({ labelled = true } = {}) {
    this.bar = el("div", { class: "outcome-bar", role: "img" });
    this.legend = el("dl", { class: "legend" });
    for (const name of [...OUTCOMES, "pending"]) {
      const segment = el("span", { data: { outcome: name } });
      this.#segments.set(name, segment);
      this.bar.append(segment);
      const number = el("dd", { class: "number" });
      const entry = el("div", { data: { outcome: name } }, el("dt", {}, OUTCOME_NAMES[name]), number);
      this.#labels.set(name, { number, entry });
      this.legend.append(entry);
    }
    this.element = labelled ? el("div", {}, this.bar, this.legend) : this.bar;
  }

  show(counts) {
    const accepted = [...this.#segments.keys()].reduce((sum, name) => sum + (counts[name] ?? 0), 0);
    const said = [];
    for (const [name, segment] of this.#segments) {
      const number = counts[name] ?? 0;
      segment.style.flexGrow = accepted === 0 ? (name === "pending" ? 1 : 0) : number;
      segment.hidden = number === 0 && !(accepted === 0 && name === "pending");
      const { number: shown, entry } = this.#labels.get(name);
      say(shown, count(number));
      entry.classList.toggle("none", number === 0);
      if (number > 0) said.push(`${OUTCOME_NAMES[name]} ${count(number)} (${percent(number / accepted)})`);
    }
    this.bar.setAttribute("aria-label", said.length === 0 ? "No URL accepted yet" : said.join(", "));
  }
}
