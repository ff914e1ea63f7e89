/** A digest that openssl made. */
export interface SignatureVector {
  readonly what: string;
  readonly secret: string;
  readonly t: string;
  readonly raw: string | Buffer;
  readonly mac: string;
}

const COMMAND = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';

/**
 * Each was made with
 *
 *     printf '%s' "$t.$raw" | openssl dgst -sha256 -hmac "$secret" -hex
 *
 * and the one of bytes that are no text with
 *
 *     printf '1700000000.\x00\xff\x0d\x0a' | openssl dgst -sha256 -hmac 'secret-one' -hex
 */
export const SIGNATURE_VECTORS: readonly SignatureVector[] = [
  {
    what: "a command",
    secret: "secret-one",
    t: "1700000000",
    raw: COMMAND,
    mac: "950005aed74c5817c44170db962aa9ed6c7721eeb351b343230a880f7ac014f2",
  },
  {
    what: "the same command under another secret",
    secret: "secret-two",
    t: "1700000000",
    raw: COMMAND,
    mac: "f37801b7b02a9c6e185dd63d6d78de71bab569639567f1fc85c20c3136da16fc",
  },
  {
    what: "an empty query string",
    secret: "secret-one",
    t: "1700000000",
    raw: "",
    mac: "935d3c4e14a74adf6f0f95dcafcdc036a21cc551679303297400911317b16b42",
  },
  {
    what: "a query string",
    secret: "secret-one",
    t: "1700000000",
    raw: "after=latest&limit=5",
    mac: "0739a20bf6d7909c07144852087418c997652d4ec78bc6b9532abbc9e421b9ba",
  },
  {
    what: "a secret and a text beyond ASCII, and a timestamp with leading zeros",
    secret: "ключ-🔑",
    t: "0001700000000",
    raw: '{"text":"Ünï 🎲"}',
    mac: "f2b9485b3d9bcd96ccac210a6f61590e16cdd93c4c10cd145018893aad4632cc",
  },
  {
    what: "bytes that are no text",
    secret: "secret-one",
    t: "1700000000",
    raw: Buffer.from([0x00, 0xff, 0x0d, 0x0a]),
    mac: "85aeab47487d8ce89f9732f3ecfd094992a7200b182eed409c770358454fe57f",
  },
  {
    what: "a timestamp of thirty digits",
    secret: "secret-one",
    t: "999999999999999999999999999999",
    raw: "{}",
    mac: "b67acf31575eb9d3217ea54204db9fe07d4afaa8b94477ef4517c8ea1107fbe7",
  },
];
