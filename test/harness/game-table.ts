import type { OutboundContent } from "../../core/domain/outbound-event";
import type { Question, Rules } from "../../demo/game/rules/game-state";
import { createTrivia } from "../../demo/game/trivia";
import { testGame, type TestGameOptions } from "../../kit/game/testing";
import type { InboundEvent } from "../../proto/gen/chatbridge/v1/event";

export const CHOICE = {
  kind: "choice",
  text: "Which of *these* is 2|3?",
  options: ["wrong", "right_one"],
  right: 1,
  picture: "http://127.0.0.1/a.png",
  more: "https://example.com/more",
} satisfies Question;
const NUMBER: Question = {
  kind: "number",
  text: "How many?",
  right: 100,
  unit: "keys",
  more: "https://example.com/keys",
};
export const RULES: Rules = {
  name: "trivia",
  otherGames: [],
  rounds: 2,
  secondsPerQuestion: 10,
  lobbyMs: 30_000,
  revealMs: 5_000,
  drawQuestions: () => [CHOICE, NUMBER],
};
const NAMES: Readonly<Record<string, string>> = { ann: "Ann", bob: "*Bob*|~" };

/** The content that an event shows, and the id of the event's message. */
export type Output = OutboundContent & { readonly id: string };

/**
 * Returns functions that play the game in a chat in memory. Each function resolves with the events that the game
 * published during the call, and rejects if a handler fails or core refuses an event.
 */
export function table(rules: Rules = RULES, options: TestGameOptions = {}) {
  const chat = testGame(createTrivia(rules), options);
  const [workspaceId = ""] = chat.core.workspaceIds;
  const sent = (): readonly Output[] =>
    (chat.core.workspace(workspaceId)?.outbound ?? []).map(({ event, messageId: id }) => ({
      ...event.content,
      id,
    }));

  async function outputsOf(act: () => Promise<void>): Promise<readonly Output[]> {
    const before = sent().length;
    await act();
    return sent().slice(before);
  }
  const report = (
    who: string,
    channel: string,
    kind: NonNullable<InboundEvent["kind"]>,
    name = NAMES[who] ?? who,
  ) =>
    outputsOf(() => {
      const user = { id: who, name };
      chat.core.receive(workspaceId, { channel: { id: channel }, user, kind });
      return chat.settle();
    });
  const pressAction = (who: string, action: string, messageId: string, channel = "c1", name?: string) =>
    report(who, channel, { $case: "action", value: { messageId, action } }, name);

  return {
    chat,
    workspaceId,
    /** All events of the game, oldest first. */
    sent,
    command: (who: string, text: string, channel = "c1", name?: string) =>
      report(who, channel, { $case: "command", value: { text } }, name),
    /** Presses the newest button whose label begins with `label`, even if the chat does not show the button any more. */
    press(who: string, label: string) {
      for (const output of sent().toReversed()) {
        const button = output.message.buttons.flat().find((each) => each.label.startsWith(label));
        if (button && "action" in button) return pressAction(who, button.action, output.id, placeOf(output));
      }
      throw new Error(`no message had a button ${label}`);
    },
    pressAction,
    types: (who: string, text: string, replyTo?: string, channel = "c1", name?: string) =>
      report(who, channel, { $case: "message", value: { text, replyTo } }, name),
    after: (ms: number) => outputsOf(() => chat.clock.advance(ms)),
  };
}

export const kinds = (outputs: readonly Output[]): readonly string[] =>
  outputs.map(({ type, message }) => `${type} ${message.kind}`);
export const texts = (outputs: readonly Output[]) => outputs.map(({ message }) => message.text).join("\n");
/** Returns the channel in which an event shows its message. */
export const placeOf = (output: Output): string =>
  output.type === "dm.create" ? `dm:${output.user}` : output.channel;

/** Starts a game with the members Ann and Bob. Returns the table, and the id of the live message. */
export async function atQuestion() {
  const here = table();
  const [lobby] = await here.command("ann", "start");
  await here.press("bob", "Join");
  await here.press("ann", "Start");
  return { ...here, live: lobby?.id ?? "" };
}

/** Answers the first question wrong for Ann and Bob, and waits for the number question. */
export async function atNumber() {
  const here = await atQuestion();
  for (const who of ["ann", "bob"]) await here.press(who, "A · ");
  const asked = await here.after(5_000);
  return { ...here, asked };
}
