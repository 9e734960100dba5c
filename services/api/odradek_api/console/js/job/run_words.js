/** What is said of runs. Pure. */

import { ago, duration, percent, stamp } from "../words.js";

// What every run is late by: the scheduler looks, tells all partitions, and begins.
const PUNCTUAL_MS = 60_000;

/** Which run is next, or under way, and when. */
export function nextRun({ next_run: number, next_run_at_ms: atMs, data }, nowMs) {
  const running = data.find((run) => run.ended_at_ms === null);
  if (running !== undefined) return `Run ${running.run} is under way since ${stamp(running.began_at_ms)}`;
  if (number === null || atMs === null) return "None: the job is paused or over";
  return atMs <= nowMs ? `Run ${number} is due` : `Run ${number} begins ${stamp(atMs)} (${ago(atMs, nowMs)})`;
}

/** How late it began; empty: as good as on time. */
export function lateBegin({ late_ms: lateMs }) {
  return lateMs < PUNCTUAL_MS ? "" : `${duration(lateMs / 1000)} late`;
}

/** Whether it was in time for its deadline. */
export function inTime({ deadline_ms: deadlineMs, ended_at_ms: endedMs, met }) {
  if (deadlineMs === null) return "–";
  if (met === null) return `by ${stamp(deadlineMs)}`;
  return met ? "in time" : `${duration((endedMs - deadlineMs) / 1000)} too late`;
}

/** The share of items that are fresh, in a sentence. */
export function freshShare({ items, share, oldest_age_s: oldestS }, span) {
  if (items === 0) return "There are no items yet.";
  return `${percent(share)} of the items were seen within ${span}; the one not seen for longest, ${duration(oldestS)} ago.`;
}
