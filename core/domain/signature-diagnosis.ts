import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { SignatureCause } from "../../contract/requests";
import { malformedCause } from "./malformed-signature";
import { reserializations } from "./reserializations";
import { parseSignature } from "./signature";

/** An invalid signature, and the parts of the request that help to explain it. */
export interface FaultySignature {
  /** The header; undefined when the request has none. */
  readonly header: string | undefined;
  /** The exact body of a POST, or the exact query string of a poll. */
  readonly raw: Uint8Array | string;
  readonly method: "POST" | "GET";
  readonly workspaceId: string;
}

/** A workspace's secrets as text, newest first. An expired secret may still be stored. */
export interface KnownSecrets {
  readonly active: readonly string[];
  readonly expired: readonly string[];
}

export interface SignatureDiagnosis {
  readonly cause: SignatureCause;
  /**
   * Whether the digest was computed with a secret of the workspace, so that only somebody who knows the secret can have
   * sent it.
   */
  readonly isBySecret: boolean;
}

/** A mistake that a bridge may have made instead of signing the exact bytes with the exact secret. */
interface Suspect {
  readonly cause: SignatureCause;
  readonly isBySecret: boolean;
  readonly bytes: number;
  digest(): Buffer;
}

/**
 * Maximum number of bytes that are hashed for one diagnosis, which takes about a millisecond. This is enough to try all
 * suspects for a body of 8 KB. For a larger body, only the most likely suspects are tried.
 */
const HASHED_MAX_BYTES = 512 * 1024;
/** Maximum size of a body that is parsed and serialized again. */
const PARSED_MAX_BYTES = 16 * 1024;
/**
 * Minimum number of bytes of a hex-decoded secret that nobody can guess. Node decodes only the hex digits at the start
 * of a secret, so the resulting key can be very short.
 */
const UNGUESSABLE_BYTES = 16;
/** Maximum number of digests of a header that are compared. */
const DIGESTS_MAX = 4;

/**
 * Returns the first likely reason why a signature is invalid. Tries a bounded number of known mistakes. The result
 * never reveals an expected digest: it says only which mistake produces the digest that the bridge sent.
 */
export function diagnoseSignature(faulty: FaultySignature, secrets: KnownSecrets): SignatureDiagnosis {
  const { header } = faulty;
  if (header === undefined) return { cause: "missing", isBySecret: false };
  const parsed = parseSignature(header);
  if (parsed === undefined) return { cause: malformedCause(header), isBySecret: false };
  if (parsed.digests.length === 0) return { cause: "digest-length", isBySecret: false };
  const sent = parsed.digests.slice(0, DIGESTS_MAX);
  let hashed = 0;
  for (const suspect of suspects(faulty, parsed.timestamp, secrets)) {
    hashed += suspect.bytes;
    if (hashed > HASHED_MAX_BYTES) break;
    const digest = suspect.digest();
    if (sent.some((each) => timingSafeEqual(each, digest))) return suspect;
  }
  return { cause: "unknown", isBySecret: false };
}

/** Yields the suspects, the most likely first. */
function* suspects(
  { raw, method, workspaceId }: FaultySignature,
  t: string,
  { active, expired }: KnownSecrets,
): Generator<Suspect> {
  const rawBytes = typeof raw === "string" ? Buffer.from(raw) : raw;
  const signedText = Buffer.concat([Buffer.from(`${t}.`), rawBytes]);
  for (const secret of expired) yield by("expired-secret", secret, signedText);
  for (const key of ["", "undefined"]) yield by("secret-empty", key, signedText, false);
  for (const secret of active) {
    yield by("secret-base64", Buffer.from(secret, "base64"), signedText);
    yield by("secret-newline", `${secret}\n`, signedText);
    yield by("body-only", secret, rawBytes);
  }
  for (const key of ["null", "None"]) yield by("secret-empty", key, signedText, false);
  for (const secret of active) {
    yield by("secret-quotes", `"${secret}"`, signedText);
    const unhexed = Buffer.from(secret, "hex");
    yield by("secret-hex", unhexed, signedText, unhexed.length >= UNGUESSABLE_BYTES);
  }
  for (const secret of active) {
    for (const [cause, text] of mistakenTexts(t, rawBytes, method, workspaceId))
      yield by(cause, secret, text);
    yield by("swapped", signedText, Buffer.from(secret));
    for (const parts of [
      [secret, signedText],
      [signedText, secret],
    ]) {
      yield plain(parts, true);
    }
  }
  yield plain([signedText], false);
}

function by(cause: SignatureCause, key: string | Uint8Array, text: Uint8Array, isBySecret = true): Suspect {
  const digest = (): Buffer => createHmac("sha256", key).update(text).digest();
  return { cause, isBySecret, bytes: key.length + text.length, digest };
}

/** Returns the suspect for a digest that is a plain SHA-256 hash instead of an HMAC. */
function plain(parts: readonly (string | Uint8Array)[], isBySecret: boolean): Suspect {
  const digest = (): Buffer => {
    const hash = createHash("sha256");
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return { cause: "not-hmac", isBySecret, bytes, digest };
}

/** Yields the texts that a bridge may have signed instead of `<t>.<raw>`, the most likely first. */
function* mistakenTexts(
  t: string,
  raw: Uint8Array,
  method: "POST" | "GET",
  workspaceId: string,
): Generator<readonly [SignatureCause, Uint8Array]> {
  const dated = (text: Uint8Array | string, start = `${t}.`): Buffer =>
    Buffer.concat([Buffer.from(start), Buffer.from(text)]);
  yield ["separator", dated(raw, t)];
  yield ["separator", dated(raw, `${t}:`)];
  // The bridge used milliseconds in either the signed text or the header, but not in both.
  yield ["milliseconds", dated(raw, `${t}000.`)];
  if (t.length > 3) yield ["milliseconds", dated(raw, `${t.slice(0, -3)}.`)];
  const text = Buffer.from(raw).toString();
  if (method === "GET") {
    yield ["question-mark", dated(`?${text}`)];
    yield* urls(workspaceId, text).map((url) => ["url", dated(url)] as const);
    const decoded = decodeQuery(text);
    if (decoded !== text) yield ["query-decoded", dated(decoded)];
  }
  if (raw.length > 0) yield ["empty-text", dated("")];
  // Some HTTP clients send, or sign, an empty object as the body of a GET.
  if (method === "GET") for (const body of ["{}", "null", '""']) yield ["empty-text", dated(body)];
  yield ["newline-added", dated(`${text}\n`)];
  yield ["newline-added", dated(`${text}\r\n`)];
  if (text.endsWith("\n")) yield ["newline-removed", dated(text.replace(/\r?\n$/, ""))];
  if (method === "POST" && raw.length <= PARSED_MAX_BYTES) {
    for (const other of reserializations(text)) yield ["re-serialized", dated(other)];
  }
}

function urls(workspaceId: string, query: string): readonly string[] {
  const path = `/hooks/${workspaceId}/events`;
  return query === "" ? [path] : [`${path}?${query}`, path];
}

function decodeQuery(query: string): string {
  try {
    return decodeURIComponent(query.replaceAll("+", " "));
  } catch {
    return query;
  }
}
