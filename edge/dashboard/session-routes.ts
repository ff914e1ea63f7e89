import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { isCoreToken } from "../../runtime/core-connection";
import { BUILD } from "../../runtime/version";
import type { ErrorAnswer } from "../public/error-body";
import { sendError } from "../public/public-listener";
import { canonicalAddress } from "../public/source-address";
import { coreAnswer, isServiceError } from "./core-answer";
import { ASKED_BY_ITSELF, OWN_HEADER } from "./page-guard";
import { isSecret } from "./seal";
import { SessionsUnavailable } from "./sealed-client";
import type { Session } from "./session";
import type { Sessions } from "./sessions";
import type { SessionShape } from "../../proto/json/shapes";
import type { SignInLimit } from "./sign-in-limit";
import { describeToken, type SignedInToken, type WorkspaceClient } from "./workspace-client";

export interface SessionContext {
  readonly core: WorkspaceClient;
  readonly sessions: Sessions;
  readonly limit: SignInLimit;
  /** Base URL at which bridges reach the service. */
  readonly publicUrl: string;
  /** The demo's chat; undefined when no chat links to this dashboard. */
  readonly demo: DemoChat | undefined;
}

/** The demo's chat. The chat and the page of its workspace link to each other. */
export interface DemoChat {
  readonly workspaceId: string;
  /** URL of the chat's page, without a trailing slash. */
  readonly url: string;
}

/**
 * Schema of a token or a sign-in code. The schema checks only the length: the answer to a token with invalid characters
 * is 401, as for an unknown token.
 */
const TOKEN = { type: "string", minLength: 1, maxLength: 512 } as const;
const SIGN_IN = {
  body: {
    type: "object",
    additionalProperties: false,
    minProperties: 1,
    maxProperties: 1,
    properties: { token: TOKEN, code: TOKEN },
  },
} as const;

/**
 * Schema of a sign-in link. `next` is a path of this dashboard: the pattern excludes other origins, such as
 * `//example.org`, empty segments, segments that begin with a dot, and a fragment.
 */
const LINK = {
  body: {
    type: ["object", "null"],
    additionalProperties: false,
    properties: {
      next: {
        type: "string",
        maxLength: 512,
        pattern:
          "^/(?:[A-Za-z0-9_~-][A-Za-z0-9_.~-]*(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*)?(?:[?][A-Za-z0-9_.~&=%+-]*)?$",
      },
      keepSession: { type: "boolean" },
    },
  },
} as const;

const WRONG_TOKEN: ErrorAnswer = {
  status: 401,
  field: "token",
  message:
    "This is not an operator's token. Use a token of the role operator from core's CORE_TOKENS or CORE_TOKENS_FILE.",
};
const SPENT_LINK: ErrorAnswer = {
  status: 401,
  message:
    "This sign-in link has already been used or has expired. Sign in with an operator's token instead.",
};

/**
 * The answer when other tokens use all 1,000 sessions or all 100 links. A new session or link can replace only a
 * session or link of the same token.
 */
const NO_ROOM: ErrorAnswer = {
  status: 503,
  message: "Too many people are signed in, or too many sign-in links are unused. Try again later.",
  retryAfterSeconds: 60,
};

/** The answer when a limit of `sign-in-limit.ts` is exceeded, e.g. 10 failed sign-ins per minute and address. */
function tooMany(what: string, wait: number): ErrorAnswer {
  return { status: 429, message: `Too many ${what}. Try again in ${wait} seconds.`, retryAfterSeconds: wait };
}

/**
 * Returns the token with its description if core accepts it as an operator's token. Otherwise, returns an error answer,
 * which is `wrong` if the token is not an operator's token.
 */
async function accept(
  { core, limit }: SessionContext,
  request: FastifyRequest,
  tokenOf: () => Promise<string | undefined>,
  wrong: ErrorAnswer,
): Promise<{ readonly token: string; readonly described: SignedInToken } | ErrorAnswer> {
  const address = canonicalAddress(request.ip, request.socket.remoteAddress);
  const wait = limit.refuse(address);
  if (wait !== undefined) return tooMany("attempts to sign in from your address", wait);
  const token = await tokenOf();
  if (token === undefined || !isCoreToken(token)) return wrong;
  try {
    const described = await describeToken(core.as(token));
    const acceptedWait = limit.accept(address, described.tokenName);
    return acceptedWait === undefined
      ? { token, described }
      : tooMany("people have signed in with this token or from your address", acceptedWait);
  } catch (error) {
    const answer = isServiceError(error) ? coreAnswer(error) : undefined;
    if (answer === undefined) throw error;
    return answer.status === 401 || answer.status === 403 ? wrong : answer;
  }
}

