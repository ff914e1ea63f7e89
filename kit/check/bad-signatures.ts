/** An invalid `Service-Signature` header, derived from a valid header. */
export interface BadSignature {
  /** Describes the header, as the end of a phrase such as "a push with …" or "a poll with …". */
  readonly what: string;
  /** Returns the invalid header; null for no header. */
  spoil(right: string, signed: Uint8Array | string): string | null;
}

const timestampOf = (header: string) => header.slice(0, header.indexOf(","));

/** Returns the `v1` entries of a header, each with its leading comma. */
export function entriesOf(header: string): string {
  return header.slice(timestampOf(header).length);
}

/** Headers that do not have the contract's format. Some of these headers contain a valid digest. */
export const MALFORMED: readonly BadSignature[] = [
  { what: "no signature", spoil: () => null },
  { what: "an empty signature", spoil: () => "" },
  { what: "a signature without its timestamp", spoil: (right) => entriesOf(right).slice(1) },
  { what: "a timestamp that is not a number", spoil: (right) => `t=now${entriesOf(right)}` },
  { what: "a signature without a digest", spoil: timestampOf },
  { what: "an empty digest", spoil: (right) => `${timestampOf(right)},v1=` },
  { what: "a digest that is not hex", spoil: (right) => `${timestampOf(right)},v1=${"xy".repeat(32)}` },
];

/** Headers that have the contract's format, but no valid digest. */
export const WRONG: readonly BadSignature[] = [
  { what: "a digest of zeros", spoil: (right) => `${timestampOf(right)},v1=${"0".repeat(64)}` },
  { what: "only the first half of its digest", spoil: (right) => right.replaceAll(/[0-9a-f]{32}\b/g, "") },
  {
    what: "a timestamp other than the signed one",
    spoil: (right) => `t=${Number(timestampOf(right).slice(2)) - 1}${entriesOf(right)}`,
  },
];

/** A key that bridges use by mistake in place of the secret. */
export interface KeyMistake {
  /** Describes the key, as a noun phrase. */
  readonly as: string;
  readonly key: string | Buffer;
  readonly fix: string;
}

const HEX = /^(?:[0-9a-f]{2})+$/i;

/** Returns the keys that bridges use by mistake instead of a secret. */
export function keyMistakes(secret: string): readonly KeyMistake[] {
  const fix = "use the secret as the dashboard shows it, character by character, as the key";
  return [
    {
      as: "an empty secret",
      key: "",
      fix: "give the bridge its secret, and do not let it start without one",
    },
    { as: "the secret with a line break at its end", key: `${secret}\n`, fix },
    { as: "the secret decoded from base64", key: Buffer.from(secret, "base64"), fix },
    ...(HEX.test(secret)
      ? [{ as: "the secret decoded from hex", key: Buffer.from(secret, "hex"), fix }]
      : []),
  ];
}
