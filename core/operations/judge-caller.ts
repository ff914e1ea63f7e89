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

/** A request that passed checks 2 to 5. */
export interface JudgedCaller {
  readonly record: WorkspaceRecord;
  /** The signed timestamp, in seconds. */
  readonly timestamp: number;
}

export interface JudgeContext {
  readonly now: Clock;
  readonly requestLimits: RequestLimits;
  readonly workspaces: Workspaces;
}

/** How often a request is judged anew before giving up on a workspace that keeps changing. */
const MOST_TRIES = 5;

/**
 * Makes checks 2 to 5 in the contract's order, then hands the request on. `next`
 * answers "stale" when the workspace has changed since its record was read: the
 * request is then judged again, from check 3, by what the workspace is now.
 *
 * A recalled record may be out of date. `next` accepts nothing by an outdated
 * one; a refusal by a recalled one is confirmed here by reading it.
 */
export async function judgeCaller<Outcome>(
  { now, requestLimits, workspaces }: JudgeContext,
  caller: Caller,
  next: (judged: JudgedCaller) => Promise<Outcome | Refusal | "stale">,
): Promise<Outcome | Refusal> {
  const retryAfterSeconds = await requestLimits.admitAddress(caller.sourceAddress); // check 2
  if (retryAfterSeconds !== undefined) return { refused: "address-limit", retryAfterSeconds };

  const id = parseWorkspaceId(caller.workspaceId);
  if (id === undefined) return { refused: "unknown-workspace" }; // check 3: no uuid names none
  const signature = caller.signature === undefined ? undefined : parseSignature(caller.signature);

  const recalled = workspaces.recall(id);
  let record = recalled ?? (await workspaces.read(id));
  let isCurrent = recalled === undefined;
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const judged = judgeByRecord(record, signature, caller.signed, now());
    if (!("refused" in judged)) {
      const outcome = await next(judged);
      if (outcome !== "stale") return outcome;
    } else if (isCurrent) {
      return judged;
    }
    record = await workspaces.read(id);
    isCurrent = true;
  }
  throw new Error("a workspace kept changing while a request was judged");
}

function judgeByRecord(
  record: WorkspaceRecord | undefined,
  signature: ParsedSignature | undefined,
  signed: Uint8Array | string,
  nowMs: number,
): JudgedCaller | Refusal {
  if (record === undefined || !hasHooks(record.workspace)) return { refused: "unknown-workspace" }; // check 3
  const keys = activeKeys(record.workspace, nowMs);
  if (signature === undefined || !signatureMatches(signature, signed, keys)) return { refused: "signature" }; // check 4
  const timestamp = Number(signature.timestamp);
  if (Math.abs(nowMs / 1000 - timestamp) > TIMESTAMP_TOLERANCE_SECONDS) return { refused: "timestamp" }; // check 5
  return { record, timestamp };
}
