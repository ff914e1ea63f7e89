import type {
  DeliveryShape,
  HealthShape,
  SessionShape,
  TestOutcome,
  WorkspacePage,
  WorkspaceShape,
  WorkspaceView,
  WorkspaceWithSecret,
} from "../edge/dashboard/shapes";

/** What the server refused, in words for people; status 0 when it could not be reached. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  constructor(
    readonly status: number,
    message: string,
    /** The field of a form that is at fault. */
    readonly field?: string,
  ) {
    super(message);
  }
}

const NOT_SIGNED_IN = 401;
let whenSignedOut: () => void = () => undefined;

/** Says what to do when the server does not know the session any more. */
export function onSignedOut(then: () => void): void {
  whenSignedOut = then;
}

/** Who asks: a person by what they do, which keeps their session from ending, or the page by itself. */
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
  if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as Answer;
  if (answer.status === NOT_SIGNED_IN && path !== "/session") whenSignedOut();
  const refusal = (await answer.json().catch(() => ({}))) as { message?: string; field?: string };
  throw new ApiError(
    answer.status,
    refusal.message ?? `The server answered ${answer.status}.`,
    refusal.field,
  );
}

async function reach(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError(
      0,
      "The dashboard's server cannot be reached. Check that the service runs, and try again.",
    );
  }
}

/** The dashboard's server. Everything rejects with ApiError. */
export const api = {
  /** Undefined when nobody is signed in. */
  session: () => ask<SessionShape | undefined>("GET", "/session"),
  signIn: (by: { readonly token: string } | { readonly code: string }) =>
    ask<SessionShape>("POST", "/session", by),
  signOut: () => ask<void>("DELETE", "/session"),
  list: (
    query: { readonly after: string; readonly search: string; readonly size: number },
    signal: AbortSignal,
  ) =>
    ask<WorkspacePage>(
      "GET",
      `/workspaces?${new URLSearchParams({ after: query.after, search: query.search, size: String(query.size) })}`,
      undefined,
      signal,
    ),
  health: (ids: readonly string[], signal: AbortSignal) =>
    ask<Readonly<Record<string, HealthShape>>>("GET", `/health?ids=${ids.join(",")}`, undefined, signal),
  create: (workspace: { readonly name: string; readonly ownerEmail: string; readonly targetUrl: string }) =>
    ask<WorkspaceWithSecret>("POST", "/workspaces", workspace),
  view: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<WorkspaceView>("GET", of(id), undefined, signal, by),
  deliveries: (id: string, signal: AbortSignal, by: AskedBy) =>
    ask<readonly DeliveryShape[]>("GET", of(id, "/deliveries"), undefined, signal, by),
  update: (id: string, change: { readonly name: string; readonly ownerEmail: string }) =>
    ask<WorkspaceShape>("PATCH", of(id), change),
  delete: (id: string, name: string) => ask<void>("DELETE", of(id), { name }),
  setTargetUrl: (id: string, targetUrl: string) =>
    ask<WorkspaceShape>("PUT", of(id, "/target-url"), { targetUrl }),
  connect: (id: string) => ask<WorkspaceWithSecret>("POST", of(id, "/connect")),
  disconnect: (id: string) => ask<WorkspaceShape>("POST", of(id, "/disconnect")),
  rotateSecret: (id: string) => ask<WorkspaceWithSecret>("POST", of(id, "/rotate-secret")),
  sendTestEvent: (id: string) => ask<TestOutcome>("POST", of(id, "/test-event")),
  /** Where a workspace is watched, as server-sent events. */
  watchUrl: (id: string) => `/api${of(id, "/watch")}`,
};

function of(id: string, what = ""): string {
  return `/workspaces/${encodeURIComponent(id)}${what}`;
}
