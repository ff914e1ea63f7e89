import { takeEarlyAnswer } from "./early-answers";
import { noteRelease } from "./release";
import type { WorkspaceState } from "../contract/workspace-states";
import type {
  ChangeShape,
  DeliveryDetailShape,
  DeliveryShape,
  EventShape,
  FailedEventShape,
  OperatorTestShape,
  SendAgainShape,
  SessionShape,
  SignatureCheckShape,
  StateCounts,
  SummariesShape,
  TestOutcome,
  WorkspacePage,
  WorkspaceShape,
  WorkspaceView,
  WorkspaceWithSecret,
} from "../proto/json/shapes";

/** Statuses that mean that the dashboard's server, core or a proxy did not answer. */
const UNANSWERED: ReadonlySet<number> = new Set([0, 502, 503, 504]);
/** Milliseconds until an unanswered read is retried. */
export const READ_AGAIN_MS = 2_000;

/** An error whose message is shown to the user. The status is 0 when the server is unreachable. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly status: number,
    message: string,
    /** Name of the form field that is invalid, if any. */
    readonly field?: string,
  ) {
    super(message);
  }

  /** Whether the request got no answer, so that a retry may succeed. */
  get isUnanswered(): boolean {
    return UNANSWERED.has(this.status);
  }
}

const NOT_SIGNED_IN = 401;
const CHECK_SIGNATURE = "/check-signature";
let whenSignedOut: () => void = () => undefined;
const whenUnanswered = new Set<(status: number) => void>();
const whenWritten = new Set<() => void>();

/** Sets the function to call when the server no longer accepts the session. */
export function onSignedOut(then: () => void): void {
  whenSignedOut = then;
}

/**
 * Calls `then` whenever a request gets no answer. The status is 0 when the dashboard's server is unreachable. Returns a
 * function that removes `then`.
 */
export function onUnanswered(then: (status: number) => void): () => void {
  whenUnanswered.add(then);
  return () => whenUnanswered.delete(then);
}

/** Calls `then` after each request that changed a workspace. Returns a function that unregisters `then`. */
export function onWritten(then: () => void): () => void {
  whenWritten.add(then);
  return () => whenWritten.delete(then);
}

/** The cause of a request: a person's action, or the page itself. Only an action counts as use of the session. */
export type AskedBy = "person" | "itself";
const ASKED_BY = { person: "1", itself: "by-itself" } as const;

