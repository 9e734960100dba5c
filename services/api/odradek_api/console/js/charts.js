/** Charts as SVG: a sparkline, areas on top of each other, lines, bars. Each says in words what it shows. */

import { el, svg } from "./elements.js";
import { linear, niceTop } from "./scales.js";

const HEIGHT = 190;
const LEFT = 54;
const BOTTOM = 22;
const TOP = 10;

/** A line as small as a word. */
export function sparkline(values, said) {
  const width = 96;
  const height = 24;
  const top = Math.max(1, ...values);
  const x = linear(0, Math.max(1, values.length - 1), 1, width - 1);
  const y = linear(0, top, height - 2, 2);
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  const line = points.length < 2 ? null : svg("polyline", { points: points.join(" "), fill: "none" });
  const area = points.length < 2 ? null : svg("polygon", { points: `1,${height} ${points.join(" ")} ${width - 1},${height}` });
  return svg("svg", { class: "sparkline", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, area, line);
}

/** A chart over time whose reading follows pointer and arrow keys. */
export class TimeChart {
  #at = null;

  /** `series`: [{name, label}], `stacked` or lines; `format(value)`, `time(ms)` give words; `said` names it. */
  constructor({ series, stacked = false, format, time, said }) {
    Object.assign(this, { series, stacked, format, time, said });
    this.points = [];
    this.canvas = el("div", {
      class: "canvas", tabindex: "0", role: "img", "aria-label": said,
      onpointermove: (event) => this.#point(event),
      onpointerleave: () => this.#read(null),
      onkeydown: (event) => this.#key(event),
      onblur: () => this.#read(null),
    });
    this.values = new Map();
    const legend = el("dl", { class: "legend small" }, series.map(({ name, label }) => {
      const value = el("dd", { class: "number" });
      this.values.set(name, value);
      return el("div", { data: { outcome: name } }, el("dt", {}, label), value);
    }));
    this.when = el("span", { class: "soft small when" });
    this.element = el("div", { class: "chart" }, this.canvas, el("div", { class: "under" }, legend, this.when));
    new ResizeObserver(() => this.#draw()).observe(this.canvas);
  }

  /** `points`: [{at, values: {name: number}}], oldest first. */
  show(points) {
    this.points = points;
    this.#draw();
    this.#read(this.#at === null ? null : Math.min(this.#at, points.length - 1));
  }

  #top() {
    const heights = this.points.map(({ values }) =>
      this.stacked
        ? this.series.reduce((sum, { name }) => sum + (values[name] ?? 0), 0)
        : Math.max(...this.series.map(({ name }) => values[name] ?? 0)),
    );
    return niceTop(Math.max(0, ...heights));
  }

  #draw() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const top = this.#top();
    const first = this.points[0]?.at ?? 0;
    const last = this.points.at(-1)?.at ?? 1;
    this.x = linear(first, last, LEFT, width - 6);
    this.y = linear(0, top, HEIGHT - BOTTOM, TOP);
    this.cross = svg("line", { class: "cross", y1: TOP, y2: HEIGHT - BOTTOM, visibility: "hidden" });
    const drawn = svg(
      "svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" },
      this.#grid(width, top),
      this.points.length > 1 ? (this.stacked ? this.#areas() : this.#lines()) : [],
      this.#times(width, first, last),
      this.cross,
    );
    this.canvas.replaceChildren(drawn);
    if (this.#at !== null) this.#read(this.#at);
  }

  #grid(width, top) {
    return [0, 0.5, 1].map((share) => {
      const y = this.y(top * share);
      return svg("g", { class: "grid" },
        svg("line", { x1: LEFT, x2: width - 6, y1: y, y2: y }),
        svg("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, this.format(top * share)));
    });
  }

  #times(width, first, last) {
    if (this.points.length < 2) return [];
    const count = width < 480 ? 2 : 4;
    return Array.from({ length: count + 1 }, (_, at) => {
      const x = LEFT + ((width - 6 - LEFT) * at) / count;
      const anchor = at === 0 ? "start" : at === count ? "end" : "middle";
      return svg("text", { class: "time", x, y: HEIGHT - 5, "text-anchor": anchor }, this.time(first + ((last - first) * at) / count));
    });
  }

  #areas() {
    const floor = this.points.map(() => 0);
    return this.series.map(({ name }) => {
      const lower = this.points.map((point, at) => `${this.x(point.at).toFixed(1)},${this.y(floor[at]).toFixed(1)}`);
      this.points.forEach((point, at) => {
        floor[at] += point.values[name] ?? 0;
      });
      const upper = this.points.map((point, at) => `${this.x(point.at).toFixed(1)},${this.y(floor[at]).toFixed(1)}`);
      return svg("polygon", { data: { outcome: name }, points: [...upper, ...lower.reverse()].join(" ") });
    });
  }

  #lines() {
    return this.series.map(({ name }) => {
      const points = this.points.filter((each) => each.values[name] !== null && each.values[name] !== undefined);
      const places = points.map((each) => `${this.x(each.at).toFixed(1)},${this.y(each.values[name]).toFixed(1)}`);
      return svg("polyline", { data: { line: name }, points: places.join(" "), fill: "none" });
    });
  }

  #point(event) {
    if (this.points.length === 0 || this.x === undefined) return;
    const left = event.clientX - this.canvas.getBoundingClientRect().left;
    const distances = this.points.map((each) => Math.abs(this.x(each.at) - left));
    this.#read(distances.indexOf(Math.min(...distances)));
  }

  #key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || this.points.length === 0) return;
    event.preventDefault();
    const from = this.#at ?? this.points.length;
    this.#read(Math.max(0, Math.min(this.points.length - 1, from + step)));
  }

  #read(at) {
    this.#at = at;
    const point = at === null ? this.points.at(-1) : this.points[at];
    for (const { name } of this.series) {
      const value = point?.values[name];
      this.values.get(name).textContent = value === undefined || value === null ? "–" : this.format(value);
    }
    this.when.textContent = point === undefined ? "" : at === null ? "now" : this.time(point.at);
    if (point !== undefined) {
      const read = this.series.map(({ name, label }) => `${label} ${this.values.get(name).textContent}`).join(", ");
      this.canvas.setAttribute("aria-label", `${this.said}; ${this.when.textContent}: ${read}`);
    }
    if (this.cross === undefined) return;
    this.cross.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at !== null && point !== undefined) {
      this.cross.setAttribute("x1", this.x(point.at));
      this.cross.setAttribute("x2", this.x(point.at));
    }
  }
}
