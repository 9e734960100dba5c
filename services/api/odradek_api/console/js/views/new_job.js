/** A new job: where to begin, what belongs to it, what to take, how politely; beside it the same as YAML and curl. */

import { el, say } from "../elements.js";
import { check, field, heading, setError } from "../parts.js";
import { post } from "../gateway.js";
import { link } from "../routing.js";
import { storedKey } from "../keyring.js";
import { copying } from "../copying.js";
import { curl } from "../curl.js";
import { specificationOf } from "../draft/draft.js";
import { yaml } from "../draft/yaml.js";
import { RulesEditor } from "../draft/rules_editor.js";
import { Preview } from "../draft/preview.js";

export function newJobView({ root, signal }) {
  new NewJob(root, signal);
  return { moved: () => {} };
}

class NewJob {
  constructor(root, signal) {
    this.signal = signal;
    this.controls = controls();
    this.rules = new RulesEditor(() => this.#changed());
    this.preview = new Preview(() => this.#draft(), signal);
    this.code = el("pre", { class: "code", tabindex: "0" });
    this.problem = el("div", { role: "alert" });
    this.submit = el("button", { class: "primary", type: "submit" }, "Start the job");
    this.form = el("form", { class: "stack", novalidate: true, onsubmit: (event) => this.#submit(event), oninput: () => this.#changed() },
      this.#begin(), this.#scope(), this.#extract(), this.#politeness(), this.#more(), this.problem,
      el("div", { class: "row" }, this.submit, el("a", { class: "button", href: "#/" }, "Go back")));
    root.append(heading("New job", { about: "Everything that is not said stays at its default" }),
      el("div", { class: "beside" }, this.form, el("aside", { class: "stack", "aria-label": "The same as a file or command, and a preview" }, this.#equivalent(), this.preview.element)));
    this.#changed();
    this.controls.seeds.focus({ preventScroll: true });
  }

  #begin() {
    const { name, seeds } = this.controls;
    return group("Where to begin",
      field("Seeds", seeds, { hint: "One URL a line. More, also millions, can be sent later.", name: "seeds", wide: true }),
      field("Name", name, { hint: "Optional", name: "name" }));
  }

  #scope() {
    const c = this.controls;
    return group("What belongs to it",
      field("Domains", c.domains, { hint: "One a line, with its subdomains. Empty: the seeds' own.", name: "scope.allowed_domains", wide: true }),
      field("Page limit", c.maxPages, { hint: "Exact; empty: no limit", name: "scope.max_pages" }),
      field("Page limit of a host", c.maxPagesPerHost, { name: "scope.max_pages_per_host" }),
      field("Depth limit", c.maxDepth, { hint: "Links away from a seed", name: "scope.max_depth" }),
      field("Only URLs that match", c.include, { hint: "Regular expressions, one a line", name: "scope.include" }),
      field("Never URLs that match", c.exclude, { hint: "Wins over the other", name: "scope.exclude" }),
      el("div", { class: "wide row checks" }, check("Follow links", c.followLinks), check("Read sitemaps", c.sitemaps)));
  }

  #extract() {
    return el("fieldset", {}, el("legend", {}, "What to extract"), this.rules.element);
  }

  #politeness() {
    const c = this.controls;
    return group("How politely",
      field("Delay between two fetches of a host", c.delay, { hint: "Such as 1s or 500ms", name: "politeness.delay" }),
      field("Fetches of a host at the same time", c.concurrency, { name: "politeness.concurrency_per_host" }),
      el("div", { class: "wide" }, check("Obey robots.txt", c.robots, "politeness.respect_robots")));
  }

  #more() {
    return el("details", { class: "more" }, el("summary", {}, "Anything else"),
      field("More of the specification, as JSON", this.controls.more, { hint: "Laid over what stands above, such as {\"fetch\": {\"timeout\": \"10s\"}, \"expires\": \"2h\"}", name: "more", wide: true }));
  }

  #equivalent() {
    this.language = "yaml";
    const choice = (language, words) => {
      const button = el("button", { type: "button", class: "chip", "aria-pressed": String(language === "yaml"), onclick: () => {
        this.language = language;
        for (const each of choices) each.setAttribute("aria-pressed", String(each === button));
        this.#changed({ quietly: true });
      } }, words);
      return button;
    };
    const choices = [choice("yaml", "Job file"), choice("curl", "curl")];
    return el("section", { class: "panel stack tight" },
      el("div", { class: "row" }, el("h2", { class: "grow" }, "As a file or command"), choices, copying("Copy", () => this.code.textContent)), this.code);
  }