async function ask<Answer>(
  method: string,
  path: string,
  body?: object,
  signal?: AbortSignal,
  by: AskedBy = "person",
): Promise<Answer> {
  const answer = await reach(`/api${path}`, {
    method,
    headers: {
      "x-dashboard": ASKED_BY[by],
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (answer === undefined) throw unanswered(0, method, path, "The dashboard's server cannot be reached.");
  if (answer.ok) {
    const value = (answer.status === 204 ? undefined : await answer.json()) as Answer;
    if (isWrite(method, path)) for (const then of whenWritten) then();
    return value;
  }
  if (answer.status === NOT_SIGNED_IN && path !== "/session") whenSignedOut();
  const refusal = (await answer.json().catch(() => ({}))) as { message?: string; field?: string };
  const words = refusal.message ?? `The server answered with ${answer.status}.`;
  if (UNANSWERED.has(answer.status)) throw unanswered(answer.status, method, path, words);
  throw new ApiError(answer.status, words, refusal.field);
}

/** Whether a request can change something. */
function isWrite(method: string, path: string): boolean {
  return method !== "GET" && path !== "/session" && !path.endsWith(CHECK_SIGNATURE);
}

/** Sends a request. Returns undefined when there is no answer. Throws when the caller aborts the request. */
async function reach(path: string, init: RequestInit): Promise<Response | undefined> {
  try {
    const early = init.method === "GET" ? await takeEarlyAnswer(path) : undefined;
    init.signal?.throwIfAborted();
    const answer = early ?? (await fetch(path, init));
    noteRelease(answer.headers);
    return answer;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    return undefined;
  }
}

/**
 * Creates the error for a request without an answer. If the request could change something, the error says that the
 * outcome is unknown. The text is in the past tense, so that it stays true once the service answers again.
 */
function unanswered(status: number, method: string, path: string, words: string): ApiError {
  for (const then of whenUnanswered) then(status);
  if (method === "GET") {
    return new ApiError(status, `${words} This could not be loaded; the page retries automatically.`);
  }
  return new ApiError(
    status,
    isWrite(method, path)
      ? `${status === 0 ? "The dashboard's server" : "The service"} did not answer. It is unknown whether this was done: check before you try again.`
      : `${words} Try again later.`,
  );
}

/** Selects a page of the list of workspaces. */
export interface ListQuery {
  readonly after: string;
  readonly search: string;
  readonly size: number;
  /** The state of the workspaces to list; the empty string for all states. */
  readonly state: WorkspaceState | "";
}

/** The API of the dashboard's server. All calls reject with `ApiError`, unless the caller aborts them. */
export const api = {
  /** Resolves to undefined when nobody is signed in. */
  session: () => ask<SessionShape | undefined>("GET", "/session"),
  signIn: (by: { readonly token: string } | { readonly code: string }) =>
    ask<SessionShape>("POST", "/session", by),
  signOut: () => ask<void>("DELETE", "/session"),
  list: ({ after, search, size, state }: ListQuery, signal: AbortSignal, by: AskedBy) => {
    const query = { after, search, size: String(size), ...(state === "" ? {} : { state }) };
    return ask<WorkspacePage>("GET", `/workspaces?${new URLSearchParams(query)}`, undefined, signal, by);
  },
  summaries: (ids: readonly string[], signal: AbortSignal) =>
    ask<SummariesShape>("GET", `/summaries?ids=${ids.join(",")}`, undefined, signal, "itself"),
  counts: (signal: AbortSignal) =>
    ask<{ readonly counts: StateCounts | null }>("GET", "/counts", undefined, signal, "itself"),
  create: (workspace: { readonly name: string; readonly ownerEmail: string; readonly targetUrl: string }) =>
    ask<WorkspaceWithSecret>("POST", "/workspaces", workspace),
  view: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<WorkspaceView>("GET", of(id), undefined, signal, by),
  deliveries: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<readonly DeliveryShape[]>("GET", of(id, "/deliveries"), undefined, signal, by),
  changes: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<readonly ChangeShape[]>("GET", of(id, "/changes"), undefined, signal, by),
  delivery: (id: string, deliveryId: string, signal: AbortSignal, by: AskedBy) =>
    ask<DeliveryDetailShape>(
      "GET",
      of(id, `/deliveries/${encodeURIComponent(deliveryId)}`),
      undefined,
      signal,
      by,
    ),
  event: (id: string, eventId: string, signal: AbortSignal, by: AskedBy) =>
    ask<EventShape>("GET", of(id, `/events/${encodeURIComponent(eventId)}`), undefined, signal, by),
  failedEvents: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<readonly FailedEventShape[]>("GET", of(id, "/failed-events"), undefined, signal, by),
  sendAgain: (id: string, eventIds: readonly string[]) =>
    ask<SendAgainShape>("POST", of(id, "/send-again"), { eventIds }),
  update: (id: string, change: { readonly name: string; readonly ownerEmail: string }) =>
    ask<WorkspaceShape>("PATCH", of(id), change),
  delete: (id: string, name: string) => ask<void>("DELETE", of(id), { name }),
  setTargetUrl: (id: string, targetUrl: string) =>
    ask<WorkspaceShape>("PUT", of(id, "/target-url"), { targetUrl }),
  /** The secret in the answer is empty if `address` is empty or an email address. */
  setOperatorEvents: (id: string, address: string) =>
    ask<WorkspaceWithSecret>("PUT", of(id, "/operator-events"), { address }),
  sendTestOperatorEvent: (id: string) => ask<OperatorTestShape>("POST", of(id, "/test-operator-event")),
  connect: (id: string) => ask<WorkspaceWithSecret>("POST", of(id, "/connect")),
  disconnect: (id: string) => ask<WorkspaceShape>("POST", of(id, "/disconnect")),
  rotateSecret: (id: string) => ask<WorkspaceWithSecret>("POST", of(id, "/rotate-secret")),
  sendTestEvent: (id: string) => ask<TestOutcome>("POST", of(id, "/test-event")),
  /** @param text the exact body of a post, or the query string of a poll */
  checkSignature: (id: string, part: "body" | "query", text: string, header: string) =>
    ask<SignatureCheckShape>("POST", of(id, CHECK_SIGNATURE), { part, text, header }),
  /** The URL of a workspace's stream of server-sent events. */
  watchUrl: (id: string) => `/api${of(id, "/watch")}`,
};

function of(id: string, what = ""): string {
  return `/workspaces/${encodeURIComponent(id)}${what}`;
}
