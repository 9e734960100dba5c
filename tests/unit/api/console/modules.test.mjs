// The console's pure modules, by node's own test runner.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";

const modules = `${process.env.CONSOLE_MODULES}/`;
const { EventCutter } = await import(`${modules}event_cutter.js`);
const { HostPaces } = await import(`${modules}host_paces.js`);
const { ago, bytes, count, counted, duration, milliseconds, percent, rate, stamp } = await import(`${modules}words.js`);
const { link, path, place } = await import(`${modules}routing.js`);
const { binned, niceTop, ratesOf, thinned } = await import(`${modules}scales.js`);
const { emptyField, emptyRule, merged, specificationOf } = await import(`${modules}draft/draft.js`);
const { curl } = await import(`${modules}curl.js`);
const { kindOf, limitsOf, modelsOf, routesByTag } = await import(`${modules}documents/schemas.js`);
const { freshShare, inTime, lateBegin, nextRun } = await import(`${modules}job/run_words.js`);
const { yaml } = await import(`${modules}draft/yaml.js`);

const FORM = {
  name: "", seeds: "https://a.example/\n\n https://b.example/ ", domains: "", include: "", exclude: "", maxPages: "",
  maxDepth: "", maxPagesPerHost: "", followLinks: true, sitemaps: true, delay: "", concurrency: "", robots: true,
  rules: [], more: {},
};

test("a stream cut anywhere gives the same events", () => {
  const stream = 'event: progress\r\ndata: {"a": 1}\r\n\r\n: still here\n\nevent: end\ndata: {"b":\ndata: 2}\n\n';
  const whole = [{ name: "progress", data: '{"a": 1}' }, { name: "end", data: '{"b":\n2}' }];
  for (let at = 0; at <= stream.length; at += 1) {
    const cutter = new EventCutter();
    assert.deepEqual([...cutter.feed(stream.slice(0, at)), ...cutter.feed(stream.slice(at))], whole, `cut at ${at}`);
  }
});

test("an address leads to what it was made of, whatever it holds", () => {
  for (const text of ["a/b", "?q=#x", "ü %", "https://a.example/?a=b&c#d"]) {
    assert.deepEqual(place(link(["jobs", text], { q: text })), { path: ["jobs", text], query: { q: text } });
  }
  assert.equal(link(["logs"], { q: "", job: null, host: undefined }), "#/logs");
  assert.equal(path`/v1/jobs/${"a/../b"}/audit`, "/v1/jobs/a%2F..%2Fb/audit");
  assert.deepEqual(place("#/jobs/%E0%A4%A"), { path: ["jobs", "%E0%A4%A"], query: {} });
});

test("numbers are as people read them", () => {
  assert.deepEqual([count(12_034), count(null), counted(1, "page"), counted(2, "page"), rate(0.42), rate(1204.2)],
    ["12,034", "–", "1 page", "2 pages", "0.4", "1,204"]);
  assert.deepEqual([duration(4), duration(200), duration(7500), duration(3600), duration(null)],
    ["4 s", "3 min 20 s", "2 h 5 min", "1 h", "–"]);
  assert.deepEqual([milliseconds(0), milliseconds(0.2), milliseconds(340), milliseconds(1200)], ["0 ms", "< 1 ms", "340 ms", "1.2 s"]);
  assert.deepEqual([bytes(12), bytes(12_345), percent(0.999), percent(1)], ["12 bytes", "12.3 KB", "99 %", "100 %"]);
  assert.deepEqual([ago(0, 240_000), ago(20_000, 0), ago(0, 1000), ago(1000, 0)], ["4 min ago", "in 20 s", "just now", "in 1 s"]);
  assert.deepEqual([rate(0), rate(8), rate(2.5), rate(12.4)], ["0", "8", "2.5", "12"]);
  assert.match(stamp(Date.parse("2026-03-01T12:00:00Z")), /^2026-0[23]-\d\d \d\d:\d\d:00 UTC([+-]\d\d:\d\d)?$/);
});

