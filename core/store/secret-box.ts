import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

/** Encrypts signing secrets at rest (AES-256-GCM). */
export interface SecretBox {
  /** @param context what the text belongs to; it must be the same to open it */
  seal(text: string, context: string): string;
  /** Throws when no key fits, or the sealed text or the context was changed. */
  open(sealed: string, context: string): string;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * @param keys 32 bytes each; the first encrypts, all decrypt. Sealed texts begin
 *   with a fingerprint of their key, so that the right one is found at once.
 */
export function createSecretBox(keys: readonly Buffer[]): SecretBox {
  const byFingerprint = new Map(keys.map((key) => [fingerprint(key), key]));
  const first = keys[0];
  if (first === undefined) throw new RangeError("a secret box needs a key");

  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", first, nonce).setAAD(Buffer.from(context));
      const sealed = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return `${fingerprint(first)}.${Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString("base64url")}`;
    },
    open(sealed, context) {
      const [name = "", body = ""] = sealed.split(".");
      const key = byFingerprint.get(name);
      if (key === undefined) {
        throw new Error(
          `no key in SECRETS_KEY has the fingerprint ${name}: add the key that was used before`,
        );
      }
      const bytes = Buffer.from(body, "base64url");
      const nonce = bytes.subarray(0, NONCE_BYTES);
      // Said here, or a shorter tag, which is easier to forge, would do.
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
        decipher.final(),
      ]).toString("utf8");
    },
  };
}

function fingerprint(key: Buffer): string {
  return createHash("sha256").update("chat-bridge secrets key").update(key).digest("hex").slice(0, 8);
}
