import type { RefusalKind, SignatureCause } from "../../contract/requests";

/** A refused request of a bridge, kept as a sample for people. Contains no secrets and no digests. */
export interface RefusedRequest {
  readonly kind: RefusalKind;
  readonly atMs: number;
  readonly method: "POST" | "GET";
  /** The address of the bridge, in canonical form. */
  readonly address: string;
  /** The invalid field or parameter. Undefined if the whole body is invalid, or if `kind` is not "invalid". */
  readonly field?: string | undefined;
  /** The message of the answer, or why the body is not JSON. */
  readonly message?: string | undefined;
  /** Seconds by which the signed timestamp is ahead of the service clock; negative if it is behind. */
  readonly clockSeconds?: number | undefined;
  /** Bytes of a body that is too large; undefined if the request does not state its length. */
  readonly bytes?: number | undefined;
  readonly cause?: SignatureCause | undefined;
  /** The first characters of the text that core expects to be signed. */
  readonly signedText?: string | undefined;
  /** The fingerprint of the key that core lacks to decrypt the secret. */
  readonly missingKey?: string | undefined;
}

/** Maximum number of characters of the start of a signed text in a sample. */
export const SIGNED_TEXT_MAX = 64;

/** The classes of 401 answers that have separate samples. */
const SIGNATURE_CLASSES = ["missing", "malformed", "variant", "unknown"] as const;
export type SampleClass =
  | Exclude<RefusalKind, "signature">
  | `signature-${(typeof SIGNATURE_CLASSES)[number]}`;

const WITH_FORM: ReadonlySet<SignatureCause> = new Set<SignatureCause>(["digest-length", "unknown"]);

/**
 * Returns the class of a sample. A workspace has one sample of each class. Anybody can send unsigned requests, but only
 * a sender who knows the secret can cause a sample of a class for signed requests. So a flood of unsigned requests
 * never replaces a sample that explains the mistake of the real bridge.
 *
 * @param isBySecret whether the digest was computed with a secret of the workspace
 */
export function classOf(
  { kind, cause }: Pick<RefusedRequest, "kind" | "cause">,
  isBySecret: boolean,
): SampleClass {
  if (kind !== "signature") return kind;
  if (isBySecret) return "signature-variant";
  if (cause === undefined || WITH_FORM.has(cause) || cause === "secret-empty" || cause === "not-hmac") {
    return "signature-unknown";
  }
  return cause === "missing" ? "signature-missing" : "signature-malformed";
}

/** Returns the start of the text that core expects to be signed; undefined without a timestamp. */
export function startOfSignedText(
  timestamp: string | undefined,
  raw: Uint8Array | string,
  maxCharacters: number,
): string | undefined {
  if (timestamp === undefined) return undefined;
  // A character takes at most four bytes in UTF-8.
  const start = typeof raw === "string" ? raw : Buffer.from(raw.subarray(0, 4 * maxCharacters)).toString();
  return Array.from(`${timestamp.slice(0, maxCharacters)}.${start.slice(0, 2 * maxCharacters)}`)
    .slice(0, maxCharacters)
    .join("");
}