test("rates are what happened between readings, never below nothing, and thinning keeps the total", () => {
  const points = Array.from({ length: 501 }, (_, at) => [at * 2000, at * 6, 0]);
  const rates = ratesOf(["at_ms", "fetched", "failed"], points);
  const total = (list) => list.reduce((sum, each) => sum + each.values.fetched * each.seconds, 0);
  assert.equal(rates[0].values.fetched, 3);
  assert.equal(thinned(rates, 120).length <= 120, true);
  assert.equal(Math.round(total(thinned(rates, 120))), 3000);
  assert.equal(ratesOf(["at_ms", "failed"], [[0, 5], [1000, 0]])[0].values.failed, 0);
  assert.deepEqual([niceTop(0), niceTop(7), niceTop(108), niceTop(1001)], [1, 8, 120, 1200]);
});

test("bars over time hold every event once", () => {
  const moments = Array.from({ length: 4000 }, (_, at) => ({ at: at * 60_000, count: 2 }));
  const bins = binned(moments, 60, 60_000);
  assert.equal(bins.length <= 60, true);
  assert.equal(bins.reduce((sum, each) => sum + each.count, 0), 8000);
  assert.deepEqual(binned([], 60, 1000), []);
  const seconds = binned([{ at: 7000, count: 1 }, { at: 9000, count: 2 }], 60, 1000);
  assert.deepEqual(seconds.map((each) => each.count), [1, 0, 2]);
});

test("the pace of a host is what two readings differ by; one that rests has none", () => {
  const paces = new HostPaces();
  const host = (fetches, last) => ({ key: "a.example", fetches, last_fetched_at_ms: last });
  paces.note([host(100, 1000)], 1000);
  assert.equal(paces.of(host(100, 1000), 1000), null);
  paces.note([host(120, 6000)], 6000);
  assert.equal(paces.of(host(120, 6000), 6000), 4);
  assert.equal(paces.of(host(120, 6000), 60_000), 0);
  paces.note([host(3, 7000)], 7000);
  assert.equal(paces.of(host(3, 7000), 7000), null);
});

test("a form says only what was changed", () => {
  assert.deepEqual(specificationOf(FORM), { seeds: ["https://a.example/", "https://b.example/"] });
  const rule = { ...emptyRule(), type: "book", each: "article", fields: [{ ...emptyField("price", ".price"), type: "decimal", required: true, key: true }] };
  assert.deepEqual(specificationOf({ ...FORM, maxPages: "50", robots: false, rules: [rule], more: { fetch: { retries: 0 } } }), {
    seeds: ["https://a.example/", "https://b.example/"],
    scope: { max_pages: 50 },
    politeness: { respect_robots: false },
    extract: [{ type: "book", each: "article", key: ["price"], fields: { price: { css: ".price", type: "decimal", required: true } } }],
    fetch: { retries: 0 },
  });
  assert.deepEqual(merged({ a: { b: 1, c: 2 } }, { a: { b: null, d: 3 } }), { a: { c: 2, d: 3 } });
});

const HARD = {
  plain: "books", number: "12", word: "yes", empty: "", css: "&", hash: "#x: y", quote: "it's \"so\"", lines: "a\nb", colon: "a: b",
  list: ["a", "no"], none: [], nothing: null, deep: [{ a: [{ b: 1 }], c: {} }], "odd key": { x: "ü" },
  long: "a name of more characters than a line has", "a key of more characters than a short line has": {}, [`${"k".repeat(60)}`]: [],
  rules: [{ type: "x", match: "https://books\\.example/catalogue/category/.*", fields: { a: { css: "h1" } } }],
  lists: [[1, 2], [], [{}], [["l".repeat(60)]]], many: ["1", "2", "3", "4", "5", "6", "- 7", "8: 9"], numbers: [1e21, -2e-7, 1.5e-9, -0.5, 10],
  unseen: "\u0000\u007f\u0085\u00a0\u200b\u2028\u2029\u202e\ufeff\ufffe\uffff", emoji: "👩‍💻", "\u2028": "${env:X}", shell: "'; $(touch x) `y` \"$HOME\" \\' !! %",
  words: ["~", "null", "NaN", ".inf", "0x1f", "0o7", "1_000", "1:30", "2001-01-01", "=", "<<", "*a", "&a", "!t", "%d", "@x", "`", "? a", "- a", "a #b", "a:", "[a", "{a", "a,b", " a", "a ", "\t", "On", "y"],
};

