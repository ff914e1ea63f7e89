import type { ShownMessage } from "./memory-core";

/** Whether a text contains another text, or matches a regular expression. */
const matches = (text: string, pattern: string | RegExp): boolean =>
  typeof pattern === "string" ? text.includes(pattern) : text.search(pattern) >= 0;

/** Messages that members can see. */
export abstract class ChatPlace {
  /** The name of the place, for errors. */
  protected abstract readonly title: string;

  /** The messages in their newest versions, oldest first. */
  abstract get messages(): readonly ShownMessage[];

  /** The texts of the messages, separated by blank lines. */
  get text(): string {
    return this.messages.map(({ content }) => content.text).join("\n\n");
  }

  /** The labels of all buttons, in the order in which they are shown. */
  get buttons(): readonly string[] {
    return this.messages.flatMap(({ content }) => content.buttons.flat().map(({ label }) => label));
  }

  /** Throws if no message contains the text or matches the expression. */
  protected mustShow(pattern: string | RegExp): void {
    if (this.messages.some(({ content }) => matches(content.text, pattern))) return;
    throw new Error(`${this.title} has no message with ${quote(pattern)}.\n${this.#list()}`);
  }

  /** Throws if a message contains the text or matches the expression. */
  protected mustHide(pattern: string | RegExp): void {
    if (!this.messages.some(({ content }) => matches(content.text, pattern))) return;
    throw new Error(`${this.title} has a message with ${quote(pattern)}.\n${this.#list()}`);
  }

  #list(): string {
    return listMessages(this.title, this.messages);
  }
}

/** Maximum number of messages in an error. */
const LISTED_MAX = 20;

/** Returns the newest messages as text, oldest first. */
export function listMessages(title: string, messages: readonly ShownMessage[]): string {
  if (messages.length === 0) return `${title} has no messages.`;
  const listed = messages.slice(-LISTED_MAX);
  const which =
    listed.length < messages.length ? `the newest ${listed.length} of ${messages.length}` : "these";
  return `${title} has ${which} messages:\n${listed.map(describe).join("\n")}`;
}

function describe({ content, to }: ShownMessage): string {
  const text = content.text.replaceAll("\n", "\n    ");
  const rows = content.buttons.map((row) => `\n    ${row.map(({ label }) => `[${label}]`).join(" ")}`);
  return `  - ${to === undefined ? "" : `(only ${to} sees this) `}${text}${rows.join("")}`;
}

function quote(pattern: string | RegExp): string {
  return typeof pattern === "string" ? `"${pattern}"` : String(pattern);
}
