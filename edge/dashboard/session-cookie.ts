import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * Returns the session id from the cookie. Behind a TLS proxy, the cookie's name begins with `__Host-`: this prefix
 * binds the cookie to the host. Browsers reject a cookie with this prefix over plain HTTP.
 */
export function readSessionCookie(request: FastifyRequest): string | undefined {
  const wanted = `${nameFor(request)}=`;
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(wanted))?.slice(wanted.length);
}

/** Sets the cookie, which expires when the browser is closed. An empty id removes the cookie. */
export function setSessionCookie(request: FastifyRequest, reply: FastifyReply, id: string): void {
  const secure = request.protocol === "https" ? "; Secure" : "";
  const gone = id === "" ? "; Max-Age=0" : "";
  void reply.header(
    "set-cookie",
    `${nameFor(request)}=${id}; Path=/; HttpOnly; SameSite=Strict${secure}${gone}`,
  );
}

function nameFor({ protocol }: FastifyRequest): string {
  return protocol === "https" ? "__Host-dashboard" : "dashboard";
}
