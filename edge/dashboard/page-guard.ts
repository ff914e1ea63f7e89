import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ErrorAnswer } from "../public/error-body";
import { sendError } from "../public/public-listener";

/**
 * The Content Security Policy (CSP), against XSS and clickjacking. Allows only resources from this origin, and forbids
 * inline scripts, inline styles and framing.
 */
const POLICY_OF_ALL = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];
const POLICY = [
  ...POLICY_OF_ALL,
  "img-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");
/** The policy of the API reference: it permits that Swagger UI sets `innerHTML` and loads icons from `data:` URLs. */
export const REFERENCE_POLICY = [...POLICY_OF_ALL, "img-src 'self' data:"].join("; ");

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
};
/** HSTS: the browser uses only HTTPS for a year. */
const HTTPS_FOR_A_YEAR = "max-age=31536000";

/**
 * Returns a function that adds the security headers to an answer. If the demo's chat opens the dashboard, the chat and
 * the dashboard find each other's windows by name. Browsers permit this only without a `Cross-Origin-Opener-Policy`.
 */
export function secureHeaders({ isOpenedByChat }: { readonly isOpenedByChat: boolean }) {
  const policy = isOpenedByChat ? { "cross-origin-opener-policy": "unsafe-none" } : {};
  const headers = { ...HEADERS, ...policy };
  return (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    if (request.protocol === "https") void reply.header("strict-transport-security", HTTPS_FOR_A_YEAR);
    return reply.headers(headers);
  };
}

const FOREIGN: ErrorAnswer = {
  status: 403,
  message: "This request did not come from the dashboard's own page.",
};
const SAFE_METHODS: readonly string[] = ["GET", "HEAD"];
/**
 * The header that every request except GET and HEAD must have, against cross-site request forgery (CSRF). A page from
 * another origin cannot send this header: the browser would first send a CORS preflight, which this server rejects.
 */
export const OWN_HEADER = "x-dashboard";
/**
 * The value of `OWN_HEADER` in requests that a page makes without action by a person. These requests do not count as
 * use of the session.
 */
export const ASKED_BY_ITSELF = "by-itself";
/**
 * The headers that name the release of the dashboard's pages, so that an open page learns of a new release: the path of
 * the script, and the time of the build.
 */
const SCRIPT_HEADER = "x-dashboard-script";
const BUILT_HEADER = "x-dashboard-built";
const OWN_SITES: readonly unknown[] = [undefined, "same-origin", "none"];

/**
 * Rejects requests from pages of other sites (CSRF), because such a page could otherwise use its visitor's session. The
 * session cookie is also `SameSite=Strict`.
 *
 * @param release the release of the dashboard's pages
 */
export function guardApi(
  api: FastifyInstance,
  release: { readonly script: string; readonly builtAt: string },
): void {
  const of = {
    "cache-control": "no-store",
    [SCRIPT_HEADER]: release.script,
    [BUILT_HEADER]: release.builtAt,
  };
  api.addHook("onRequest", async (request, reply) => {
    void reply.headers(of);
    const { headers, method } = request;
    const own = OWN_SITES.includes(headers["sec-fetch-site"]);
    if (!own || (!SAFE_METHODS.includes(method) && headers[OWN_HEADER] === undefined))
      return sendError(reply, FOREIGN);
  });
}
