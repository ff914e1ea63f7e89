import { api, ApiError, onSignedOut, READ_AGAIN_MS } from "./api";
import type { SessionShape } from "../proto/json/shapes";
import { createStore, useStore } from "./store";

export type SessionState =
  /** `why` says why it is still unknown whether the user is signed in. */
  | { readonly is: "looking"; readonly why?: string }
  | { readonly is: "out"; readonly why: string | undefined }
  | { readonly is: "in"; readonly session: SessionShape };

export const sessionState = createStore<SessionState>({ is: "looking" });

/** Returns the session of the signed-in user; undefined if nobody is signed in. */
export function useSession(): SessionShape | undefined {
  const state = useStore(sessionState);
  return state.is === "in" ? state.session : undefined;
}

/** A `sign-in` link signs the user in. A `visit` link does so only if no current session can see the page. */
const LINK_FORM = /^#(sign-in|visit)=(.+)$/;
const WORKSPACE_PATH = /^\/workspaces\/([^/]+)/;
const ENDED = "Your session has ended: sign in again.";

/** Signs in with the link in the URL, or finds the existing session. */
export async function beginSession(): Promise<void> {
  const [, how, code] = LINK_FORM.exec(location.hash) ?? [];
  // The code is removed from the URL immediately, so that it does not stay in the history.
  if (code !== undefined) history.replaceState(null, "", location.pathname + location.search);
  if (how === "visit") {
    const visit = await findVisit(location.pathname);
    if (visit === "kept") return;
    // An existing session could see more than the link's session, so the link must not replace it.
    if (visit === "unknown") return findSession(undefined);
  }
  const refused = code === undefined ? undefined : await enter(() => api.signIn({ code }));
  // If the user is already signed in, a used link is not an error.
  if (sessionState.get().is !== "in") await findSession(refused?.message);
}

/**
 * Returns "kept", and sets the current session, if this session can see the page. Returns "needed" if the visit needs
 * its link, and "unknown" if the service does not say whether there is a session.
 */
async function findVisit(path: string): Promise<"kept" | "needed" | "unknown"> {
  let session: SessionShape | undefined;
  try {
    session = await api.session();
  } catch {
    return "unknown";
  }
  const [, workspace] = WORKSPACE_PATH.exec(path) ?? [];
  const isHidden = workspace !== undefined && session?.workspaces?.includes(workspace) === false;
  if (session === undefined || isHidden) return "needed";
  sessionState.set({ is: "in", session });
  return "kept";
}

/** Looks for an existing session. Retries while there is no answer. */
async function findSession(refused: string | undefined): Promise<void> {
  const failed = await enter(api.session);
  if (sessionState.get().is === "in") return;
  const why = refused ?? failed?.message;
  if (failed?.isUnanswered !== true) return sessionState.set({ is: "out", why });
  sessionState.set({ is: "looking", ...(why === undefined ? {} : { why }) });
  setTimeout(() => void findSession(refused), READ_AGAIN_MS);
}

/** Calls `begin`, and stores the session, if any. Resolves to the error, if any. A missing session is not an error. */
async function enter(begin: () => Promise<SessionShape | undefined>): Promise<ApiError | undefined> {
  try {
    const session = await begin();
    if (session !== undefined) sessionState.set({ is: "in", session });
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error : new ApiError(0, String(error));
  }
}

export async function signIn(token: string): Promise<void> {
  sessionState.set({ is: "in", session: await api.signIn({ token }) });
}

export async function signOut(): Promise<void> {
  await api.signOut();
  sessionState.set({ is: "out", why: undefined });
}

onSignedOut(() => sessionState.set({ is: "out", why: ENDED }));
addEventListener("hashchange", () => {
  if (LINK_FORM.test(location.hash)) void beginSession();
});
