export interface Payload {
  /** The type of the event; empty if the text contains no type. */
  readonly type: string;
  /** The JSON with line breaks, or the unchanged text if it is not JSON. */
  readonly pretty: string;
}

/** Reads an event's envelope. */
export function readPayload(json: string): Payload {
  try {
    const event = JSON.parse(json) as { readonly type?: unknown } | null;
    const type = typeof event?.type === "string" ? event.type : "";
    return { type, pretty: JSON.stringify(event, null, 2) };
  } catch {
    return { type: "", pretty: json };
  }
}
