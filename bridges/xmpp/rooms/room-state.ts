/**
 * The state of a room. If a lost connection is resumed, the bridge is still in the room. `problem` tells an
 * administrator why the bridge is not in the room. If `isFinal`, only an administrator or a moderator can solve the
 * problem.
 *
 *     offline ──▶ joining ──▶ joined ──▶ out ──▶ joining
 *        │           │                   ▲          │
 *        │           └───────────────────┘          │
 *        └──▶ joined (resumed)      each state ──▶ offline, gone
 */
export type State =
  | { readonly type: "offline"; readonly wasJoined: boolean }
  | { readonly type: "joining"; readonly isPresent: boolean }
  | { readonly type: "joined" }
  | { readonly type: "out"; readonly problem: string; readonly isFinal: boolean }
  | { readonly type: "gone" };

const NEXT: Readonly<Record<State["type"], readonly State["type"][]>> = {
  offline: ["joining", "joined", "offline", "gone"],
  joining: ["joining", "joined", "out", "offline", "gone"],
  joined: ["out", "offline", "gone", "joining"],
  out: ["joining", "offline", "gone", "out"],
  gone: [],
};

/** Returns the state after a transition. Throws if the transition is invalid. */
export function moved(from: State, to: State): State {
  if (!NEXT[from.type].includes(to.type))
    throw new Error(`a room that is ${from.type} cannot become ${to.type}`);
  return to;
}

/** The removal of the bridge from a room. */
export interface Removal {
  /** The reason, for an administrator. */
  readonly problem: string;
  /** Whether an administrator or a moderator must act before the bridge can join again. */
  readonly isFinal: boolean;
  /** Whether somebody removed the bridge on purpose. */
  readonly isMeant: boolean;
}

/** Returns why the bridge was removed from a room, according to the status codes of XEP-0045. */
export function removalOf(codes: ReadonlySet<string>, isDestroyed: boolean): Removal {
  if (isDestroyed) return { problem: "the room was destroyed", isFinal: true, isMeant: true };
  if (codes.has("301")) {
    return { problem: "the bridge is banned from the room: remove the ban", isFinal: true, isMeant: true };
  }
  if (codes.has("321") || codes.has("322")) {
    return {
      problem: "the room is for members only: make the bridge a member",
      isFinal: true,
      isMeant: true,
    };
  }
  // A server that shuts down also removes the occupants, and a server that cannot reach the bridge removes the bridge.
  const isLost = codes.has("332") || codes.has("333");
  return codes.has("307") && !isLost
    ? { problem: "the bridge was kicked from the room", isFinal: false, isMeant: true }
    : { problem: "the bridge was removed from the room", isFinal: false, isMeant: false };
}
