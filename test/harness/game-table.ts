import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { Question } from "../../demo/game/rules/game-state";
import type { Input, Output } from "../../demo/game/rules/input-output";
import { play } from "../../demo/game/rules/play";
import { emptyWorkspace, type Rules } from "../../demo/game/rules/workspace";

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
const RULES: Rules = {
  names: { own: "trivia", all: ["trivia"] },
  rounds: 2,
  secondsPerQuestion: 10,
  lobbyMs: 30_000,
  revealMs: 5_000,
  drawQuestions: () => [CHOICE, NUMBER],
};
export const MESSAGE_ID = "msg_01HZZZZZZZZZZZZZZZZZZZZZZZ";
const NAMES: Readonly<Record<string, string>> = { ann: "Ann", bob: "*Bob*|~" };

/**
 * Returns functions that play the game in one new workspace, and return the game's outputs. Event ids start at
 * "e1".
 */
export function table() {
  const workspace = emptyWorkspace();
  let nowMs = 0;
  let events = 0;
  const feed = (input: Input): readonly Output[] => play(RULES, workspace, input, nowMs);
  const from = (id: string, channel = "c1") => ({
    eventId: `e${++events}`,
    channel,
    member: { id, name: NAMES[id] ?? id },
  });
  return {
    command: (who: string, text: string) => feed({ type: "command", ...from(who), text }),
    press: (who: string, action: string, channel?: string) =>
      feed({ type: "action", ...from(who, channel), messageId: MESSAGE_ID, action }),
    types: (who: string, text: string, replyTo?: string | null, channel?: string) =>
      feed({ type: "message", ...from(who, channel), text, replyTo }),
    /** Advances the clock, and feeds the game a tick. */
    after(ms: number) {
      nowMs += ms;
      return feed({ type: "tick" });
    },
  };
}

export const kinds = (outputs: readonly Output[]): readonly string[] =>
  outputs.map(({ type, content }) => `${type} ${MessageKind[content.kind ?? 0]}`);
export const texts = (outputs: readonly Output[]) => outputs.map(({ content }) => content.text).join("\n");

export function atQuestion() {
  const here = table();
  here.command("ann", "start");
  here.press("bob", "join:e1");
  here.press("ann", "begin:e1");
  return here;
}
