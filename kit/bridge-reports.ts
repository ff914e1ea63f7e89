import { refusedBy } from "./error-body";
import type { Channel, InboundEvent, User } from "./inbound-event";
import { numberedChoices } from "./numbered-choices";
import type { PendingCalls } from "./pending-calls";
import type { ReportedIds } from "./reported-ids";
import type { Sender, SendResult } from "./sender";
import type { ShownMessage, ShownMessages } from "./shown-messages";

interface Report {
  /** The member: an id, or the id and the name. Names are cut to 128 characters. */
  readonly user: User | string;
  /** The request id. If the chat can deliver an event twice, give the chat's event id. By default, a random id. */
  readonly id?: string;
}

/** A member ran the command. */
export interface CommandReport extends Report {
  /** The channel, never a DM. */
  readonly channel: Channel;
  /** Text after the command, cut to 2000 characters; an empty text asks for help. */
  readonly text: string;
}

/** A member pressed a button. */
export interface ActionReport extends Report {
  /** The chat's id of the message with the button, as returned by a function of the `chat`. */
  readonly chatMessageId: string;
  /** The button's `action`, unchanged. */
  readonly action: string;
}

/** A member typed a message. You may report all messages: the service ignores messages that no game expects. */
export interface MessageReport extends Report {
  /** The channel; for a DM, `dmChannel(user.id)`. */
  readonly channel: Channel;
  /** At least 1 character; cut to 4000 characters. */
  readonly text: string;
  /**
   * The chat's id of the message that the member replied to. If the kit does not know the id, the report is sent
   * without it.
   */
  readonly replyTo?: string | null;
}

/** A member chose a button by its number, for chats without buttons (see `numberedChoices`). */
export interface ChoiceReport extends Report {
  /** The channel; for a DM, `dmChannel(user.id)`. */
  readonly channel: string;
  readonly number: number;
}

/** The result if no button has the number. Nothing was sent. */
export interface UnknownChoice {
  readonly outcome: "unknown-choice";
  /** The highest number that can be chosen; 0 if the channel shows no message with buttons. */
  readonly highest: number;
}

/**
 * The result if the kit does not know the message with the button: the message is not from the service, or too old.
 * Nothing was sent.
 */
export interface UnknownMessage {
  readonly outcome: "unknown-message";
}

/** Functions that report to the service what members do. They never reject because of the service or the network. */
export interface BridgeReports {
  command(report: CommandReport): Promise<SendResult>;
  action(report: ActionReport): Promise<SendResult | UnknownMessage>;
  /**
   * Reports that the member pressed the button with this number. The button belongs to a message that the member sees
   * in the channel: the most recently posted or updated message that has buttons with actions.
   */
  choose(report: ChoiceReport): Promise<SendResult | UnknownChoice>;
  message(report: MessageReport): Promise<SendResult>;
}

export interface ReportParts {
  readonly sender: Sender;
  readonly shown: ShownMessages;
  readonly calls: PendingCalls;
  /** Records the channels and members in reports; undefined if games may write to all channels and members. */
  readonly reported?: ReportedIds | undefined;
  /** Aborts pending reports. */
  readonly signal: AbortSignal;
  /** Called with the reason when the service does not accept an event. */
  readonly report: (problem: Error) => void;
}

/** Maximum number of reports that wait for the store. */
const NOTED_MAX = 1_000;

/** Returns the report functions, and a function that resolves when no report is pending. */
export function createReports({ sender, shown, calls, reported, signal, report }: ReportParts) {
  const pending = new Set<Promise<SendResult>>();

  async function send(event: InboundEvent, id: string | undefined): Promise<SendResult> {
    const sent = id === undefined ? event : { ...event, id };
    // The ids are saved before the report is sent, because a game's answer to these ids can arrive immediately.
    const noted = reported?.note(event);
    const sending =
      noted === undefined || pending.size >= NOTED_MAX
        ? sender.send(sent, { signal })
        : noted.then(() => sender.send(sent, { signal }));
    pending.add(sending);
    try {
      const result = await sending;
      const problem = problemOf(event, result);
      if (problem !== undefined) report(new Error(problem));
      return result;
    } finally {
      pending.delete(sending);
    }
  }

  /** A member can answer a message before the chat has returned its id, so this function waits for pending calls. */
  async function findLater(chatMessageId: string): Promise<ShownMessage | undefined> {
    await calls.settled();
    return shown.byChatMessageId(chatMessageId);
  }

  const reports: BridgeReports = {
    command: ({ channel, user, text, id }) =>
      send({ type: "command", channel, user: userOf(user), text }, id),
    async action({ chatMessageId, user, action, id }) {
      const found = shown.byChatMessageId(chatMessageId) ?? (await findLater(chatMessageId));
      if (found === undefined) return { outcome: "unknown-message" };
      const { channel, messageId } = found;
      return send({ type: "action", channel, user: userOf(user), messageId, action }, id);
    },
    async choose({ channel, number, user: member, id }) {
      const user = userOf(member);
      for (const { messageId, message, user: onlyFor } of shown.inChannel(channel)) {
        if (onlyFor !== null && onlyFor !== user.id) continue;
        const actions = numberedChoices(message.buttons).filter(({ action }) => action !== undefined);
        if (actions.length === 0) continue;
        const action = actions[number - 1]?.action;
        if (action === undefined) return { outcome: "unknown-choice", highest: actions.length };
        return send({ type: "action", channel, user, messageId, action }, id);
      }
      return { outcome: "unknown-choice", highest: 0 };
    },
    async message({ channel, user, text, replyTo, id }) {
      const found =
        replyTo == null ? undefined : (shown.byChatMessageId(replyTo) ?? (await findLater(replyTo)));
      const repliedTo = found?.messageId;
      const event = { type: "message", channel, user: userOf(user), text } as const;
      return send(repliedTo === undefined ? event : { ...event, replyTo: repliedTo }, id);
    },
  };
  return {
    reports,
    async idle(): Promise<void> {
      while (pending.size > 0) await Promise.allSettled(pending);
    },
  };
}

function userOf(user: User | string): User {
  return typeof user === "string" ? { id: user } : user;
}

/** Returns the words with which problems name an event of a type. */
function named(type: InboundEvent["type"]): string {
  return type === "action" ? "an action" : `a ${type}`;
}

function problemOf({ type }: InboundEvent, result: SendResult): string | undefined {
  switch (result.outcome) {
    case "accepted":
      return undefined;
    case "refused": {
      const { status, message, field } = result;
      return `${named(type)} was not sent: ${refusedBy(status, field === undefined ? message : `${field}: ${message}`)}`;
    }
    case "given-up": {
      const { reason, status, attempts, message = reason } = result;
      const last = status === undefined ? message : `status ${status}`;
      return `${named(type)} was dropped after ${attempts} attempts: ${last}`;
    }
  }
}
