import { createSecretKey, type KeyObject } from "node:crypto";
import { ACTIVE_SECRETS_MAX, ROTATION_OVERLAP_MS } from "./contract";

/** Which chat tool a workspace is of; only the custom platform is reached through a bridge. */
export type Platform = "custom" | "native";

/** A signing secret. It is never logged and leaves core only in the answer that made it. */
export interface SigningSecret {
  /** What the owner was shown; its UTF-8 bytes are the HMAC key. */
  readonly value: string;
  /** The same as a key, made once. */
  readonly key: KeyObject;
  readonly createdAtMs: number;
  /** When a newer one took its place; undefined on the newest. */
  readonly retiredAtMs: number | undefined;
}

/** The secret of a text, the newest unless it says when it was retired. */
export function createSigningSecret(value: string, createdAtMs: number, retiredAtMs?: number): SigningSecret {
  return { value, key: createSecretKey(Buffer.from(value)), createdAtMs, retiredAtMs };
}

/** A customer's workspace, as decided on by every operation. */
export interface Workspace {
  /** Lower-case uuid. */
  readonly id: string;
  readonly name: string;
  readonly ownerEmail: string;
  readonly platform: Platform;
  readonly connected: boolean;
  /** Empty for a poll workspace. */
  readonly targetUrl: string;
  /** Newest first; lapsed ones may still be among them. */
  readonly secrets: readonly SigningSecret[];
  readonly createdAtMs: number;
}

/** How a workspace gets its events: held for polling, pushed, or (no hooks) not at all. */
export type DeliveryMode = "poll" | "push" | "none";

export function hasHooks(workspace: Workspace): boolean {
  return workspace.platform === "custom" && workspace.connected;
}

export function deliveryMode(workspace: Workspace): DeliveryMode {
  if (!hasHooks(workspace)) return "none";
  return workspace.targetUrl === "" ? "poll" : "push";
}

/** When a secret stops being valid, ms since the epoch; undefined on the newest. */
export function lapsesAtMs(secret: SigningSecret): number | undefined {
  return secret.retiredAtMs === undefined ? undefined : secret.retiredAtMs + ROTATION_OVERLAP_MS;
}

/** The secrets that are valid at `nowMs`, newest first (Authentication 6). */
export function activeSecrets(workspace: Workspace, nowMs: number): readonly SigningSecret[] {
  return workspace.secrets.filter((secret) => nowMs < (lapsesAtMs(secret) ?? Infinity));
}

/** The keys to verify and sign with at `nowMs`, newest first. */
export function activeKeys(workspace: Workspace, nowMs: number): readonly KeyObject[] {
  return activeSecrets(workspace, nowMs).map((secret) => secret.key);
}

/**
 * The workspace with `fresh` as its newest secret: the one before it is retired
 * now and stays valid for the overlap. Undefined when as many are active as may
 * be: one has to lapse first.
 */
export function withRotatedSecret(
  workspace: Workspace,
  fresh: SigningSecret,
  nowMs: number,
): Workspace | undefined {
  const active = activeSecrets(workspace, nowMs);
  if (active.length >= ACTIVE_SECRETS_MAX) return undefined;
  const retired = active.map((secret) => ({ ...secret, retiredAtMs: secret.retiredAtMs ?? nowMs }));
  return { ...workspace, secrets: [fresh, ...retired] };
}
