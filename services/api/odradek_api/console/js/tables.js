/** Tables that hold one page of a long list: the browser never has more rows than a person looks at. */

import { el } from "./elements.js";
import { broken, loading } from "./parts.js";

/** `columns`: [{name, cell(item), kind: "number"?}]; a table of these items, in a frame that scrolls by itself. */
export function table(caption, columns, items) {
  const head = el("tr", {}, columns.map((each) => el("th", { scope: "col", class: each.kind ?? "" }, each.name || el("span", { class: "visually-hidden" }, "Actions"))));
  const rows = items.map((item) =>
    el("tr", {}, columns.map((each) => el("td", { class: each.kind ?? "", data: { label: each.name } }, each.cell(item)))),
  );
  return framed(caption, el("thead", {}, head), el("tbody", {}, rows));
}

/** The frame of a table. */
export function framed(caption, head, body) {
  return el(
    "div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": caption },
    el("table", {}, el("caption", { class: "visually-hidden" }, caption), head, body),
  );
}

/**
 * A list behind cursors: pages forward by what the API gives, and back by what it gave before.
 * `read(cursor)` resolves to {data, next_cursor}; `show(page)` makes the element of a page; `first` a cursor to begin.
 */
export class PagedList {
  #read;
  #show;
  #signal;
  #cursors = [null];
  #place = el("div", { class: "page" });
  #back = el("button", { onclick: () => this.#turn(-1) }, "Newer");
  #on = el("button", { onclick: () => this.#turn(1) }, "Older");
  #where = el("span", { class: "soft small", role: "status" });

  constructor({ read, show, signal, words = ["Back", "More"], what = "the list" }) {
    this.#read = read;
    this.#show = show;
    this.#signal = signal;
    this.what = what;
    this.#back.textContent = words[0];
    this.#on.textContent = words[1];
    this.pager = el("nav", { class: "pager", "aria-label": `Pages of ${what}`, hidden: true }, this.#back, this.#on, this.#where);
    this.element = el("div", {}, this.#place, this.pager);
  }

  /** Reads the page again where it stands; from the start with `anew`. */
  async load({ anew = false, quietly = false } = {}) {
    if (anew) this.#cursors = [null];
    if (!quietly) this.#place.replaceChildren(loading(this.what));
    try {
      const page = await this.#read(this.#cursors.at(-1));
      if (this.#signal.aborted) return;
      this.#place.replaceChildren(this.#show(page, this.#cursors.length - 1));
      this.#turnable(page.next_cursor);
    } catch (error) {
      if (this.#signal.aborted || error.name === "AbortError") return;
      this.#place.replaceChildren(broken(error, () => this.load()));
    }
  }

  #turnable(next) {
    this.next = next;
    this.#back.disabled = this.#cursors.length === 1;
    this.#on.disabled = next === null || next === undefined;
    this.pager.hidden = this.#back.disabled && this.#on.disabled;
    this.#where.textContent = `Page ${this.#cursors.length}`;
  }

  async #turn(step) {
    if (step > 0) this.#cursors.push(this.next);
    else this.#cursors.pop();
    await this.load({ quietly: true });
    this.#place.scrollIntoView({ block: "nearest" });
  }
}
