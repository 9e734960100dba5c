/** Numbers, times and sizes as people read them. Pure. */

const WHOLE = new Intl.NumberFormat("en");
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** 12,034. */
export function count(number) {
  return number === null || number === undefined ? "–" : WHOLE.format(number);
}

/** 12K, for narrow places. */
export function shortCount(number) {
  return number < 10_000 ? WHOLE.format(number) : SHORT.format(number);
}

/** "1 page", "2 pages". */
export function counted(number, one, many = `${one}s`) {
  return `${WHOLE.format(number)} ${number === 1 ? one : many}`;
}

/** 0.4, 8, 12, 1,204. */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return "–";
  return perSecond < 10 ? String(Number(perSecond.toFixed(1))) : WHOLE.format(Math.round(perSecond));
}

/** 4 s, 3 min 20 s, 2 h 5 min, 3 d 4 h. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  const parts = [[86_400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => whole >= size);
  const [size, unit] = parts[first];
  const next = parts[first + 1];
  const rest = next === undefined ? 0 : Math.floor((whole % size) / next[0]);
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next[1]}` : ""}`;
}

/** 340 ms, 1.2 s. */
export function milliseconds(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms === 0) return "0 ms";
  if (ms < 1) return "< 1 ms";
  return ms < 1000 ? `${Math.round(ms)} ms` : duration(ms / 1000);
}

/** 12.3 KB. */
export function bytes(size) {
  if (size === null || size === undefined) return "–";
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  let at = 0;
  while (size >= 1000 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return at === 0 ? `${size} bytes` : `${size.toPrecision(3)} ${units[at]}`;
}

/** "just now", "4 min ago", "in 20 s"; what is to come is never "just now". */
export function ago(atMs, nowMs) {
  const seconds = (nowMs - atMs) / 1000;
  if (seconds >= 0 && seconds < 5) return "just now";
  const size = coarse(Math.abs(seconds));
  return seconds > 0 ? `${size} ago` : `in ${size}`;
}

function coarse(seconds) {
  for (const [size, unit] of [[86_400, "d"], [3600, "h"], [60, "min"]]) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit}`;
  }
  return `${Math.max(1, Math.round(seconds))} s`;
}

const pad = (number, width = 2) => String(number).padStart(width, "0");

/** Local time: 14:03:22, with the date when it is another day. */
export function moment(atMs, nowMs) {
  const at = new Date(atMs);
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return new Date(nowMs).toDateString() === at.toDateString() ? time : `${day(atMs)} ${time}`;
}

/** Local date and time with its zone: 2026-03-01 14:03:22 UTC+01:00. */
export function stamp(atMs) {
  const at = new Date(atMs);
  return `${day(atMs)} ${moment(atMs, atMs)} ${offset(-at.getTimezoneOffset())}`;
}

function offset(minutes) {
  const size = Math.abs(minutes);
  return minutes === 0 ? "UTC" : `UTC${minutes < 0 ? "-" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

/** Local date: 2026-03-01. */
export function day(atMs) {
  const at = new Date(atMs);
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

/** 0.25 → 25 %; never 100 % before it is all. */
export function percent(share) {
  return `${share >= 1 ? 100 : Math.min(99, Math.floor(share * 100))} %`;
}
