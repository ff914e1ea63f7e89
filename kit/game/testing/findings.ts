import { BUTTON_ROWS, LABEL_CHARACTERS, ROW_BUTTONS, TEXT_CHARACTERS } from "../chat-sizes";

/** "broken": the game broke a rule of the contract. "advice": the game works, but can be improved. */
export type Severity = "broken" | "advice";

interface Rule {
  readonly severity: Severity;
  /** Advice for the game's developer. */
  readonly advice: string;
}

const RULES = {
  "late-ack": {
    severity: "broken",
    advice:
      "ack each event within the ack deadline, or extend the deadline while the game still works on the event",
  },
  unacked: { severity: "broken", advice: "ack every event, also those that the game ignores" },
  "invalid-event": { severity: "broken", advice: "fix the field, because core refuses the event" },
  "unknown-workspace": {
    severity: "broken",
    advice:
      "publish only to workspaces from which events came, and drop the event: the workspace was deleted or disconnected",
  },
  "stale-event": {
    severity: "advice",
    advice: "drop the work that led to the event: another stream, or a later attempt, does this work",
  },
  "unknown-message": {
    severity: "broken",
    advice: "update only messages whose message_id a PublishResult contained",
  },
  "ephemeral-update": {
    severity: "broken",
    advice: "send a new message: an ephemeral message cannot be updated",
  },
  "wrong-channel": {
    severity: "broken",
    advice: 'name the channel of the original message; for a DM, "dm:" followed by the id of the member',
  },
  "unknown-channel": {
    severity: "advice",
    advice: "post only in channels that occurred in an event: the chat may have no other channels",
  },
  "unheard-message": {
    severity: "advice",
    advice:
      "set awaits_reply on each message that members answer by typing: many bridges report what members type in a channel only while such a message waits",
  },
  "dead-letter": { severity: "advice", advice: "find out why the game could not process the event" },
  "lost-backlog": {
    severity: "advice",
    advice: "follow again: events were removed before the group got them",
  },
  "no-key": {
    severity: "advice",
    advice: "give each event an idempotency_key: without a key, a repeated call shows the message twice",
  },
  "no-fence": {
    severity: "advice",
    advice: "give each event a fence: without a fence, a suspended process can publish stale events",
  },
  "long-text": {
    severity: "advice",
    advice: `use at most ${TEXT_CHARACTERS} characters: some chats show no more`,
  },
  "long-label": {
    severity: "advice",
    advice: `use at most ${LABEL_CHARACTERS} characters: some chats show no more`,
  },
  "wide-row": {
    severity: "advice",
    advice: `use at most ${ROW_BUTTONS} buttons in a row: some chats show no more`,
  },
  "many-rows": { severity: "advice", advice: `use at most ${BUTTON_ROWS} rows: some chats show no more` },
  "data-without-text": {
    severity: "advice",
    advice: "repeat the information in the text: most bridges do not show data",
  },
} as const satisfies Record<string, Rule>;

export type FindingCode = keyof typeof RULES;

/** A rule that the game broke, or advice. */
export interface Finding extends Rule {
  readonly code: FindingCode;
  /** Number of cases. */
  readonly count: number;
  /** Details of the first case. */
  readonly example: string;
}

/** One case of a finding. */
export interface Occurrence extends Rule {
  readonly code: FindingCode;
  readonly detail: string;
}

/** Counts findings by their code, so their memory is bounded. */
export class Findings {
  readonly #found = new Map<FindingCode, { count: number; readonly example: string }>();
  readonly #onFinding: ((occurrence: Occurrence) => void) | undefined;

  constructor(onFinding?: (occurrence: Occurrence) => void) {
    this.#onFinding = onFinding;
  }

  add(code: FindingCode, detail: string): void {
    const found = this.#found.get(code);
    if (found) found.count += 1;
    else this.#found.set(code, { count: 1, example: detail });
    this.#onFinding?.({ code, detail, ...RULES[code] });
  }

  clear(): void {
    this.#found.clear();
  }

  /** Returns the findings, broken rules first. `extra` contains findings that apply only at the time of this call. */
  list(
    extra: readonly { readonly code: FindingCode; readonly count: number; readonly example: string }[],
  ): Finding[] {
    const found = [...this.#found].map(([code, each]) => ({ code, ...each }));
    return [...found, ...extra]
      .map((each) => ({ ...each, ...RULES[each.code] }))
      .toSorted((a, b) => (a.severity === b.severity ? 0 : a.severity === "broken" ? -1 : 1));
  }
}
