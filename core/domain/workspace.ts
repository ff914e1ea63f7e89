import { UUID_FORM } from "../../contract/forms";
import { ROTATION_OVERLAP_MS } from "../../contract/numbers";
import { ACTIVE_SECRETS_MAX } from "./bounds";
import { HmacKey } from "./hmac-key";

/** The platform of a workspace's chat tool. Only the custom platform uses a bridge. */
export type Platform = "custom" | "native";

/** A signing secret. Core never logs a secret, and sends a secret only in the answer to the call that created it. */
export interface SigningSecret {
  /** The text of the secret, as shown to the owner. Its UTF-8 bytes are the HMAC key. */
  readonly value: string;
  readonly key: HmacKey;
  readonly createdAtMs: number;
  /** Time when a newer secret replaced this secret, in ms since the epoch; undefined for the newest secret. */
  readonly retiredAtMs: number | undefined;
  readonly missingKey?: undefined;
}

/** A stored secret that no key of this core can decrypt, e.g. because its key was removed from SECRETS_KEY. */
export interface UnreadableSecret extends Omit<SigningSecret, "value" | "key" | "missingKey"> {
  readonly value?: undefined;
  readonly key?: undefined;
  /** The encrypted text, which is written back unchanged. */
  readonly sealed: string;
  /** The fingerprint of the key that encrypted the secret. */
  readonly missingKey: string;
}

/** A secret of a workspace, as read from the store. */
export type StoredSecret = SigningSecret | UnreadableSecret;

/** Creates a secret from its text. A secret without `retiredAtMs` is the newest secret. */
export function createSigningSecret(value: string, createdAtMs: number, retiredAtMs?: number): SigningSecret {
  return { value, key: new HmacKey(Buffer.from(value)), createdAtMs, retiredAtMs };
}

/** Returns the workspace id in lower case, or undefined when `text` is not a UUID. */
export function parseWorkspaceId(text: string): string | undefined {
  return UUID_FORM.test(text) ? text.toLowerCase() : undefined;
}

/** A customer's workspace. */
export interface Workspace {
  /** A UUID in lower case. */
  readonly id: string;
  readonly name: string;
  readonly ownerEmail: string;
  readonly platform: Platform;
  readonly connected: boolean;
  /** The URL that events are pushed to; the empty string if none is set. */
  readonly targetUrl: string;
  /** The secrets, newest first. Some may have expired. */
  readonly secrets: readonly StoredSecret[];
  readonly createdAtMs: number;
  /** The receiver of the operator events about this workspace; undefined if none is set. */
  readonly operatorEvents?: OperatorEventsAddress | undefined;
}

/** An address for operator events. */
export interface OperatorEventsAddress {
  /** An https URL or an email address. */
  readonly address: string;
  /** The secrets that sign the requests to a URL, newest first. Some may have expired. Empty for an email address. */
  readonly secrets: readonly StoredSecret[];
}

/** Whether an address for operator events is a URL. Otherwise it is an email address. */
export function isHook(address: string): boolean {
  return /^https?:/i.test(address);
}

/**
 * How the events of a workspace are delivered: held for polls, pushed, or not at all. A workspace without hooks does
 * not get events.
 */
export type DeliveryMode = "poll" | "push" | "none";

/** Whether the workspace has hooks: the endpoints `/hooks/{workspaceId}`, which its bridge calls. */
export function hasHooks(workspace: Workspace): boolean {
  return workspace.platform === "custom" && workspace.connected;
}

export function deliveryMode(workspace: Workspace): DeliveryMode {
  if (!hasHooks(workspace)) return "none";
  return workspace.targetUrl === "" ? "poll" : "push";
}

/** Returns the time at which a secret expires, in ms since the epoch; undefined for the newest secret. */
export function lapsesAtMs(secret: Pick<StoredSecret, "retiredAtMs">): number | undefined {
  return secret.retiredAtMs === undefined ? undefined : secret.retiredAtMs + ROTATION_OVERLAP_MS;
}

/** The part of a workspace, or of an address, that contains the secrets. */
type WithSecrets = Pick<Workspace, "secrets">;

function isActive(secret: StoredSecret, nowMs: number): boolean {
  return nowMs < (lapsesAtMs(secret) ?? Infinity);
}

/** Returns the secrets that are valid at `nowMs`, newest first (bridge guide, "Signatures"). */
export function activeSecrets(workspace: WithSecrets, nowMs: number): readonly StoredSecret[] {
  return workspace.secrets.filter((secret) => isActive(secret, nowMs));
}

/** Returns the keys for verifying and signing at `nowMs`, newest first. Unreadable secrets have no key. */
export function activeKeys(workspace: WithSecrets, nowMs: number): readonly HmacKey[] {
  // Every request needs its keys, so this function is a loop: filter and flatMap take five times as long.
  const keys: HmacKey[] = [];
  for (const secret of workspace.secrets) {
    if (secret.key !== undefined && isActive(secret, nowMs)) keys.push(secret.key);
  }
  return keys;
}

/** Returns the readable secrets as text, newest first: those that are valid at `nowMs`, and those that have expired. */
export function knownSecrets({ secrets }: WithSecrets, nowMs: number) {
  const active: string[] = [];
  const expired: string[] = [];
  for (const { value, retiredAtMs } of secrets) {
    if (value === undefined) continue;
    (nowMs < (lapsesAtMs({ retiredAtMs }) ?? Infinity) ? active : expired).push(value);
  }
  return { active, expired: expired.slice(0, ACTIVE_SECRETS_MAX) };
}

/**
 * Returns the fingerprint of a key that core lacks to decrypt a secret; undefined if all secrets that are valid at
 * `nowMs` are readable.
 */
export function missingKey(workspace: WithSecrets, nowMs: number): string | undefined {
  return activeSecrets(workspace, nowMs).find((secret) => secret.missingKey !== undefined)?.missingKey;
}

/**
 * Returns the fingerprints of all keys that core lacks to decrypt the workspace's secrets that are valid at `nowMs`,
 * without duplicates.
 */
export function missingKeys({ secrets, operatorEvents }: Workspace, nowMs: number): readonly string[] {
  const all = { secrets: [...secrets, ...(operatorEvents?.secrets ?? [])] };
  return [...new Set(activeSecrets(all, nowMs).flatMap((secret) => secret.missingKey ?? []))];
}

/** Returns the keys that sign operator events for the workspace's own address at `nowMs`, newest first. */
export function activeOperatorKeys({ operatorEvents }: Workspace, nowMs: number): readonly HmacKey[] {
  return operatorEvents === undefined ? [] : activeKeys(operatorEvents, nowMs);
}

/**
 * Returns the workspace or the address with `fresh` as its newest secret. The previous secret stays valid for
 * `ROTATION_OVERLAP_MS`. Unreadable secrets are removed. Returns undefined when `ACTIVE_SECRETS_MAX` secrets are
 * already active.
 */
export function withRotatedSecret<Owner extends WithSecrets>(
  workspace: Owner,
  fresh: SigningSecret,
): Owner | undefined {
  const nowMs = fresh.createdAtMs;
  const active = activeSecrets(workspace, nowMs).filter(({ key }) => key !== undefined);
  if (active.length >= ACTIVE_SECRETS_MAX) return undefined;
  const retired = active.map((secret) => ({ ...secret, retiredAtMs: secret.retiredAtMs ?? nowMs }));
  return { ...workspace, secrets: [fresh, ...retired] };
}