  #draft() {
    const c = this.controls;
    const values = Object.fromEntries(Object.entries(c).map(([name, control]) => [name, control.type === "checkbox" ? control.checked : control.value]));
    return specificationOf({ ...values, rules: this.rules.rules, more: this.#parsed() });
  }

  #parsed() {
    const text = this.controls.more.value.trim();
    const place = this.form?.querySelector('[data-name="more"]');
    try {
      const found = text === "" ? {} : JSON.parse(text);
      const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
      if (place) setError(place, isObject ? null : "Give a JSON object: what stands in braces.");
      return isObject ? found : null;
    } catch (error) {
      if (place) setError(place, `It is not JSON: ${error.message}`);
      return null;
    }
  }

  #changed({ quietly = false } = {}) {
    if (this.form === undefined) return;
    const spec = this.#draft();
    const shell = this.language === "curl";
    say(this.code, shell ? curl({ method: "POST", address: `${location.origin}/v1/jobs`, body: spec, withKey: storedKey() !== null }) : `# odradek crawl --job job.yaml\n${yaml(spec)}`);
    this.code.setAttribute("aria-label", shell ? "The same as a curl command" : "The same as a job file");
    if (!quietly) this.preview.changed();
  }

  async #submit(event) {
    event.preventDefault();
    this.problem.replaceChildren();
    for (const each of this.form.querySelectorAll(".field[data-name]")) setError(each, null);
    if (this.#parsed() === null) {
      // A job without what was to be laid over it is another job, perhaps one without limits.
      this.#refused({ errors: [], message: "What stands below “Anything else” cannot be read." });
      return;
    }
    this.submit.disabled = true;
    try {
      const job = await post("/v1/jobs", { body: this.#draft(), signal: this.signal });
      location.hash = link(["jobs", job.job_id]);
    } catch (error) {
      if (!this.signal.aborted) this.#refused(error);
    } finally {
      this.submit.disabled = false;
    }
  }

  /** Each wrong field gets its words; what has no field here is said below. */
  #refused(error) {
    const rest = [];
    for (const { field: name, message } of error.errors) {
      const parts = name.split(".");
      const place = parts.map((_, at) => parts.slice(0, parts.length - at).join("."))
        .map((each) => this.form.querySelector(`.field[data-name="${CSS.escape(each)}"]`)).find((each) => each !== null);
      if (place) setError(place, message);
      else rest.push(`${name}: ${message}`);
    }
    const shown = error.errors.length === 0 ? [error.message] : rest;
    this.problem.replaceChildren(el("div", { class: "broken" }, el("h2", {}, "Not started yet"),
      shown.length > 0 ? el("ul", {}, shown.map((each) => el("li", {}, each))) : el("p", {}, "Please correct what is marked.")));
    const wrong = this.form.querySelector('[aria-invalid="true"]');
    wrong?.closest("details")?.setAttribute("open", "");
    (wrong ?? this.submit).focus();
  }
}

function group(title, ...fields) {
  return el("fieldset", {}, el("legend", {}, title), el("div", { class: "grid-form" }, ...fields));
}

function controls() {
  const text = (properties = {}) => el("input", { autocomplete: "off", spellcheck: "false", ...properties });
  const area = (rows, properties = {}) => el("textarea", { rows, spellcheck: "false", ...properties });
  const number = (properties = {}) => text({ inputmode: "numeric", ...properties });
  const mark = (checked) => el("input", { type: "checkbox", checked });
  return {
    seeds: area(3, { placeholder: "https://books.example/", required: true }),
    name: text({ placeholder: "books" }),
    domains: area(2, { placeholder: "books.example" }),
    maxPages: number({ placeholder: "no limit" }), maxPagesPerHost: number({ placeholder: "no limit" }), maxDepth: number({ placeholder: "no limit" }),
    include: area(2, { placeholder: "/catalogue/" }), exclude: area(2, { placeholder: "\\?sort=" }),
    followLinks: mark(true), sitemaps: mark(true),
    delay: text({ placeholder: "1s" }), concurrency: number({ placeholder: "1" }), robots: mark(true),
    more: area(4, { placeholder: "{}" }),
  };
}
