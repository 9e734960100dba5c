/** Follows one job: its standing from the stream, its ledger from the audit, told to whoever wants to know. */

import { get } from "../gateway.js";
import { listen, pause } from "../streams.js";
import { path } from "../routing.js";

const LEDGER_EVERY_MS = 2000;
const REFUSED_FOR_MS = 8000;

export class Watching {
  #listeners = new Set();
  #signal;
  #read = new AbortController();

  constructor(id, signal) {
    this.id = id;
    this.#signal = signal;
    this.job = null;
    this.ledger = null;
    this.away = false;
    this.gone = false;
    this.refusal = null;
  }

  /** `told(watching)` now, if there is something to tell, and at every change while `signal` lives. */
  on(told, signal = this.#signal) {
    this.#listeners.add(told);
    signal.addEventListener("abort", () => this.#listeners.delete(told), { once: true });
    if (this.job !== null) told(this);
  }

  /** Reads the job and follows it; refused when there is no such job. */
  async start() {
    this.job = await get(path`/v1/jobs/${this.id}`, { signal: this.#signal });
    this.ledger = await this.#audit();
    this.#tell();
    this.follow();
  }

  /** Follows the job, also again after something reopened it. */
  follow() {
    this.#read.abort();
    this.#read = new AbortController();
    const { signal } = this.#read;
    this.#signal.addEventListener("abort", () => this.#read.abort(), { once: true });
    listen(path`/v1/jobs/${this.id}/events`, {
      signal,
      heard: (name, data) => this.#heard(name, data),
      standing: (now) => {
        this.away = now === "away";
        if (now === "live") this.refusal = null;
        this.#tell();
      },
    }).catch((error) => this.#refused(error, signal));
  }

  /** The job is gone only when the API says so; whatever else it says is shown, and it is asked again later. */
  async #refused(error, signal) {
    this.gone = error.status === 404 || error.status === 410;
    this.refusal = this.gone ? null : error.message;
    this.#tell();
    if (this.gone) return;
    await pause(REFUSED_FOR_MS, signal);
    if (!signal.aborted) this.follow();
  }

  /** Takes an answer of the API that shows the job newer than the stream does. */
  took(job) {
    this.job = job;
    this.#tell();
    this.follow();
  }

  #heard(name, data) {
    if (name === "end") {
      this.gone = data.state === "purged";
      this.#count(true);
      return "enough";
    }
    this.job = data;
    this.#tell();
    this.#count(false);
    return undefined;
  }

  /** The ledger, at most every two seconds, and once more at the end. */
  async #count(last) {
    if (this.counting && !last) return;
    this.counting = true;
    try {
      this.ledger = await this.#audit();
      this.#tell();
      await pause(LEDGER_EVERY_MS, this.#signal);
    } catch {
      // The stream's own state says that the API is away; the ledger stays as it was.
    } finally {
      this.counting = false;
    }
  }

  #audit() {
    return get(path`/v1/jobs/${this.id}/audit`, { signal: this.#signal });
  }

  #tell() {
    if (this.#signal.aborted) return;
    for (const told of this.#listeners) told(this);
  }
}
