/** One job: where it stands, what can be done to it, and everything about it behind tabs. */

import { el, icon, say } from "../elements.js";
import { broken, heading, loading, OutcomeBar, setState, stateBadge } from "../parts.js";
import { confirmed, doing, notice } from "../dialogs.js";
import { post } from "../gateway.js";
import { link, path } from "../routing.js";
import { count, counted, duration, percent, rate, stamp } from "../words.js";
import { CLOSED, FINAL } from "../reasons.js";
import { Watching } from "../job/watching.js";
import { overview } from "../job/overview.js";
import { failures } from "../job/failures.js";
import { left } from "../job/left.js";
import { jobHosts } from "../job/hosts.js";
import { items } from "../job/items.js";
import { ledger } from "../job/ledger.js";
import { runs } from "../job/runs.js";
import { specification } from "../job/specification.js";

const TABS = {
  overview: ["Overview", overview],
  failures: ["Failures", failures],
  skipped: ["Skipped", left],
  hosts: ["Hosts", jobHosts],
  items: ["Items", items],
  runs: ["Runs", runs],
  ledger: ["Ledger", ledger],
  specification: ["Specification", specification],
};

export function jobView({ root, job: id, tab, query, signal }) {
  const view = new JobView(root, id, signal);
  view.open({ tab, query });
  return { moved: (next) => view.turn(next) };
}

class JobView {
  #leaving = new AbortController();

