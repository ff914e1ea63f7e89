import { isIP } from "node:net";
import type { FastifyInstance } from "fastify";

export interface PageGuardOptions {
  /** Host names under which the page can be opened, in addition to localhost and IP addresses. */
  readonly hosts: readonly string[];
  readonly imageSources: string;
}

/** Prevents pages of other sites from using the API, and scripts of other sites from running in the page. */
export function guardPage(app: FastifyInstance, { hosts, imageSources }: PageGuardOptions): void {
  const headers = {
    "content-security-policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      `img-src 'self' ${imageSources}`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join("; "),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    // The page opens all links to the dashboard in one named window, which this value permits.
    "cross-origin-opener-policy": "same-origin-allow-popups",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
  };
  const known = ["localhost", ...hosts];
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers(headers);
    const host = request.hostname.replace(/^\[(.*)\]$/, "$1");
    // This check prevents DNS rebinding: if another site's name resolved to this server, that site's pages would be
    // same-origin with the chat.
    const isOurs = isIP(host) !== 0 || known.includes(host.toLowerCase());
    const site = request.headers["sec-fetch-site"];
    const isOwn = request.method === "GET" || site === undefined || site === "same-origin";
    if (!isOurs) {
      const advice = "Open this chat by its IP address or as localhost, or list the name in CHAT_HOSTS.";
      return reply.code(403).send({ message: advice });
    }
    if (!isOwn) return reply.code(403).send({ message: "Only the chat's own page may send this request." });
  });
}
