/**
 * Server-Sent Events read with fetch, so that the key travels in a header. A stream that breaks (the API restarts, the
 * machine sleeps) is opened again, sooner at first and later with patience, until its signal is aborted.
 */

import { EventCutter } from "./event_cutter.js";
import { Away, Refusal, request } from "./gateway.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8000;

/**
 * Calls `heard(name, data)` for each event until the signal is aborted or `heard` gives "enough"; `standing(state)` is
 * told "live", "away" or "over".
 */
export async function listen(path, { query, signal, heard, standing = () => {} }) {
  let wait = FIRST_WAIT_MS;
  while (!signal.aborted) {
    try {
      const body = await request("GET", path, { query, signal, answer: (response) => response.body });
      standing("live");
      wait = FIRST_WAIT_MS;
      if ((await readAll(body, heard)) === "enough") return standing("over");
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof Refusal && error.status < 500 && error.status !== 429) throw error;
      if (!(error instanceof Away || error instanceof Refusal || error instanceof TypeError)) throw error;
    }
    standing("away");
    await pause(wait, signal);
    wait = Math.min(LONGEST_WAIT_MS, wait * 2);
  }
  return undefined;
}

async function readAll(body, heard) {
  const cutter = new EventCutter();
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return "cut off";
    for (const event of cutter.feed(value)) {
      if (heard(event.name, JSON.parse(event.data)) === "enough") {
        await reader.cancel();
        return "enough";
      }
    }
  }
}

/** Resolves after so long, or as soon as the signal is aborted. */
export function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

/** Calls `look()` now and every so often while the page is seen, until the signal is aborted. */
export async function every(ms, signal, look) {
  while (!signal.aborted) {
    if (!document.hidden) await look();
    await pause(ms, signal);
  }
}
