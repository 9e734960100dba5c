/** The console: reads the address, shows the view that belongs to it, and stops the one before. */

import { buildRail } from "./shell.js";
import { broken } from "./parts.js";
import { onKeyWanted } from "./gateway.js";
import { askForKey } from "./key_dialog.js";
import { place } from "./routing.js";
import { jobsView } from "./views/jobs.js";
import { newJobView } from "./views/new_job.js";
import { jobView } from "./views/job.js";
import { logsView } from "./views/logs.js";
import { urlView } from "./views/url.js";
import { hostsView } from "./views/hosts.js";
import { lettersView } from "./views/letters.js";
import { documentsView } from "./views/documents.js";
import { lostView } from "./views/lost.js";

const main = document.getElementById("main");
const mark = buildRail(document.getElementById("rail"));
let leaving = new AbortController();
let shown = null;

onKeyWanted(askForKey);

/** [part of the rail, view, what must change before it is drawn again]. */
function chosen({ path, query }) {
  const [first, second, third] = path;
  if (first === undefined || (first === "jobs" && second === undefined)) return ["jobs", jobsView, "jobs"];
  if (first === "new") return ["jobs", newJobView, "new"];
  if (first === "jobs") return ["jobs", jobView, `job ${second}`, { job: second, tab: third ?? "overview" }];
  if (first === "url") return ["logs", urlView, `url ${query.job} ${query.url}`];
  if (first === "logs") return ["logs", logsView, "logs"];
  if (first === "hosts") return ["hosts", hostsView, "hosts"];
  if (first === "dead-letters") return ["letters", lettersView, "letters"];
  if (first === "documents") return ["documents", documentsView, "documents"];
  return ["", lostView, "lost"];
}

function show() {
  const where = place(location.hash);
  const [part, view, identity, given = {}] = chosen(where);
  mark(part);
  if (shown !== null && shown.identity === identity && shown.moved !== undefined) {
    shown.moved({ ...given, query: where.query });
    return;
  }
  leaving.abort();
  leaving = new AbortController();
  main.replaceChildren();
  try {
    const made = view({ root: main, query: where.query, signal: leaving.signal, ...given });
    shown = { identity, moved: made?.moved };
  } catch (error) {
    main.replaceChildren(broken(error, show));
    throw error;
  }
  document.title = `${main.querySelector("h1")?.textContent ?? "Jobs"} · Odradek`;
  scrollTo(0, 0);
  if (moved && !main.contains(document.activeElement)) main.focus();
  moved = true;
}

let moved = false;
addEventListener("hashchange", show);

// A browser may keep a page that one has left, its streams open: they are few, so they are let go and opened again.
addEventListener("pagehide", () => leaving.abort());
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  shown = null;
  show();
});
show();
