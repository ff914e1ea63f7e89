import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { writeAction, type ButtonAction } from "../rules/button-action";
import type { MessageContent } from "../rules/output";

type Row = NonNullable<MessageContent["rows"]>[number];
type Button = NonNullable<Row["buttons"]>[number];

/** A button that comes back as an action when it is pressed. Labels are no Markdown. */
export function button(label: string, action: ButtonAction): Button {
  return { label, press: { $case: "action", value: writeAction(action) } };
}

/** A button that opens a page, and does not come back. */
export function link(label: string, url: string): Button {
  return { label, press: { $case: "url", value: url } };
}

/** Rows of buttons; an empty row is left out, as the contract has none. */
export function rows(...buttons: readonly (readonly Button[])[]): Row[] {
  return buttons.filter((row) => row.length > 0).map((row) => ({ buttons: [...row] }));
}

/** Text in paragraphs: a blank line between them, none where there is nothing to say. */
export function paragraphs(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== "").join("\n\n");
}

export function card(text: string): MessageContent {
  return { kind: MessageKind.CARD, text };
}
