import { TIMESTAMP_TOLERANCE_SECONDS } from "../domain/contract";
import { parseSignature, signatureMatches, type ParsedSignature } from "../domain/signature";
import { parseWorkspaceId } from "../domain/workspace-id";
import { activeKeys, hasHooks } from "../domain/workspace";
import type { Clock } from "../ports/clock";
import type { RequestLimits } from "../ports/request-limits";
import type { WorkspaceRecord, Workspaces } from "../ports/workspaces";
import type { Refusal } from "./refusal";

/** What every request of a bridge brings. */
export interface Caller {
  /** The path segment, which may be anything. */
  readonly workspaceId: string;
  /** In canonical form. */
  readonly sourceAddress: string;
  /** The Service-Signature header, if there was one. */
  readonly signature: string | undefined;
  /** What the signature must be over: the exact body, or the exact query string. */
  readonly signed: Uint8Array | string;
}

/** A request that passed checks 3 to 5. */
export interface JudgedCaller {
  readonly record: WorkspaceRecord;
  /** The signed timestamp, in seconds. */
  readonly timestamp: number;
  /** The sending address, which check 2 is still to be made for; undefined when it was made. */
  readonly address: string | undefined;
}

export interface JudgeContext {
  readonly now: Clock;
  readonly requestLimits: RequestLimits;
  readonly workspaces: Workspaces;
}

/** How often a request is judged before giving up on a workspace that keeps changing. */
const MOST_TRIES = 5;

/**
 * Makes checks 2 to 5 in the contract's order, then hands the request on. `next`
 * answers "stale" when the workspace has changed since its record was read: the
 * request is then judged again, from check 3, by what the workspace is now.
 *
 * A request that passes checks 3 to 5 by the record that this core remembers makes
 * one trip to the store: `next` makes check 2 there, before it looks at anything else.
 * Any other request makes check 2 first, and is then judged by the record as it is
 * stored, so no request is refused by an outdated one.
 */
export async function judgeCaller<Outcome>(
  { now, requestLimits, workspaces }: JudgeContext,
  caller: Caller,
  next: (judged: JudgedCaller) => Promise<Outcome | Refusal | "stale">,
): Promise<Outcome | Refusal> {
  const { sourceAddress, signed } = caller;
  const id = parseWorkspaceId(caller.workspaceId);
  const signature = caller.signature === undefined ? undefined : parseSignature(caller.signature);

  const recalled = id === undefined ? undefined : workspaces.recall(id);
  const judged = judgeByRecord(recalled, signature, signed, now());
  if ("refused" in judged) {
    const retryAfterSeconds = await requestLimits.admitAddress(sourceAddress); // check 2
    if (retryAfterSeconds !== undefined) return { refused: "address-limit", retryAfterSeconds };
  } else {
    const outcome = await next({ ...judged, address: sourceAddress });
    if (outcome !== "stale") return outcome;
  }

  if (id === undefined) return { refused: "unknown-workspace" }; // check 3: no uuid names none
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const again = judgeByRecord(await workspaces.read(id), signature, signed, now());
    if ("refused" in again) return again;
    const outcome = await next({ ...again, address: undefined });
    if (outcome !== "stale") return outcome;
  }
  throw new Error("a workspace kept changing while a request was judged");
}

function judgeByRecord(
  record: WorkspaceRecord | undefined,
  signature: ParsedSignature | undefined,
  signed: Uint8Array | string,
  nowMs: number,
): Omit<JudgedCaller, "address"> | Refusal {
  if (record === undefined || !hasHooks(record.workspace)) return { refused: "unknown-workspace" }; // check 3
  const keys = activeKeys(record.workspace, nowMs);
  if (signature === undefined || !signatureMatches(signature, signed, keys)) return { refused: "signature" }; // check 4
  const timestamp = Number(signature.timestamp);
  if (Math.abs(nowMs / 1000 - timestamp) > TIMESTAMP_TOLERANCE_SECONDS) return { refused: "timestamp" }; // check 5
  return { record, timestamp };
}
