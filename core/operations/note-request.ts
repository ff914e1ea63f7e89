import { LRUCache } from "lru-cache";
import type { RefusalKind } from "../../contract/requests";
import { classOf, SIGNED_TEXT_MAX, startOfSignedText, type RefusedRequest } from "../domain/refused-request";
import { parseSignature } from "../domain/signature";
import { diagnoseSignature } from "../domain/signature-diagnosis";
import { knownSecrets, parseWorkspaceId, type Workspace } from "../domain/workspace";
import type { HourCounts, RefusedRequests } from "../ports/hour-counts";
import type { Clock } from "../ports/outside";
import type { Workspaces } from "../ports/workspaces";
import type { Caller } from "./judge-caller";
import type { Refusal } from "./refusal";

export interface NoteContext {
  readonly now: Clock;
  readonly workspaces: Workspaces;
  readonly hourCounts: HourCounts;
  readonly refusedRequests: RefusedRequests;
}

/** A request of a bridge. */
export interface NotedCaller extends Caller {
  readonly method: "POST" | "GET";
}

const NO_SECRETS = { active: [], expired: [] };

const KINDS: Readonly<Record<Refusal["refused"], RefusalKind>> = {
  "address-limit": "address-limit",
  "unknown-workspace": "disconnected",
  signature: "signature",
  timestamp: "timestamp",
  "workspace-limit": "workspace-limit",
  invalid: "invalid",
  "push-workspace": "push-workspace",
  "secret-unreadable": "secret-unreadable",
};

/**
 * Maximum number of signature diagnoses per second at one core. A workspace can have at most one per second. After
 * `repeated` diagnoses in a second, only workspaces without a diagnosis in the last minute get one, so that floods at
 * some workspaces leave room for others.
 */
const DIAGNOSES_MAX = { all: 20, repeated: 10 } as const;
const SECOND_MS = 1_000;
const LATELY = { ttl: 60_000, max: 1_000 } as const;

export type RequestNotes = ReturnType<typeof createRequestNotes>;

/** Returns functions that count the requests of bridges, and keep samples of refused requests. */
export function createRequestNotes({ now, workspaces, hourCounts, refusedRequests }: NoteContext) {
  const diagnosed = { second: 0, workspaces: new Set<string>() };
  /** The workspaces with a diagnosis in the last minute. */
  const lately = new LRUCache<string, true>(LATELY);

  /** Returns whether the signature of a request for a workspace may be diagnosed now. */
  function admitDiagnosis(workspaceId: string): boolean {
    const second = Math.floor(performance.now() / SECOND_MS);
    if (diagnosed.second !== second) {
      diagnosed.second = second;
      diagnosed.workspaces.clear();
    }
    const most = lately.has(workspaceId) ? DIAGNOSES_MAX.repeated : DIAGNOSES_MAX.all;
    if (diagnosed.workspaces.size >= most || diagnosed.workspaces.has(workspaceId)) return false;
    diagnosed.workspaces.add(workspaceId);
    lately.set(workspaceId, true);
    return true;
  }

  function keepSignatureSample(workspace: Workspace, caller: NotedCaller): void {
    const { id } = workspace;
    const { signature: header, signed: raw, method, sourceAddress: address } = caller;
    const parsed = header === undefined ? undefined : parseSignature(header);
    // Without a digest, nothing is hashed, so such a request does not use up a diagnosis.
    const hasDigest = parsed !== undefined && parsed.digests.length > 0;
    if (hasDigest && !admitDiagnosis(id)) return;
    const faulty = { header, raw, method, workspaceId: caller.workspaceId };
    const secrets = hasDigest ? knownSecrets(workspace, now()) : NO_SECRETS;
    const { cause, isBySecret } = diagnoseSignature(faulty, secrets);
    const sampleClass = classOf({ kind: "signature", cause }, isBySecret);
    if (!refusedRequests.isWanted(id, sampleClass)) return;
    const signedText = startOfSignedText(parsed?.timestamp, raw, SIGNED_TEXT_MAX);
    refusedRequests.keep(id, sampleClass, {
      kind: "signature",
      atMs: now(),
      method,
      address,
      cause,
      signedText,
    });
  }

  return {
    /** Counts an accepted request. */
    accepted(workspaceId: string, kind: "post" | "poll"): void {
      hourCounts.add(workspaceId.toLowerCase(), kind);
    },
    /**
     * Counts a refusal, and keeps a sample. A refusal is counted only for a workspace that core has in its cache. The
     * first request for a workspace reads it into the cache, so a refusal for any other id needs no call to the store.
     */
    refused(caller: NotedCaller, refusal: Refusal): void {
      const id = parseWorkspaceId(caller.workspaceId);
      const workspace = id === undefined ? undefined : workspaces.recall(id)?.workspace;
      if (workspace?.platform !== "custom") return;
      const kind = KINDS[refusal.refused];
      hourCounts.add(workspace.id, kind);
      if (kind === "signature") return keepSignatureSample(workspace, caller);
      if (!refusedRequests.isWanted(workspace.id, kind)) return;
      const { method, sourceAddress: address } = caller;
      const sample = { kind, atMs: now(), method, address, ...detailsOf(refusal, caller, now()) };
      refusedRequests.keep(workspace.id, kind, sample);
    },
    /**
     * Counts requests that an edge refused. The store ignores workspaces that do not exist.
     *
     * @param sample one of the requests
     */
    refusedByEdge(workspaceId: string, count: number, sample: Omit<RefusedRequest, "atMs">): void {
      const id = parseWorkspaceId(workspaceId);
      const { kind } = sample;
      if (id === undefined || kind === "signature") return;
      hourCounts.add(id, kind, count);
      refusedRequests.keep(id, kind, { ...sample, atMs: now() });
    },
  };
}

function detailsOf(refusal: Refusal, { signature }: NotedCaller, nowMs: number): Partial<RefusedRequest> {
  switch (refusal.refused) {
    case "invalid":
      return refusal.violation;
    case "timestamp": {
      const timestamp = Number(parseSignature(signature ?? "")?.timestamp);
      return { clockSeconds: clockSeconds(timestamp, nowMs) };
    }
    case "secret-unreadable":
      return { missingKey: refusal.missingKey };
    default:
      return {};
  }
}

/** Returns the whole seconds by which a timestamp is ahead of the clock, at most `Number.MAX_SAFE_INTEGER`. */
export function clockSeconds(timestamp: number, nowMs: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, Math.round(timestamp - nowMs / 1_000));
}
