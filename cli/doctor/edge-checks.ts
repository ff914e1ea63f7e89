import { ERRORS } from "../../contract/errors";
import { isLoopback } from "../../kit/check/http-client";
import { judgeCertificate } from "./certificates";
import { judgeClock, leastSkewMs } from "./clocks";
import { fail, ok, skipped, warn, type Finding } from "./finding";
import type { HttpAnswer, Probed } from "./probe-http";

// The checks of the address for bridges. These checks judge what a server answered, and do no I/O.

const PAGE = "docs/doctor.md#edge";
/** Maximum number of characters that a finding shows of a header from an unknown server. */
const SHOWN_MAX = 60;

/** Judges the answer to an unsigned request for a workspace that does not exist. `at` names the server. */
export function judgeEdgeAnswer(at: string, answer: Probed): Finding {
  if ("failed" in answer) {
    return fail("edge", `${at} does not answer: ${answer.failed}`, {
      fix: "check the address, the DNS records, the firewall, and that the proxy runs",
      page: PAGE,
    });
  }
  const { status, headers } = answer;
  const said = contractMessage(answer);
  if (status === ERRORS.notFound.status && said === ERRORS.notFound.message) {
    return ok("edge", `an edge answers at ${at}`);
  }
  if (status === ERRORS.unavailable.status && said === ERRORS.unavailable.message) {
    return fail("edge", `${at} answers ${status}: the edge reaches no core, or the proxy reaches no edge`, {
      fix: "check that core and Redis run, and read the reason at the edge's /ready",
      page: "docs/troubleshooting.md#408-5xx-or-no-answer",
    });
  }
  if (status >= 300 && status < 400) {
    return fail(
      "edge",
      `${at} answers with a redirect (${status} to ${shown(headers.location)}), which bridges do not follow`,
      {
        fix: "use the address to which it leads, or remove the redirect",
        page: PAGE,
      },
    );
  }
  if (status === 502 || status === 503 || status === 504) {
    return fail(
      "edge",
      `the proxy at ${at} answers ${status} by itself${server(answer)}: it reaches no edge`,
      {
        fix: "check that an edge runs, and the address to which the proxy forwards",
        page: PAGE,
      },
    );
  }
  return fail("edge", `something other than an edge answers at ${at}: ${status}${server(answer)}`, {
    fix: "let the proxy forward /hooks/ to EDGE_LISTEN with an unchanged path, and without a sign-in",
    page: PAGE,
  });
}

/**
 * Judges the answer to the largest request that the contract allows. `judgeEdgeAnswer` has already accepted the answer
 * to a small request.
 */
export function judgeSizes(at: string, answer: Probed): Finding {
  const advice = {
    fix: "raise the proxy's limits: 64 KB for a body, and 16 KB for all headers",
    page: "docs/doctor.md#sizes",
  };
  if ("failed" in answer)
    return fail("edge-sizes", `${at} does not answer a large request: ${answer.failed}`, advice);
  if (contractMessage(answer) === ERRORS.notFound.message) {
    return ok("edge-sizes", "a body of 64 KB and headers of 12 KB reach the edge");
  }
  return fail(
    "edge-sizes",
    `${at} answers ${answer.status}${server(answer)} to a body of 64 KB with headers of 12 KB`,
    advice,
  );
}

/** Judges the certificate of a web server; `check` is e.g. "edge-certificate". */
export function judgeWebTls(check: string, url: URL, answer: Probed, nowMs: number): Finding {
  if (url.protocol === "http:") {
    if (isLoopback(url)) return skipped(check, `${url.host} is on this machine, without TLS`);
    return warn(check, `${url.origin} has no TLS: everybody on the way can read and change what is sent`, {
      fix: "put a proxy with a certificate in front, and use the https address",
      page: "docs/doctor.md#certificates",
    });
  }
  if (!("failed" in answer)) {
    return answer.tls === undefined
      ? skipped(check, "the connection had no handshake")
      : judgeCertificate(check, url.host, answer.tls, nowMs);
  }
  if (!/^(?:ERR_SSL|EPROTO|ECONNRESET)/.test(answer.code)) {
    return skipped(check, `there is no connection to ${url.host}`);
  }
  return fail(check, `there is no TLS handshake with ${url.host}: ${answer.failed}`, {
    fix: "check that the proxy speaks TLS at this port",
    page: "docs/doctor.md#certificates",
  });
}

/** Judges the clock of the machine that answered, by its Date header. */
export function judgeWebClock(at: string, answer: Probed): Finding {
  if ("failed" in answer) return skipped("edge-clock", `${at} does not answer`);
  const date = Date.parse(answer.headers.date ?? "");
  if (Number.isNaN(date)) return skipped("edge-clock", `${at} sends no Date header`);
  // The header has whole seconds.
  const theirs = { fromMs: date, toMs: date + 999 };
  return judgeClock(
    "edge-clock",
    at,
    leastSkewMs(theirs, { fromMs: answer.sentAtMs, toMs: answer.answeredAtMs }),
  );
}

/** Judges what the server of an https address answers over plain HTTP. */
export function judgePlainHttp(host: string, answer: Probed): Finding {
  const advice = {
    fix: "let the proxy redirect to https, or close the port",
    page: "docs/doctor.md#certificates",
  };
  if ("failed" in answer) return ok("edge-http", `${host} is closed without TLS`);
  const isSecure =
    answer.status >= 300 && answer.status < 400 && /^https:/i.test(answer.headers.location ?? "");
  if (isSecure) return ok("edge-http", `${host} redirects to https`);
  if (contractMessage(answer) === undefined) return ok("edge-http", `no edge answers at ${host} without TLS`);
  return warn("edge-http", `an edge answers at http://${host} without TLS too`, advice);
}

/** Returns the message of an answer that has the form of the contract's errors, or undefined for any other answer. */
function contractMessage({ status, body }: HttpAnswer): string | undefined {
  try {
    const parsed = JSON.parse(body) as { readonly statusCode?: unknown; readonly message?: unknown } | null;
    return parsed?.statusCode === status && typeof parsed.message === "string" ? parsed.message : undefined;
  } catch {
    return undefined;
  }
}

function server({ headers }: HttpAnswer): string {
  return headers.server === undefined ? "" : ` (${shown(String(headers["server"]))})`;
}

function shown(text: string | undefined): string {
  return (text ?? "nowhere").slice(0, SHOWN_MAX);
}
