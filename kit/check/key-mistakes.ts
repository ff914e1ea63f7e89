/** A wrong key that bridges use by mistake. */
export interface KeyMistake {
  /** The key, as a noun phrase. */
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
