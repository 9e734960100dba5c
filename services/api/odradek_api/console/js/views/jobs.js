/** All jobs, newest first, as they move. */

import { el, icon, KeyedRows, say } from "../elements.js";
import { broken, empty, heading, loading, setState, stateBadge, when } from "../parts.js";
import { framed } from "../tables.js";
import { sparkline } from "../charts.js";
import { listen } from "../streams.js";
import { link } from "../routing.js";
import { ago, count, counted, duration, percent, rate } from "../words.js";
import { FINAL, STATE_NAMES } from "../reasons.js";

const PER_PAGE = 50;
const COLUMNS = ["Job", "State", "Pace", "Progress", "Failed", "Items", "Time"];

export function jobsView({ root, query, signal }) {
  const view = new Jobs(root, query, signal);
  return { moved: ({ query: next }) => view.ask(next) };
}

class Jobs {
  #asked = new AbortController();

  constructor(root, query, signal) {
    this.known = new Map();
    this.summary = el("span", { role: "status" });
    this.banner = el("div", { class: "banner", hidden: true }, "The API does not answer; the list is as it was. It goes on by itself.");
    this.list = el("div", {}, loading("the jobs"));
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Show only jobs in this state" });
    this.search = el("input", {
      type: "search", placeholder: "Part of a name", "aria-label": "Find a job by part of its name", value: query.q ?? "",
      oninput: () => this.#searched(),
    });
    root.append(
      heading("Jobs", { about: this.summary, actions: [el("a", { class: "button primary", href: "#/new" }, icon("plus"), "New job")] }),
      this.banner,
      el("div", { class: "toolbar" }, this.search, this.chips),
      this.list,
    );
    this.body = el("tbody");
    this.rows = new KeyedRows(this.body, jobRow);
    const columns = COLUMNS.map((name) => el("th", { scope: "col", class: ["Failed", "Items"].includes(name) ? "number" : "" }, name));
    this.table = framed("Jobs", el("thead", {}, el("tr", {}, columns)), this.body);
    this.table.classList.add("jobs");
    this.pager = el("nav", { class: "pager", "aria-label": "Pages of jobs" });
    signal.addEventListener("abort", () => {
      clearTimeout(this.typing);
      this.#asked.abort();
    });
    this.ask(query);
  }

  /** Watches another page of the list. */
  async ask(query) {
    this.#asked.abort();
    this.#asked = new AbortController();
    this.query = query;
    const { signal } = this.#asked;
    const page = Math.max(1, Number(query.page) || 1);
    try {
      await listen("/v1/events", {
        query: { state: query.state, q: query.q, offset: (page - 1) * PER_PAGE, limit: PER_PAGE },
        signal,
        heard: (_, data) => this.#heard(data, page),
        standing: (now) => {
          this.banner.hidden = now !== "away";
        },
      });
    } catch (error) {
      if (!signal.aborted) this.list.replaceChildren(broken(error, () => this.ask(query)));
    }
  }

  #searched() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      location.replace(link(["jobs"], { ...this.query, q: this.search.value.trim(), page: null }));
    }, 250);
  }

  #heard({ order, changed, total, counts }, page) {
    for (const job of changed) this.known.set(job.job_id, job);
    const all = Object.values(counts).reduce((sum, each) => sum + each, 0);
    say(this.summary, all === 0 ? "None yet" : `${counted(all, "job")}, ${count(counts.running ?? 0)} running`);
    this.#chip(counts, all);
    if (order.length === 0) {
      this.list.replaceChildren(this.#nothing());
      return;
    }
    this.rows.show(order.map((name) => this.known.get(name)), (job) => job.job_id);
    this.#page(page, total);
    if (this.table.parentNode !== this.list) this.list.replaceChildren(this.table, this.pager);
  }

  #nothing() {
    if (this.query.q || this.query.state) {
      return empty("No such job", "No job matches what you look for.", el("a", { class: "button", href: "#/jobs" }, "Show all"));
    }
    return empty(
      "No thread on the spool yet",
      "A job is where to begin, what belongs to it, and how politely. Its pages and items appear here as they come.",
      el("a", { class: "button primary", href: "#/new" }, icon("plus"), "Start the first job"),
    );
  }

  #chip(counts, all) {
    const states = Object.keys(STATE_NAMES).filter((state) => counts[state] || this.query.state === state);
    const focused = this.chips.contains(document.activeElement) ? document.activeElement.dataset.state : null;
    this.chips.replaceChildren(
      ...[["", `All ${count(all)}`], ...states.map((state) => [state, `${STATE_NAMES[state]} ${count(counts[state] ?? 0)}`])].map(
        ([state, words]) =>
          el("a", {
            class: "chip", data: { state }, href: link(["jobs"], { ...this.query, state, page: null }),
            "aria-current": (this.query.state ?? "") === state ? "true" : null,
          }, words),
      ),
    );
    if (focused !== null) this.chips.querySelector(`[data-state="${CSS.escape(focused)}"]`)?.focus();
  }

  #page(page, total) {
    const last = Math.max(1, Math.ceil(total / PER_PAGE));
    this.pager.hidden = last === 1;
    const step = (to, words) =>
      to < 1 || to > last
        ? el("span", { class: "button", "aria-disabled": "true" }, words)
        : el("a", { class: "button", href: link(["jobs"], { ...this.query, page: to === 1 ? null : to }) }, words);
    if (this.pager.dataset.shown === `${page}/${last}`) return;
    this.pager.dataset.shown = `${page}/${last}`;
    this.pager.replaceChildren(step(page - 1, "Newer"), step(page + 1, "Older"), el("span", { class: "soft small" }, `Page ${page} of ${count(last)}`));
  }
}

