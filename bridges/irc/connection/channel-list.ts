/** A channel to join, and its key if it has one. */
export interface WantedChannel {
  readonly name: string;
  readonly key: string | undefined;
}

/** Maximum bytes of the name of a channel. A longer name would leave little room for text in a line. */
const NAME_MAX_BYTES = 64;
const NAME_FORM = /^[#&+!][^\p{Cc} ,:]+$/u;

/**
 * Reads the entries of IRC_CHANNELS, e.g. "#games" or "#private key". A name without a channel prefix gets the prefix
 * "#". Throws an `Error` whose message is the rest of a sentence that begins with "IRC_CHANNELS".
 */
export function readChannels(entries: readonly string[]): readonly WantedChannel[] {
  return entries.map((entry) => {
    const [first = "", key, ...more] = entry.split(/\s+/);
    const name = /^[#&+!]/.test(first) ? first : `#${first}`;
    if (!isChannelName(name) || more.length > 0) {
      throw new Error(
        `must be a list of channel names of at most ${NAME_MAX_BYTES} bytes, each with an optional key after a space`,
      );
    }
    return { name, key };
  });
}

/** Returns whether a string is the name of a channel. */
export function isChannelName(name: string): boolean {
  return NAME_FORM.test(name) && Buffer.byteLength(name) <= NAME_MAX_BYTES;
}
