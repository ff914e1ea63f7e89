/** A sample of a class of characters, for the text of a message. */
export interface TextSample {
  /** The class, in lower case. */
  readonly what: string;
  /** The sample as message text with markup. It begins and ends with a letter or a symbol. */
  readonly text: string;
  /** The sample after its markup is rendered; `text` by default. */
  readonly rendered?: string;
  /** Whether the chat may show other white space in place of the sample's white space. */
  readonly isLoose?: true;
}

const COMPOSED = "é ñ å ö が";

/**
 * Samples of the characters that real chats contain, in groups. Each group is sent as one message, and is short enough
 * for one line of a chat such as IRC.
 */
export const SAMPLES = {
  letters: [
    { what: "latin letters", text: "Zoë Ångström ß Ÿ İ" },
    { what: "composed letters", text: COMPOSED },
    { what: "letters with combining marks", text: COMPOSED.normalize("NFD") },
    { what: "greek and cyrillic letters", text: "Ωμέγα Привет" },
    { what: "cjk characters", text: "日本語 漢字 한국어 ｶﾀｶﾅ" },
  ],
  emoji: [
    { what: "emoji", text: "😀🎉🥇" },
    { what: "emoji with joiners", text: "👩‍👩‍👧‍👦" },
    { what: "flags", text: "🇨🇦🇯🇵" },
    { what: "emoji with skin tones", text: "👍🏽👩🏿‍🚀" },
    { what: "variation selectors", text: "❤\u{fe0f}☎\u{fe0e}" },
  ],
  direction: [
    { what: "right-to-left letters", text: "שלום مرحبا" },
    { what: "direction marks", text: "a\u{200f}b\u{200e}c\u{2067}d\u{2069}e" },
    { what: "zero-width characters", text: "a\u{200b}b\u{2060}c\u{feff}d\u{ad}e" },
    { what: "unusual spaces", text: "a\u{a0}b\u{2003}c\u{202f}d\u{3000}e" },
    { what: "line separators", text: "a\u{2028}b\u{2029}c", isLoose: true },
    { what: "tabs", text: "a\tb", isLoose: true },
  ],
  symbols: [
    { what: "private and unassigned characters", text: "a\u{e000}b\u{f0000}c\u{378}d" },
    { what: "the replacement character", text: "a\u{fffd}b" },
    { what: "quotes and backslashes", text: `"a" 'b' C\\\\d`, rendered: `"a" 'b' C\\d` },
    { what: "escaped html", text: "\\<\\/script\\> \\&amp", rendered: "</script> &amp" },
    {
      what: "escaped markup",
      text: "Ann\\_Lee\\_ \\*5\\* \\| \\~\\~x\\~\\~ \\`y\\` \\[z\\]\\(w\\)",
      rendered: "Ann_Lee_ *5* | ~~x~~ `y` [z](w)",
    },
  ],
} as const satisfies Readonly<Record<string, readonly TextSample[]>>;

/** The label of a button: labels are plain text, without markup. */
export const LABEL_SAMPLE = `Zoë ${"é".normalize("NFD")} 日本語 👩‍🚀`;

/** The words after the last sample of a text. */
const END = "the end";
/** A character above U+FFFF: one character, but two UTF-16 units. */
export const EMOJI = "😀";
/** All samples in one text. */
export const ALL_SAMPLES = textOf(Object.values(SAMPLES).flat());

/** Returns the text of a message with all samples of a group. */
export function textOf(samples: readonly TextSample[]): string {
  return `${samples.map(({ what, text }) => `${what}: ${text};`).join(" ")} ${END}`;
}

/**
 * Returns the part of a shown text that corresponds to the sample `samples[i]`; undefined if the text has no such part.
 */
export function partOf(shown: string, samples: readonly TextSample[], i: number): string | undefined {
  const head = `${samples[i]?.what}: `;
  const start = shown.indexOf(head);
  if (start === -1) return undefined;
  const next = samples[i + 1];
  const end = shown.indexOf(next === undefined ? END : `${next.what}: `, start);
  return shown.slice(start + head.length, end === -1 ? undefined : end).replace(/;[ \n]*$/, "");
}

/** Returns whether `part` shows a sample, either as markup or rendered, as plain text or as HTML. */
export function isShown(part: string, { text, rendered = text, isLoose }: TextSample): boolean {
  const plain = (each: string) => (isLoose === true ? each.replaceAll(/\s+/g, " ") : each);
  return [text, rendered].some((each) => [part, fromHtml(part)].map(plain).includes(plain(each)));
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt": "<",
  "&gt": ">",
  "&quot": '"',
  "&#34": '"',
  "&#39": "'",
  "&#x27": "'",
  "&amp": "&",
};

function fromHtml(part: string): string {
  return part.replaceAll(
    /&(?:lt|gt|quot|#34|#39|#x27|amp);/g,
    (entity) => ENTITIES[entity.slice(0, -1)] ?? entity,
  );
}
