/** How fast hosts are asked, from two readings of what is known of each. Pure. */

const QUIET_MS = 30_000;
const LONGEST_MS = 30_000;

export class HostPaces {
  #readings = new Map();

  /** Takes a reading of these hosts at a moment. */
  note(hosts, nowMs) {
    for (const { key, fetches } of hosts) {
      const kept = (this.#readings.get(key) ?? []).filter((each) => nowMs - each.at <= LONGEST_MS && each.fetches <= fetches);
      this.#readings.set(key, [...kept, { at: nowMs, fetches }]);
    }
  }

  /** Fetches a second lately; 0 for a host that rests, null while there is one reading only. */
  of({ key, last_fetched_at_ms: last }, nowMs) {
    if (!last || nowMs - last > QUIET_MS) return 0;
    const readings = this.#readings.get(key) ?? [];
    const [first, newest] = [readings[0], readings.at(-1)];
    return readings.length < 2 ? null : (newest.fetches - first.fetches) / ((newest.at - first.at) / 1000);
  }
}
