import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { SealedName } from "./sealed-client";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";
/** The form of a secret: 32 random bytes in base64url. */
const SECRET_FORM = /^[\w-]{43}$/;

/** The name under which core stores an entry, and the key that encrypts the entry. Both come from one secret. */
export interface Seal {
  readonly id: string;
  readonly key: Buffer;
}

/** Returns a new secret: the value of a session's cookie, or the code of a sign-in link. */
export function createSecret(): string {
  return randomBytes(KEY_BYTES).toString("base64url");
}

/** Whether a text has the form of a secret. */
export function isSecret(text: string): boolean {
  return SECRET_FORM.test(text);
}

/** Returns the seal of a secret; undefined if the text cannot be a secret. */
export function sealOf(kind: SealedName, secret: string): Seal | undefined {
  if (!isSecret(secret)) return undefined;
  const bytes = Buffer.from(secret, "base64url");
  const derive = (use: string): Buffer =>
    Buffer.from(hkdfSync("sha256", bytes, "", `chat-bridge ${kind} ${use}`, KEY_BYTES));
  return { id: derive("id").toString("base64url"), key: derive("key") };
}

/** Encrypts a text. Each secret and each kind of entry has its own key, so core cannot swap one entry for another. */
export function seal({ key }: Seal, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts an entry. Returns undefined if `seal` did not create `sealed` with this key. */
export function unseal({ key }: Seal, sealed: Uint8Array): string | undefined {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString("utf8");
  } catch {
    return undefined;
  }
}
