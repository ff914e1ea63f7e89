/** HTML that is made only of our own markup and escaped text. */
export interface Html {
  readonly text: string;
}

type Value = string | Html | readonly Html[];

export const EMPTY: Html = { text: "" };

/** A template tag for markup. It escapes strings, and inserts `Html` values unchanged. */
export function html(markup: TemplateStringsArray, ...values: readonly Value[]): Html {
  return {
    text: markup.reduce((before, part, index) => before + rendered(values[index - 1] ?? EMPTY) + part),
  };
}

/** Converts a text with code in backticks to HTML. */
export function prose(text: string): readonly Html[] {
  return text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

function rendered(value: Value): string {
  if (typeof value === "string") return escaped(value);
  return "text" in value ? value.text : value.map(({ text }) => text).join("");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
