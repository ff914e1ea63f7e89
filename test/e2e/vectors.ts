const COMMAND = '{"type":"command","channel":"c1","user":{"id":"u1"},"text":""}';

type Row = readonly [what: string, raw: string | Buffer, mac: string, secret?: string, t?: string];

/**
 * Digests from openssl. The command for text:
 *
 *     printf '%s' "$t.$raw" | openssl dgst -sha256 -hmac "$secret" -hex
 *
 * The command for the bytes that are not text:
 *
 *     printf '1700000000.\x00\xff\x0d\x0a' | openssl dgst -sha256 -hmac 'secret-one' -hex
 */
const ROWS: readonly Row[] = [
  ["a command event", COMMAND, "950005aed74c5817c44170db962aa9ed6c7721eeb351b343230a880f7ac014f2"],
  [
    "the same command event under another secret",
    COMMAND,
    "f37801b7b02a9c6e185dd63d6d78de71bab569639567f1fc85c20c3136da16fc",
    "secret-two",
  ],
  ["an empty query string", "", "935d3c4e14a74adf6f0f95dcafcdc036a21cc551679303297400911317b16b42"],
  [
    "a query string",
    "after=latest&limit=5",
    "0739a20bf6d7909c07144852087418c997652d4ec78bc6b9532abbc9e421b9ba",
  ],
  [
    "a secret and a text with non-ASCII characters, and a timestamp with leading zeros",
    '{"text":"Ünï 🎲"}',
    "f2b9485b3d9bcd96ccac210a6f61590e16cdd93c4c10cd145018893aad4632cc",
    "ключ-🔑",
    "0001700000000",
  ],
  [
    "bytes that are not text",
    Buffer.from([0x00, 0xff, 0x0d, 0x0a]),
    "85aeab47487d8ce89f9732f3ecfd094992a7200b182eed409c770358454fe57f",
  ],
];

export const SIGNATURE_VECTORS = ROWS.map(([what, raw, mac, secret = "secret-one", t = "1700000000"]) => ({
  what,
  secret,
  t,
  raw,
  mac,
}));
