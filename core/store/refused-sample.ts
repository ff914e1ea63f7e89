import { REFUSAL_STATUS } from "../../contract/requests";
import type { RefusedRequest } from "../domain/refused-request";

/** Maximum bytes of a stored sample. */
const SAMPLE_MAX_BYTES = 1_024;
/** Maximum number of characters of each text in a sample. */
const TEXT_MAX = { field: 128, message: 256, signedText: 64, address: 45 } as const;

/** Returns a sample as Redis stores it. A text that does not fit is cut or left out. */
export function encodeSample(sample: RefusedRequest): string {
  const { field, message, signedText, address, ...rest } = sample;
  const texts = { address: cut(address, TEXT_MAX.address), field: cut(field, TEXT_MAX.field) };
  const whole = {
    ...rest,
    ...texts,
    message: cut(message, TEXT_MAX.message),
    signedText: cut(signedText, TEXT_MAX.signedText),
  };
  const versions = [
    whole,
    { ...rest, ...texts, message: whole.message },
    { ...rest, address: texts.address },
  ];
  return versions.map((each) => JSON.stringify(each)).find(fits) ?? JSON.stringify(rest);
}

/**
 * Parses a stored sample, '<number> <sample>'. Returns undefined if the sample cannot be read, or if only a newer
 * release knows its kind.
 */
export function decodeSample(stored: string): RefusedRequest | undefined {
  try {
    const sample = JSON.parse(stored.slice(stored.indexOf(" ") + 1)) as RefusedRequest;
    return Object.hasOwn(REFUSAL_STATUS, sample.kind) ? sample : undefined;
  } catch {
    return undefined;
  }
}

function fits(text: string): boolean {
  return Buffer.byteLength(text) <= SAMPLE_MAX_BYTES;
}

function cut(text: string | undefined, max: number): string | undefined {
  return text === undefined
    ? undefined
    : Array.from(text.slice(0, 2 * max))
        .slice(0, max)
        .join("");
}
