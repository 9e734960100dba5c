/** From numbers to places on a chart. Pure. */

/** A round number at or above, whose half is round too. */
export function niceTop(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].find((each) => each * power >= value * (1 - 1e-9));
  return step * power;
}

/** Maps [low, high] to [from, to]. */
export function linear(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

/** What happened each second between running totals: [{at, seconds, values: {name: perSecond}}]. */
export function ratesOf(columns, points) {
  const rates = [];
  for (let at = 1; at < points.length; at += 1) {
    const [before, after] = [points[at - 1], points[at]];
    const seconds = Math.max(0.001, (after[0] - before[0]) / 1000);
    const values = {};
    columns.forEach((name, column) => {
      if (column > 0) values[name] = Math.max(0, after[column] - before[column]) / seconds;
    });
    rates.push({ from: before[0], at: after[0], seconds, values });
  }
  return rates;
}

/** At most `most` bins of the same length, each the mean of what falls into it; so that a line can be read. */
export function thinned(rates, most) {
  if (rates.length <= most) return rates;
  const size = Math.ceil(rates.length / most);
  const thin = [];
  for (let start = 0; start < rates.length; start += size) {
    const group = rates.slice(start, start + size);
    const seconds = group.reduce((sum, each) => sum + each.seconds, 0);
    const values = {};
    for (const name of Object.keys(group[0].values)) {
      values[name] = group.reduce((sum, each) => sum + each.values[name] * each.seconds, 0) / seconds;
    }
    thin.push({ from: group[0].from, at: group.at(-1).at, seconds, values });
  }
  return thin;
}

/** Counts by time, known every `everyMs`, in at most `most` bars of a round length: [{from, to, count}], none left out. */
export function binned(moments, most, everyMs) {
  if (moments.length === 0) return [];
  const times = moments.map((each) => each.at);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const sizes = [1, 2, 5, 10, 20, 30, 60, 100].map((times) => times * everyMs);
  const size = sizes.find((each) => Math.floor(last / each) - Math.floor(first / each) < most) ?? Math.ceil((last - first + 1) / most / everyMs) * everyMs;
  const start = Math.floor(first / size) * size;
  const bins = [];
  for (let from = start; from <= last; from += size) bins.push({ from, to: from + size, count: 0 });
  for (const { at, count } of moments) bins[Math.floor((at - start) / size)].count += count;
  return bins;
}