function jobRow(first) {
  const name = el("a", { class: "job-name", href: link(["jobs", first.job_id]) }, first.name ?? first.job_id);
  const id = first.name ? el("span", {}, first.job_id) : null;
  const age = el("span", { class: "short" });
  const about = el("div", { class: "soft small apart" }, id, when(first.created_at_ms, age));
  const badge = stateBadge(first.state);
  const pace = el("div", { class: "pace" });
  const progress = el("div", { class: "progress" });
  const failed = el("span");
  const items = el("span");
  const left = el("div");
  const cells = [[name, about], [badge], [pace], [progress], [failed], [items], [left]].map((content, at) =>
    el("td", { class: at === 4 || at === 5 ? "number" : "", data: { label: COLUMNS[at] } }, content),
  );
  return {
    element: el("tr", {}, cells),
    update(job) {
      say(age, ago(job.created_at_ms, Date.now()));
      setState(badge, job.state);
      showPace(pace, job);
      showProgress(progress, job);
      say(failed, count(job.failed));
      failed.classList.toggle("bad", job.failed > 0);
      say(items, count(job.items));
      showLeft(left, job);
    },
  };
}

function showPace(place, job) {
  const said = `${rate(job.pages_per_s)} pages/s`;
  const moved = job.state === "running" || job.rates.some((each) => each > 0);
  const line = moved && job.rates.length > 1 ? sparkline(job.rates, `Pages a second lately; now ${said}`) : null;
  const words = job.state === "running" ? el("span", { class: "small number" }, said) : null;
  place.replaceChildren(...[line, words].filter((each) => each !== null));
}

/** Pages, and what else became of URLs that the other columns do not say. */
function showProgress(place, job) {
  const skipped = Object.values(job.skipped).reduce((sum, each) => sum + each, 0);
  place.replaceChildren(...pagesOf(job), skipped > 0 ? el("div", { class: "small soft" }, `${count(skipped)} skipped`) : "");
}

function pagesOf(job) {
  const pages = counted(job.pages, "page");
  if (job.max_pages !== null) {
    const share = Math.min(1, job.pages / Math.max(1, job.max_pages));
    const bar = el("span", { class: "bar" });
    bar.style.inlineSize = `${share * 100}%`;
    return [
      el("div", { class: "small apart" }, el("span", { class: "short" }, `${pages} of ${count(job.max_pages)}`), el("span", { class: "short soft" }, percent(share))),
      el("div", { class: "track", "aria-hidden": "true" }, bar),
    ];
  }
  const known = job.pages + job.pending;
  return [el("div", { class: "small" }, pages), FINAL.has(job.state) || known === 0 ? "" : el("div", { class: "small soft" }, `${count(job.pending)} pending`)];
}

/** How long it will take and what holds it back; of one that is over, how long it took; of one that recurs, what is next. */
function showLeft(place, job) {
  if (FINAL.has(job.state)) {
    const began = job.last_run?.began_at_ms ?? job.created_at_ms;
    const took = job.reached_at_ms === null ? null : (job.reached_at_ms - began) / 1000;
    const next = job.next_run_at_ms;
    place.replaceChildren(
      took === null ? "" : el("div", { class: "small soft" }, "took ", when(job.reached_at_ms, duration(took))),
      next === null ? "" : el("div", { class: "small" }, `run ${job.run + 1} `, when(next, ago(next, Date.now()))),
      job.missed === null ? "" : el("div", { class: "small bad" }, job.missed),
    );
    return;
  }
  const eta = job.eta_s !== null && job.pending > 0 ? `about ${duration(job.eta_s)} left` : null;
  const why = job.missed ?? job.limiting_reason;
  place.replaceChildren(...[eta && el("div", { class: "small" }, eta), why && el("div", { class: "small soft" }, why)].filter(Boolean));
}
