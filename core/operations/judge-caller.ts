import { TIMESTAMP_TOLERANCE_SECONDS } from "../../contract/numbers";
import { staleTimestamp } from "../../contract/timestamps";
import { parseSignature, signatureMatches, type ParsedSignature } from "../domain/signature";
import { activeKeys, hasHooks, missingKey, parseWorkspaceId } from "../domain/workspace";
import type { Clock } from "../ports/outside";
import type { RequestLimits } from "../ports/limits";
import type { WorkspaceRecord, Workspaces } from "../ports/workspaces";
import type { Refusal } from "./refusal";

/** The parts of a bridge's request that checks 2 to 5 need. docs/checks.md lists the checks, with their numbers. */
export interface Caller {
  /** The workspace id in the path, unchecked. */
  readonly workspaceId: string;
  /** The address of the bridge, in canonical form. */
  readonly sourceAddress: string;
  /** The `Service-Signature` header, if present. */
  readonly signature: string | undefined;
  /** The signed bytes: the exact body, or the exact query string. */
  readonly signed: Uint8Array | string;
}

/** A request that passed checks 3 to 5. */
export interface JudgedCaller {
  readonly record: WorkspaceRecord;
  /** The signed timestamp, seconds since the epoch. */
  readonly timestamp: number;
  /** The address of the bridge, for check 2; undefined when check 2 has already been performed. */
  readonly address: string | undefined;
}

export interface JudgeContext {
  readonly now: Clock;
  readonly requestLimits: RequestLimits;
  readonly workspaces: Workspaces;
}

/**
 * Maximum number of times that core checks one request with the stored record while the workspace keeps changing.
 * After that many checks, core answers with an error.
 */
const MOST_TRIES = 5;

/**
 * Performs checks 2 to 5: address limit, workspace, signature, and timestamp. Calls `next` for a request that passes
 * checks 3 to 5. If several checks fail, the first of them in the contract's order determines the answer. If the
 * workspace has changed since its record was read, `next` resolves with "stale". Core then repeats the checks from
 * check 3 with the current record.
 *
 * Core first performs checks 3 to 5 with the cached record. If the request passes, core calls the store only once: in
 * that call, `next` performs check 2 before anything else. Otherwise check 2 is a separate call, and core repeats
 * checks 3 to 5 if the stored record is newer. So no request is rejected because of an outdated record.
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
    const outcome = await next({
      record: judged.record,
      timestamp: judged.timestamp,
      address: sourceAddress,
    });
    if (outcome !== "stale") return outcome;
  }

  if (id === undefined) return { refused: "unknown-workspace" }; // check 3: not a UUID
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const record = await workspaces.read(id);
    // The record is unchanged, so the result is the same. Core does not calculate the HMACs of the request again.
    if ("refused" in judged && record === recalled) return judged;
    const again = judgeByRecord(record, signature, signed, now());
    if ("refused" in again) return again;
    const outcome = await next({ record: again.record, timestamp: again.timestamp, address: undefined });
    if (outcome !== "stale") return outcome;
  }
  throw new Error("the workspace changed too often while core checked a request");
}

function judgeByRecord(
  record: WorkspaceRecord | undefined,
  signature: ParsedSignature | undefined,
  signed: Uint8Array | string,
  nowMs: number,
): Omit<JudgedCaller, "address"> | Refusal {
  if (record === undefined || !hasHooks(record.workspace)) return { refused: "unknown-workspace" }; // check 3
  if (signature === undefined) return { refused: "signature" }; // check 4
  if (!signatureMatches(signature, signed, activeKeys(record.workspace, nowMs))) {
    // The signature may belong to a secret that core cannot decrypt now, so the bridge must send the request again.
    const missing = missingKey(record.workspace, nowMs);
    return missing === undefined
      ? { refused: "signature" } // check 4
      : { refused: "secret-unreadable", missingKey: missing };
  }
  const timestamp = Number(signature.timestamp);
  if (Math.abs(nowMs / 1000 - timestamp) > TIMESTAMP_TOLERANCE_SECONDS) {
    const message = staleTimestamp(signature.timestamp, nowMs, "the service's clock");
    return { refused: "timestamp", violation: { message } }; // check 5
  }
  return { record, timestamp };
}