const HARD_ASKED = { method: "POST", address: "http://127.0.0.1:8000/v1/jobs", body: HARD, withKey: true };

test("what is shown of a job is written down for those that read it back", () => {
  writeFileSync(process.env.CONSOLE_SHOWN, JSON.stringify({ meant: HARD, yaml: yaml(HARD), nothing: yaml({}), curl: curl(HARD_ASKED) }));
});

test("no character of what is copied is unseen", () => {
  for (const text of [yaml(HARD), curl(HARD_ASKED)]) {
    assert.equal(/[\u007f-\u00a0\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/.test(text), false);
  }
});

test("a route's address and text stay one word each for a shell", () => {
  assert.equal(curl({ method: "GET", address: "http://a.example/v1/jobs/{job}" }), "curl -X GET 'http://a.example/v1/jobs/{job}'\n");
  assert.equal(curl({ method: "POST", address: "http://a.example/x", body: "a'b\n", kind: "text/plain" }),
    "curl -X POST http://a.example/x \\\n  -H 'content-type: text/plain' \\\n  --data-binary 'a'\\''b\n'\n");
});

test("a schema is said in words, and a model that leads to itself ends", () => {
  const model = { $ref: "#/components/schemas/Seed" };
  const seeds = { type: "array", items: { anyOf: [{ type: "string", maxLength: 9 }, model] } };
  assert.deepEqual([kindOf(seeds), modelsOf(seeds)], ["list of string or Seed", ["Seed"]]);
  assert.deepEqual([kindOf({ enum: ["a", 1] }), kindOf({ const: 1 }), kindOf({}), kindOf({ type: "object", additionalProperties: model })],
    ["a | 1", "1", "anything", "map of Seed"]);
  assert.equal(limitsOf({ anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }], default: 100 }), "minimum 1, default 100");
  assert.equal(limitsOf({ type: "string", default: null }), "");
  assert.deepEqual(routesByTag({ "/a": { get: { tags: ["x"] }, post: {} } }), [
    { tag: "x", routes: [{ method: "GET", path: "/a", operation: { tags: ["x"] } }] },
    { tag: "others", routes: [{ method: "POST", path: "/a", operation: {} }] },
  ]);
});

test("of runs is said which is next or under way, whether it began late, and whether it was in time", () => {
  const ended = { run: 1, began_at_ms: 0, ended_at_ms: 9_000, deadline_ms: 3_000, late_ms: 300_000, met: false };
  const running = { ...ended, run: 2, ended_at_ms: null, met: null, late_ms: 5_000 };
  const next = { data: [ended], next_run: 2, next_run_at_ms: 3_660_000 };

  assert.match(nextRun(next, 60_000), /^Run 2 begins .* \(in 1 h\)$/);
  assert.equal(nextRun(next, 4_000_000), "Run 2 is due");
  assert.match(nextRun({ ...next, data: [running, ended] }, 0), /^Run 2 is under way since /);
  assert.match(nextRun({ data: [ended], next_run: null, next_run_at_ms: null }, 0), /^None/);
  assert.deepEqual([lateBegin(ended), lateBegin(running)], ["5 min late", ""]);
  assert.deepEqual([inTime(ended), inTime({ ...ended, met: true }), inTime({ ...ended, deadline_ms: null, met: null })],
    ["6 s too late", "in time", "–"]);
  assert.match(inTime(running), /^by /);
  assert.equal(freshShare({ items: 0, share: null, oldest_age_s: null }, "8 hours"), "There are no items yet.");
  assert.equal(freshShare({ items: 9, share: 0.999, oldest_age_s: 7_200 }, "8 hours"),
    "99 % of the items were seen within 8 hours; the one not seen for longest, 2 h ago.");
});