/** Adds the routes for signing in and out, and for sign-in links. */
export function addSessionRoutes(app: FastifyInstance, context: SessionContext): void {
  const { sessions } = context;

  app.post<{ Body: { token?: string; code?: string } }>(
    "/session",
    { schema: SIGN_IN },
    async (request, reply) => {
      const { token, code } = request.body;
      const accepted = await (code === undefined
        ? accept(context, request, async () => token, WRONG_TOKEN)
        : accept(context, request, () => sessions.tokenOf(code), SPENT_LINK));
      if ("status" in accepted) return sendError(reply, accepted);
      // A failed attempt must not use up a link, so the code is taken only after the token was accepted. Another
      // request may have taken the code in the meantime.
      if (code !== undefined && (await sessions.takeCode(code)) === undefined)
        return sendError(reply, SPENT_LINK);
      const begun = await sessions.begin(accepted.token, accepted.described);
      if (begun === undefined) return sendError(reply, NO_ROOM);
      const shown = readSessionCookie(request);
      if (shown !== undefined) await sessions.end(shown);
      setSessionCookie(request, reply, begun.id);
      return reply.send(toShape(begun.session, accepted.described, context));
    },
  );

  // Every page sends this request first, so a missing session is not an error here.
  app.get("/session", async (request, reply) => {
    const session = await usedSession(request, context);
    const described = session && (await describe(context, session));
    if (session === undefined || described === undefined) return reply.code(204).send();
    return reply.send(toShape(session, described, context));
  });

  app.delete("/session", async (request, reply) => {
    const id = readSessionCookie(request);
    if (id !== undefined) await sessions.end(id);
    setSessionCookie(request, reply, "");
    return reply.code(204).send();
  });

  // This route is for programs that have a token and sign a person in, such as `npm start`. The link leads to the page
  // `next`. With `keepSession`, the link has no effect on a person whose session can already see that page.
  type Link = { next?: string; keepSession?: boolean } | null;
  app.post<{ Body: Link }>(
    "/sign-in-links",
    { schema: LINK },
    async (request, reply): Promise<FastifyReply> => {
      const [, token] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? "") ?? [];
      const accepted = await accept(context, request, async () => token, WRONG_TOKEN);
      if ("status" in accepted) return sendError(reply, accepted);
      const link = await sessions.makeCode(accepted.token, accepted.described);
      if (link === undefined) return sendError(reply, NO_ROOM);
      const expiresAt = new Date(link.endsAtMs).toISOString();
      const { next = "/", keepSession = false } = request.body ?? {};
      const path = `${next}#${keepSession ? "visit" : "sign-in"}=${link.code}`;
      return reply.code(201).send({ path, expiresAt, workspaces: accepted.described.workspaces });
    },
  );
}

/**
 * Returns the name and the scope of a session's token; undefined if core no longer accepts the token. Core is asked
 * again, because `CORE_TOKENS` may have changed since the sign-in.
 */
async function describe({ core }: SessionContext, { token }: Session): Promise<SignedInToken | undefined> {
  try {
    return await describeToken(core.as(token));
  } catch (error) {
    const answer = isServiceError(error) ? coreAnswer(error) : undefined;
    if (answer?.status === 401 || answer?.status === 403) return undefined;
    throw error;
  }
}

type SessionLookup = Pick<SessionContext, "sessions" | "limit">;

/** Returns the session of a request, without counting the request as a use of the session. */
export function currentSession(
  request: FastifyRequest,
  context: SessionLookup,
): Promise<Session | undefined> {
  return lookUp(request, context, "find");
}

/**
 * Returns the session of a request. The request counts as a use of the session, unless the page made the request
 * without action by a person.
 */
export function usedSession(request: FastifyRequest, context: SessionLookup): Promise<Session | undefined> {
  return lookUp(request, context, request.headers[OWN_HEADER] === ASKED_BY_ITSELF ? "find" : "use");
}

/**
 * Looks up the session of a request. Throws `SessionsUnavailable` if core is unavailable, or if the address has sent
 * too many cookies of unknown sessions, each of which costs a call to core.
 */
async function lookUp(
  request: FastifyRequest,
  { sessions, limit }: SessionLookup,
  how: "find" | "use",
): Promise<Session | undefined> {
  const secret = readSessionCookie(request);
  if (secret === undefined || !isSecret(secret)) return undefined;
  if (sessions.isRemembered(secret)) return sessions[how](secret);
  const address = canonicalAddress(request.ip, request.socket.remoteAddress);
  const wait = limit.lookUp(address);
  if (wait !== undefined)
    throw new SessionsUnavailable(tooMany("requests with an ended session from your address", wait));
  const session = await sessions[how](secret);
  if (session !== undefined) limit.found(address);
  return session;
}

function toShape(
  { endsAtMs }: Session,
  { tokenName, workspaces }: SignedInToken,
  { publicUrl, demo }: SessionContext,
): SessionShape {
  const isOfToken = demo !== undefined && (workspaces === null || workspaces.includes(demo.workspaceId));
  return {
    tokenName,
    workspaces,
    publicUrl,
    version: BUILD.version,
    endsAt: new Date(endsAtMs).toISOString(),
    ...(isOfToken && { demo: { workspaceId: demo.workspaceId, chatUrl: demo.url } }),
  };
}

/**
 * Returns the session id from the cookie. Behind a TLS proxy, the cookie's name begins with `__Host-`: this prefix
 * binds the cookie to the host. Browsers reject a cookie with this prefix over plain HTTP.
 */
function readSessionCookie(request: FastifyRequest): string | undefined {
  const wanted = `${nameFor(request)}=`;
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(wanted))?.slice(wanted.length);
}

/** Sets the cookie, which expires when the browser is closed. An empty id removes the cookie. */
function setSessionCookie(request: FastifyRequest, reply: FastifyReply, id: string): void {
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
