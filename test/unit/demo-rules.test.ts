import * as fc from "fast-check";
import { readOutboundEvent } from "../../core/rpc/outbound-message";
import { findOutboundFault } from "../../core/domain/outbound-rules";
import { toOutboundEvent } from "../../demo/game/grpc/outbound-event";
import { drawQuestions } from "../../demo/game/questions/draw-questions";
import { readAction, writeAction } from "../../demo/game/rules/button-action";
import type { Input, Output } from "../../demo/game/rules/input-output";
import { nextTickAt, play } from "../../demo/game/rules/play";
import { emptyWorkspace, type Rules } from "../../demo/game/rules/workspace";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { ANY_CHARACTER, forAll } from "../harness/for-all";

const RULES: Rules = {
  names: { own: "trivia", all: ["trivia", "quiz"] },
  rounds: 3,
  secondsPerQuestion: 10,
  lobbyMs: 30_000,
  revealMs: 5_000,
  drawQuestions: (count, seed) => drawQuestions(count, seed, (name) => `http://127.0.0.1/${name}.png`),
};
const MESSAGE_ID = "msg_01HZZZZZZZZZZZZZZZZZZZZZZZ";
const WORKSPACE_ID = "11111111-2222-3333-4444-555555555555";

/** Ids of games: a game has the id of the event that opened it. Every run begins with the game whose id is e0. */
const anyGame = fc.oneof(
  { weight: 4, arbitrary: fc.constant("e0") },
  fc.nat(12).map((n) => `e${n}`),
);

const anyText = fc.string({ unit: ANY_CHARACTER, minLength: 1 });
const COMMANDS = ["start", "START now", "stop", "", "help", "suggest", "dance", "trivia stop"];
const REMATCHES = "rematch:c1 rematch:dm:u1 no-rematch".split(" ");

interface Step {
  readonly waitMs: number;
  readonly input: (eventId: string) => Input;
}

/** A random step: a tick, or a command, press or text of any member. Some commands, presses and texts are valid. */
const anyStep: fc.Arbitrary<Step> = fc
  .record({
    waitMs: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 20_000 })),
    id: fc.constantFrom("u1", "u2", "u3", "u4", "u5"),
    name: fc.oneof(fc.constantFrom("Ann", "*B* | ~b~", "[x](http://y)"), fc.string({ unit: ANY_CHARACTER })),
    channel: fc.constantFrom("c1", "c2"),
    text: fc.oneof(fc.constantFrom(...COMMANDS), fc.constantFrom("42", "1 969", "-3.5"), anyText),
    action: fc.oneof(
      fc.tuple(fc.constantFrom("join", "begin"), anyGame).map((parts) => parts.join(":")),
      fc.tuple(fc.constant("answer"), fc.nat(3), fc.nat(4), anyGame).map((parts) => parts.join(":")),
      fc.constantFrom(...REMATCHES),
      fc.string(),
    ),
    replyTo: fc.constantFrom(undefined, null, "e0", "e1", "e2"),
    isDm: fc.boolean(),
    type: fc.constantFrom("command", "action", "action", "action", "message", "tick"),
  })
  .map(({ waitMs, id, name, channel, text, action, replyTo, isDm, type }) => ({
    waitMs,
    input(eventId) {
      const place = isDm && type !== "command" ? `dm:${id}` : channel;
      const from = { eventId, channel: place, member: { id, name } };
      if (type === "command") return { type, ...from, text };
      if (type === "action") return { type, ...from, messageId: MESSAGE_ID, action };
      return type === "message" ? { type, ...from, text, replyTo } : { type: "tick" };
    },
  }));

