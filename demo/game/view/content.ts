import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { writeAction, type ButtonAction } from "../rules/button-action";
import type { MessageContent } from "../rules/output";

type Row = NonNullable<MessageContent["rows"]>[number];
type Button = NonNullable<Row["buttons"]>[number];

/** A button whose press is reported as an action. Labels are not Markdown. */
export function button(label: string, action: ButtonAction): Button {
  return { label, press: { $case: "action", value: writeAction(action) } };
}

/** A button that opens a page; its press is not reported. */
export function link(label: string, url: string): Button {
  return { label, press: { $case: "url", value: url } };
}

/** Returns rows of buttons without the empty ones, which the contract does not allow. */
export function rows(...buttons: readonly (readonly Button[])[]): Row[] {
  return buttons.filter((row) => row.length > 0).map((row) => ({ buttons: [...row] }));
}

/** Joins the texts that are not empty, with a blank line between them. */
export function paragraphs(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== "").join("\n\n");
}

export function card(text: string): MessageContent {
  return { kind: MessageKind.CARD, text };
}
