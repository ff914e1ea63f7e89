import { isLoopback } from "../../kit/check/http-client";
import { fail, ok, skipped, type Finding } from "./finding";
import type { Probed } from "./probe-http";

// The checks of the dashboard. These checks judge what a server answered, and do no I/O.

/** A header that every response of the dashboard's API contains. */
const OWN_HEADER = "x-dashboard-script";
const PAGE = "docs/doctor.md#dashboard";

/** Judges the answer of the dashboard to a request without a session. */
export function judgeDashboard(url: URL, answer: Probed): Finding {
  if ("failed" in answer) {
    return fail("dashboard", `${url.origin} does not answer: ${answer.failed}`, {
      fix: "check the address, DASHBOARD_LISTEN, the firewall, and that the proxy runs",
      page: PAGE,
    });
  }
  if (answer.headers[OWN_HEADER] !== undefined)
    return ok("dashboard", `the dashboard answers at ${url.origin}`);
  return fail("dashboard", `something other than the dashboard answers at ${url.origin}: ${answer.status}`, {
    fix: "let the proxy forward all paths to DASHBOARD_LISTEN",
    page: PAGE,
  });
}

/** Judges the cookie with which the dashboard ends a session. The cookie of a sign-in has the same attributes. */
export function judgeCookie(url: URL, answer: Probed): Finding {
  const check = "dashboard-cookie";
  if ("failed" in answer || answer.headers[OWN_HEADER] === undefined) {
    return skipped(check, "the dashboard does not answer");
  }
  const [cookie = ""] = answer.headers["set-cookie"] ?? [];
  if (url.protocol === "http:") {
    return isLoopback(url)
      ? skipped(check, "the dashboard is on this machine, without TLS")
      : skipped(check, "a cookie without TLS cannot be secure: see dashboard-certificate");
  }
  if (/;\s*secure\b/i.test(cookie)) return ok(check, "browsers send the cookie of a session only over https");
  return fail(
    check,
    "the dashboard does not know that browsers use https, so its cookie is sent without TLS too",
    {
      fix: "set TRUST_PROXY of the dashboard to the proxy's address, and let the proxy set X-Forwarded-Proto",
      page: PAGE,
    },
  );
}