/** Opens a lobby and plays the steps, with further ticks at the times that `nextTickAt` returns. */
function playAll(steps: readonly Step[]) {
  const workspace = emptyWorkspace();
  let nowMs = 1_000_000;
  const sent: { readonly atMs: number; readonly output: Output }[] = [];

  function feed(input: Input, atMs: number): void {
    nowMs = atMs;
    for (const output of play(RULES, workspace, input, nowMs)) sent.push({ atMs, output });
  }

  function tickUntil(untilMs: number): void {
    for (let at = nextTickAt(workspace); at <= untilMs; at = nextTickAt(workspace)) {
      feed({ type: "tick" }, Math.max(nowMs, at));
    }
  }

  const opening = { eventId: "e0", channel: "c1", member: { id: "u1", name: "Ann" } };
  feed({ type: "command", ...opening, text: "start" }, nowMs);
  for (const [i, { waitMs, input }] of steps.entries()) {
    tickUntil(nowMs + waitMs);
    feed(input(`e${i + 1}`), nowMs + waitMs);
  }
  return { sent, nowMs: () => nowMs, games: () => workspace.games.size, tickUntil };
}

const steps = fc.array(anyStep, { maxLength: 60 });

test("core would accept every output of a game, whatever members do", () => {
  forAll(steps, (all) => {
    for (const { output } of playAll(all).sent) {
      const posting = { workspaceId: WORKSPACE_ID, idempotencyKey: "k", output, game: "trivia" };
      const read = readOutboundEvent(toOutboundEvent(posting, MESSAGE_ID));
      expect(read).not.toHaveProperty("fault");
      if ("event" in read) expect(findOutboundFault(read.event)).toBeUndefined();
    }
  });
});

// time: controlled
test("games end on their own, each with one final board", () => {
  forAll(steps, (all) => {
    const run = playAll(all);
    // The duration of the longest possible game: a lobby, and 15 questions of one minute, each followed by a reveal.
    run.tickUntil(run.nowMs() + 30_000 + 15 * (60_000 + 5_000));
    expect(run.games()).toBe(0);
    const { GAME_START, GAME_END } = MessageKind;
    const outputs = run.sent.map(({ output }) => output);
    const opened = outputs.flatMap((output) =>
      output.type === "message.create" && output.content.kind === GAME_START ? [output.ref] : [],
    );
    const ended = outputs.flatMap((output) =>
      output.type === "message.update" && output.content.kind === GAME_END ? [output.target] : [],
    );
    expect(ended).toHaveLength(opened.length);
    expect(ended).toEqual(expect.arrayContaining(opened.map((ref) => ({ ref }))));
  });
});

// time: controlled
test("a question is updated at most twice a second, however fast answers arrive, and its last update has the final count", () => {
  const answer = fc.record({ who: fc.nat(40), waitMs: fc.nat(300) });
  const answers = fc.array(answer, { minLength: 5, maxLength: 30 });
  forAll(answers, (all) => {
    const press = (who: number, action: string) => (eventId: string) => {
      const member = { id: who === 0 ? "u1" : `m${who}`, name: "Bob" };
      return { type: "action", eventId, channel: "c1", member, messageId: MESSAGE_ID, action } as const;
    };
    const run = playAll([
      { waitMs: 0, input: press(0, "begin:e0") },
      // Ann opened the game and does not answer, so the question stays open.
      ...all.map(({ who, waitMs }) => ({ waitMs, input: press(who + 1, "answer:0:0:e0") })),
    ]);
    run.tickUntil(run.nowMs() + 500);
    const counts = run.sent.filter(({ output }) => output.content.kind === MessageKind.ANSWER_UPDATE);
    for (const [i, { atMs }] of counts.entries()) {
      const before = counts[i - 2];
      if (before !== undefined) expect(atMs - before.atMs).toBeGreaterThanOrEqual(1_000);
    }
    const answered = new Set(all.map(({ who }) => who)).size;
    expect(counts.at(-1)?.output.content.text).toContain(`${answered} of ${answered + 1} have answered`);
  });
});

test("no text of a button's `action` causes an error; an action that was read stays the same when it is written and read again", () => {
  forAll(fc.string({ unit: ANY_CHARACTER }), (text) => {
    const action = readAction(text);
    if (action !== undefined) expect(readAction(writeAction(action))).toEqual(action);
  });
});
