/** What the words of the closed lists mean, and what one can do. Pure. */

export const OUTCOMES = ["fetched", "not_modified", "redirected", "skipped", "failed"];

export const OUTCOME_NAMES = {
  fetched: "Fetched", not_modified: "Not modified", redirected: "Redirected", skipped: "Skipped", failed: "Failed",
  pending: "Pending",
};

const MEANINGS = {
  dns: "The host name could not be resolved.",
  connect: "The host did not accept a connection.",
  tls: "The certificate or the encryption was not acceptable.",
  timeout_connect: "No connection within 10 s.",
  timeout_read: "The server stopped sending for too long.",
  timeout_total: "The answer took longer than the job's timeout.",
  too_slow: "The answer came, but too slowly to wait for.",
  reset: "The connection broke off.",
  protocol: "What came back was no valid HTTP.",
  decode: "The body could not be decompressed.",
  bomb: "The body grew out of all proportion when it was decompressed.",
  redirect_limit: "More than ten redirects in a row.",
  redirect_loop: "The redirects lead in a circle.",
  soft_blocked: "The site answered with a page that says no: a challenge, a captcha or a block.",
  private_address: "The name leads to a private network, which is closed unless it is opened for this installation.",
  proxy: "The proxy did not do its part.",
  robots_unavailable: "robots.txt could not be read for so long that the URL was given up.",
  poison: "The page or message could not be processed; it is kept as a dead letter.",
  robots: "robots.txt does not allow it.",
  expired: "The job's time was over.",
  cancelled: "The job was cancelled.",
  budget_pages: "The job had its pages (max_pages).",
  budget_host: "The host had its pages (max_pages_per_host).",
  content_type: "Not one of the content types that the job accepts.",
  trap: "It looks like a space without end, such as a calendar.",
  host_blocked: "The host is blocked by a person.",
  not_due: "It has stayed the same for so long that this run leaves it out.",
  scheme: "Not http or https.",
  scope: "Outside of the job's domains.",
  excluded: "An exclude pattern matches, or no include pattern does.",
  extension: "A file type that is not crawled.",
  depth: "Deeper than max_depth.",
  nofollow: "The page asks not to follow this link.",
  too_long: "Longer than 2,083 characters.",
  malformed: "Not a URL.",
  late: "It arrived after the job was over.",
};

/** One sentence about a reason; empty for one that explains itself. */
export function meaning(reason) {
  const status = /^http_(\d{3})$/.exec(reason ?? "");
  if (status !== null) return statusMeaning(Number(status[1]));
  return MEANINGS[reason] ?? "";
}

function statusMeaning(status) {
  if (status === 404 || status === 410) return "The server says that there is no such page.";
  if (status === 401 || status === 403) return "The server does not let this crawler in.";
  if (status === 429) return "The server asks for fewer requests.";
  if (status >= 500) return "The server failed.";
  return `The server answered ${status}.`;
}

export const STATE_NAMES = {
  waiting: "Waiting", running: "Running", paused: "Paused", complete: "Complete", cancelled: "Cancelled",
  expired: "Expired", failed: "Failed",
};

/** Nothing leads back from these. */
export const CLOSED = new Set(["cancelled", "expired"]);

/** The job does nothing more by itself. */
export const FINAL = new Set(["complete", "failed", "cancelled", "expired"]);
