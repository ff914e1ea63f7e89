import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

export type SecretBox = ReturnType<typeof createSecretBox>;

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts signing secrets at rest (AES-256-GCM).
 *
 * @param keys keys of 32 bytes: the first key encrypts, and all keys can decrypt. Sealed text begins with the
 *   fingerprint of its key, so `open` tries only that key.
 */
export function createSecretBox(keys: readonly Buffer[]) {
  const byFingerprint = new Map(keys.map((key) => [fingerprint(key), key]));
  const first = keys[0];
  if (first === undefined) throw new RangeError("a secret box needs a key");

  return {
    /** @param context identifies the owner of the text. `open` must be called with the same context. */
    seal(text: string, context: string): string {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", first, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return `${fingerprint(first)}.${Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString("base64url")}`;
    },
    /**
     * Returns undefined when no key opens `sealed`: either no key matches the fingerprint in `sealed`, or `sealed` or
     * `context` has been changed.
     */
    open(sealed: string, context: string): string | undefined {
      const body = sealed.split(".")[1] ?? "";
      const key = byFingerprint.get(fingerprintOf(sealed));
      if (key === undefined) return undefined;
      const bytes = Buffer.from(body, "base64url");
      const nonce = bytes.subarray(0, NONCE_BYTES);
      try {
        // Without authTagLength, Node would accept a shorter tag, which is easier to forge.
        const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(Buffer.from(context))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        return Buffer.concat([
          decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
          decipher.final(),
        ]).toString("utf8");
      } catch {
        return undefined;
      }
    },
    /** The fingerprint of the key that encrypts new secrets. */
    newest: fingerprint(first),
  };
}

/** Returns the fingerprint of the key that sealed the text; "unknown" for text without a fingerprint. */
export function fingerprintOf(sealed: string): string {
  return /^[0-9a-f]{8}(?=\.)/.exec(sealed)?.[0] ?? "unknown";
}

function fingerprint(key: Buffer): string {
  return createHash("sha256").update("chat-bridge secrets key").update(key).digest("hex").slice(0, 8);
}