  constructor(root, id, signal) {
    this.root = root;
    this.id = id;
    this.signal = signal;
    this.watching = new Watching(id, signal);
    signal.addEventListener("abort", () => this.#leaving.abort());
  }

  async open(where) {
    this.root.append(heading(this.id, { over: this.#crumb() }), loading("the job"));
    try {
      await this.watching.start();
    } catch (error) {
      if (!this.signal.aborted) this.root.replaceChildren(heading(this.id, { over: this.#crumb() }), broken(error));
      return;
    }
    this.#frame();
    this.watching.on((now) => this.#show(now));
    this.turn(where);
  }

  #crumb() {
    return el("a", { class: "crumb small", href: "#/" }, "Jobs");
  }

  #frame() {
    const { job } = this.watching;
    this.badge = stateBadge(job.state);
    this.actions = el("div", { class: "row" });
    this.banner = el("div", { class: "banner", hidden: true, role: "status" });
    this.bar = new OutcomeBar();
    this.facts = el("dl", { class: "facts" });
    this.tabs = el("nav", { class: "tabs", "aria-label": "About this job" });
    this.place = el("section", { class: "tab" });
    const title = heading(job.name ?? this.id, {
      over: this.#crumb(), actions: [this.actions],
      about: el("span", { class: "row" }, this.badge, el("span", { class: "mono soft" }, this.id)),
    });
    this.root.replaceChildren(title, this.banner, el("div", { class: "standing" }, this.facts, this.bar.element), this.tabs, this.place);
    document.title = `${job.name ?? this.id} · Odradek`;
  }

  /** Another tab, or the same one with other filters. */
  turn({ tab, query }) {
    if (this.place === undefined) return;
    this.#leaving.abort();
    this.#leaving = new AbortController();
    const [label, make] = TABS[tab] ?? TABS.overview;
    this.tabs.replaceChildren(
      ...Object.entries(TABS).map(([name, [words]]) =>
        el("a", { href: link(["jobs", this.id, ...(name === "overview" ? [] : [name])]), "aria-current": words === label ? "page" : null }, words),
      ),
    );
    this.place.replaceChildren();
    make({ root: this.place, id: this.id, watching: this.watching, query, signal: this.#leaving.signal });
  }

  #show({ job, ledger: counted_, away, gone, refusal }) {
    setState(this.badge, job.state);
    this.banner.hidden = !away && !gone && refusal === null;
    say(this.banner, gone ? "This job was deleted." : refusal !== null ? `${refusal} It is asked again in a few seconds.` : "The API does not answer; what is shown is as it was. It goes on by itself.");
    if (counted_ !== null) this.bar.show(counted_);
    showFacts(this.facts, job);
    this.#offer(job);
  }

  /** Only what is possible now. */
  #offer(job) {
    const goesOn = !FINAL.has(job.state) || job.next_run_at_ms !== null;
    const offered = [
      ["pause", "Pause", goesOn && job.state !== "paused"],
      ["resume", "Resume", job.state === "paused"],
      ["cancel", "Cancel", goesOn],
      ["retry-failed", `Retry ${count(job.failed)} failed`, job.failed > 0 && !CLOSED.has(job.state)],
    ].filter(([, , possible]) => possible);
    const key = offered.map(([action, words]) => action + words).join();
    if (this.actions.dataset.offered === key) return;
    this.actions.dataset.offered = key;
    const focused = this.actions.contains(document.activeElement);
    this.actions.replaceChildren(...offered.map(([action, words]) => this.#button(action, words)));
    if (focused) this.actions.querySelector("button")?.focus();
  }

  #button(action, words) {
    const glyph = { pause: "pause", resume: "resume", cancel: "cancel", "retry-failed": "retry" }[action];
    const button = el("button", {
      class: action === "cancel" ? "danger" : action === "resume" ? "primary" : "",
      onclick: () => doing(button, () => this.#do(action)),
    }, icon(glyph), words);
    return button;
  }

  async #do(action) {
    const sure = action !== "cancel" || (await confirmed(
      "Cancel this job for good?",
      "What is still pending is skipped, and nothing leads back. Pages and items that it has are kept.",
      "Cancel the job",
    ));
    if (!sure) return;
    this.watching.took(await post(path`/v1/jobs/${this.id}/${action}`, { signal: this.signal }));
    if (action === "retry-failed") notice("The failed URLs are open again.");
  }
}

function showFacts(place, job) {
  const running = job.state === "running";
  const tookS = FINAL.has(job.state) && job.reached_at_ms !== null ? (job.reached_at_ms - (beganOf(job) ?? job.created_at_ms)) / 1000 : null;
  const share = job.max_pages === null ? null : job.pages / Math.max(1, job.max_pages);
  const facts = [
    ["Pages", count(job.pages), share === null ? null : `${percent(share)} of ${count(job.max_pages)}`],
    ["Items", count(job.items), null],
    pace(job, running, tookS),
    ["Pending", count(job.pending), running && job.eta_s !== null && job.pending > 0 ? `about ${duration(job.eta_s)} left` : null],
    tookS === null
      ? ["Held back by", job.limiting_reason ?? (running ? "Nothing" : "–"), job.missed ?? (job.run > 1 ? `run ${job.run}` : null)]
      : ["Ended", `${stamp(job.reached_at_ms)}, after ${duration(tookS)}`, nextRun(job)],
  ];
  if (place.children.length === 0) {
    place.append(...facts.map(([name]) => el("div", {}, el("dt", {}, name), el("dd"), el("dd", { class: "soft small" }))));
    place.lastElementChild.classList.add("words");
  }
  facts.forEach(([name, value, more], at) => {
    const [named, shown, below] = place.children[at].children;
    say(named, name);
    say(shown, value);
    say(below, more ?? "");
  });
}

/** When the run that ended last began; undefined for jobs that do not recur. */
function beganOf(job) {
  return job.last_run?.began_at_ms;
}

function nextRun(job) {
  return job.next_run_at_ms ? `run ${job.run + 1} begins ${stamp(job.next_run_at_ms)}` : null;
}

function pace(job, running, tookS) {
  if (running) return ["Pace", `${rate(job.pages_per_s)} /s`, `${counted(job.in_flight, "fetch", "fetches")} in flight`];
  return ["Pace", tookS === null ? "–" : `${rate(job.pages / Math.max(1, tookS))} /s`, tookS === null ? null : "pages, on average"];
}
