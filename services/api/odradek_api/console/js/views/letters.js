/** Dead letters: messages that could not be processed and malformed records; look inside, send again. */

import { el, icon, opening, outward } from "../elements.js";
import { empty, heading, when } from "../parts.js";
import { PagedList } from "../tables.js";
import { confirmed, doing, notice } from "../dialogs.js";
import { get, post } from "../gateway.js";
import { link } from "../routing.js";
import { ago, bytes, count, counted } from "../words.js";
import { meaning } from "../reasons.js";

const PER_PAGE = 50;

export function lettersView({ root, query, signal }) {
  const view = new Letters(root, query, signal);
  return { moved: ({ query: next }) => view.ask(next) };
}

class Letters {
  constructor(root, query, signal) {
    this.signal = signal;
    this.job = el("input", { type: "search", placeholder: "Id of a job", "aria-label": "Only dead letters of this job", value: query.job ?? "" });
    this.reasons = el("div", { class: "chips", role: "group", "aria-label": "Only dead letters with this reason" });
    this.replayAll = el("button", { onclick: () => doing(this.replayAll, () => this.#replayMany()) }, icon("retry"), "Replay all of these");
    this.list = new PagedList({
      what: "dead letters", signal,
      read: (cursor) => get("/v1/dead-letters", { query: { ...this.query, cursor, limit: PER_PAGE }, signal }),
      show: (page) => this.#page(page),
    });
    const form = el("form", {
      class: "toolbar",
      onsubmit: (event) => {
        event.preventDefault();
        location.hash = link(["dead-letters"], { ...this.query, job: this.job.value.trim() });
      },
    }, this.job, el("button", {}, "Show"), this.reasons);
    root.append(heading("Dead letters", { about: "What could not be processed is kept untouched, and can be sent again", actions: [this.replayAll] }), form, this.list.element);
    this.ask(query);
  }

  ask({ reason, job }) {
    this.query = { reason, job };
    this.job.value = job ?? "";
    this.replayAll.hidden = !reason && !job;
    this.list.load({ anew: true });
    this.#count();
  }

  /** A chip for each reason, with how many there are. */
  async #count() {
    const asked = this.query;
    try {
      const { data } = await get("/v1/dead-letters/reasons", { query: { job: asked.job }, signal: this.signal });
      if (asked !== this.query) return;
      const all = data.reduce((sum, each) => sum + each.count, 0);
      this.reasons.replaceChildren(...(all === 0 ? [] : [chip(asked, null, `All ${count(all)}`), ...data.map((each) => chip(asked, each.reason, `${each.reason} ${count(each.count)}`))]));
    } catch {
      // The list says what is wrong.
      this.reasons.replaceChildren();
    }
  }

  #page({ data }) {
    if (data.length > 0) return el("ul", { class: "letters" }, data.map((letter) => el("li", {}, this.#letter(letter))));
    return this.query.reason || this.query.job
      ? empty("No such dead letter", "None has this reason and job.", el("a", { class: "button", href: "#/dead-letters" }, "Show all"))
      : empty("No dead letters", "Nothing was too broken to be processed. A page that crashes the parser, or a record without a required field, would be kept here.");
  }

  #letter(letter) {
    const replayed = el("span", { class: "soft small" }, letter.replayed_at ? `sent again ${ago(Date.parse(letter.replayed_at), Date.now())}` : "");
    const button = el("button", { onclick: () => doing(button, () => this.#replay([letter.id], replayed)) }, icon("retry"), "Replay");
    const source = letter.source ?? {};
    return opening(
      el("summary", {},
        el("span", { class: "flag bad mono" }, letter.reason), el("span", { class: "what" },
          el("span", { class: "url" }, letter.url ?? letter.id), el("span", { class: "soft small said" }, letter.error)),
        replayed, el("span", { class: "soft small short" }, letter.at ? when(Date.parse(letter.at), ago(Date.parse(letter.at), Date.now())) : "")),
      () => el("div", { class: "whole stack" },
        el("p", { class: "soft" }, meaning(letter.reason)),
        el("dl", { class: "fields" }, [
          ["id", letter.id], ["error", letter.error], ["service", letter.service], ["job", letter.job_id],
          ["topic", source.topic], ["partition", source.partition], ["offset", source.offset], ["key", source.key], ["size", bytes(letter.size_bytes)],
        ].filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) =>
          el("div", {}, el("dt", { class: "mono soft" }, name), el("dd", { class: "mono" }, String(value))))),
        letter.preview !== null && el("pre", { class: "code", tabindex: "0", "aria-label": "The beginning of the message" }, letter.preview),
        el("div", { class: "row" }, button,
          letter.url && letter.job_id && el("a", { class: "button", href: link(["url"], { job: letter.job_id, url: letter.url }) }, "The URL's life"),
          letter.url && outward(letter.url))));
  }

  async #replay(ids, said) {
    const { replayed, refused } = await post("/v1/dead-letters/replay", { body: { ids }, signal: this.signal });
    if (replayed > 0) said.textContent = "sent again just now";
    notice(replayed > 0 ? "Sent again." : refused.length > 0 ? `Not sent: ${refused[0].reason}.` : "It was sent again before.", { bad: refused.length > 0 });
  }

  async #replayMany() {
    const words = [this.query.reason && `the reason ${this.query.reason}`, this.query.job && `the job ${this.query.job}`].filter(Boolean).join(" and ");
    if (!(await confirmed("Send all of them again?", `Every dead letter with ${words} that was not sent again before goes back to its topic, untouched.`, "Send again"))) return;
    const body = Object.fromEntries(Object.entries(this.query).filter(([, value]) => value));
    const { replayed, refused_total: refused } = await post("/v1/dead-letters/replay", { body, signal: this.signal });
    notice(`${counted(replayed, "dead letter")} sent again${refused > 0 ? `, ${counted(refused, "was", "were")} refused` : ""}.`, { bad: refused > 0 });
    this.list.load({ quietly: true });
    this.#count();
  }
}

function chip(query, reason, words) {
  const isOn = (query.reason ?? null) === reason;
  return el("a", { class: "chip", href: link(["dead-letters"], { ...query, reason }), "aria-current": isOn ? "true" : null }, words);
}
