import { setImmediate } from "node:timers/promises";
import type { Message, MessageCreate, ShownMessage, ShownUpdate } from "chat-bridge-kit";
import { toChatId } from "../../chat/chat-id";
import { createTurns } from "../../turns";
import { MatrixChat } from "../../chat/matrix-chat";
import { createTimelineStates } from "../../chat/timeline-states";
import { createUnsavedEvents } from "../../chat/unsaved-events";
import { MatrixError } from "../../client/matrix-error";
import { createIds } from "../../ids";
import type { MemberAct } from "../../inbound/read-event";
import { SyncHandler } from "../../inbound/sync-handler";

const ROOM = "!room:example.org";
const OWN = "@games:example.org";
const ANN = "@ann:example.org";
const BUTTONS = [[{ label: "Join", action: "join", style: "primary" }]];
const PROMPT = { id: "msg_1", text: "How high?", image: null, buttons: [], awaitsReply: true };
const LOBBY = { ...PROMPT, text: "Trivia", buttons: BUTTONS, awaitsReply: false };
const { signal } = new AbortController();

/**
 * Returns a run of the bridge. `send` stands for the homeserver, and `saved` contains what an earlier run has saved.
 */
function run(send: () => Promise<string>, saved: readonly ShownMessage[] = []) {
  const acts: MemberAct[] = [];
  const shown = [...saved];
  const bridge = {
    shown: (chatId: string) => shown.find(({ chatMessageIds }) => chatMessageIds.includes(chatId)),
    shownIn: () => shown,
  };
  const [ids, timeline, unsaved] = [createIds(), createTimelineStates(), createUnsavedEvents(signal)];
  const direct = { memberOf: () => undefined };
  const chat = new MatrixChat({
    api: { send },
    ids,
    direct,
    encrypted: { isEncrypted: async () => false },
    keycaps: { want: () => undefined, stop: () => undefined },
    background: createTurns(new AbortController().signal),
    timeline,
    unsaved,
    powers: { of: async () => ({ maySpeak: true, mayRedact: true }), changed: () => undefined },
    stopped: new AbortController().signal,
    powerNotice: { afterQuestion: () => undefined },
    settings: { COMMAND_PREFIX: "!", MATRIX_QUESTIONS: "new", MATRIX_PICTURES: "caption" },
    shown: bridge.shown,
  } as unknown as ConstructorParameters<typeof MatrixChat>[0]);
  const sync = new SyncHandler({
    bridge,
    own: OWN,
    typing: { COMMAND_PREFIX: "!", COMMAND_WORD: "play" },
    roomList: { joined: () => undefined },
    direct,
    timeline,
    unsaved,
    ids,
    reporter: { report: async ({ act }: { act: MemberAct }) => void acts.push(act) },
    signal,
  } as unknown as ConstructorParameters<typeof SyncHandler>[0]);
  return {
    chat,
    unsaved,
    acts,
    handle: (...events: readonly object[]) => {
      const join = { [ROOM]: { timeline: { events } } };
      return sync.handle({ next_batch: "s2", rooms: { join } } as never, "s1");
    },
    /** Lets the kit save an event. */
    save(event: ShownMessage) {
      shown.splice(0, shown.length, event);
      unsaved.end(event.eventId);
    },
  };
}

const create = (id: string, message: object) => ({ id, channel: ROOM, message }) as MessageCreate;
const shownAs = (eventId: string, message: object) =>
  ({
    eventId,
    messageId: "msg_1",
    user: null,
    message: message as Message,
    chatMessageIds: [toChatId(ROOM, "$m")],
  }) as unknown as ShownMessage;

/** An event of the bridge in the timeline. */
const own = (id: string, txnId: string, relation?: object) => ({
  event_id: id,
  type: "m.room.message",
  sender: OWN,
  content: { "m.relates_to": relation },
  unsigned: { transaction_id: txnId },
});
const byAnn = (id: string, type: string, content: object) => ({
  event_id: id,
  type,
  sender: ANN,
  origin_server_ts: Date.now(),
  content,
});
const typed = byAnn("$typed", "m.room.message", { msgtype: "m.text", body: "8849" });
const pressed = byAnn("$pressed", "m.reaction", {
  "m.relates_to": { rel_type: "m.annotation", event_id: "$m", key: "1️⃣" },
});

// time: ordering
test.each([
  ["types an answer", PROMPT, typed, { type: "message", text: "8849" }],
  ["presses a button", LOBBY, pressed, { type: "action", target: "$m", action: "join", byReaction: true }],
])("a member %s before the kit has saved the message", async (_what, message, event, act) => {
  const bridge = run(async () => "$m");
  await bridge.chat.post(create("evt_1", message), signal);
  const handled = bridge.handle(own("$m", "evt_1"), event);
  await setImmediate();
  bridge.save(shownAs("evt_1", message));
  await handled;
  expect(bridge.acts).toEqual([act]);
});

// time: ordering
test("the sync position does not move past an edit until the kit has saved the edit", async () => {
  let isHandled = false;
  const bridge = run(async () => "$edit", [shownAs("evt_1", LOBBY)]);
  const update = { ...create("evt_2", PROMPT), chatMessageId: toChatId(ROOM, "$m"), chatMessageIds: [] };
  await bridge.chat.update(update as unknown as ShownUpdate, signal);
  const edit = own("$edit", "evt_2", { rel_type: "m.replace", event_id: "$m" });
  const handled = bridge.handle(edit).then(() => (isHandled = true));
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  expect(isHandled).toBe(false);
  bridge.save(shownAs("evt_2", PROMPT));
  await handled;
});

// time: ordering
test("the sync position does not move past a new question until the kit has saved the question's id, and only then are its reactions read", async () => {
  const sent: string[] = [];
  const send = async (_room: string, _type: string, txnId: string) => (sent.push(txnId), `$${txnId}`);
  const bridge = run(send as () => Promise<string>, [shownAs("evt_1", LOBBY)]);
  const question = { ...LOBBY, kind: "question", buttons: [[{ label: "Rome", action: "rome" }]] };
  const update = { ...create("evt_2", question), chatMessageId: toChatId(ROOM, "$m") };
  const chatMessageIds = [toChatId(ROOM, "$m")];
  const shownUpdate = { ...update, chatMessageIds } as unknown as ShownUpdate;
  const newId = await bridge.chat.update(shownUpdate, signal);
  // After a crash, the bridge sends the same requests again, and they have no effect.
  expect(await bridge.chat.update(shownUpdate, signal)).toBe(newId);
  expect(sent).toEqual(["evt_2.question", "evt_2.closing", "evt_2.question", "evt_2.closing"]);

  const relation = { rel_type: "m.annotation", event_id: "$evt_2.question", key: "1️⃣" };
  const press = byAnn("$pressed", "m.reaction", { "m.relates_to": relation });
  const handled = bridge.handle(own("$evt_2.question", "evt_2.question"), press);
  for (let turns = 0; turns < 20; turns += 1) await setImmediate();
  bridge.save({ ...shownAs("evt_2", question), chatMessageIds: [...chatMessageIds, String(newId)] });
  await handled;
  expect(bridge.acts).toEqual([
    { type: "action", target: "$evt_2.question", action: "rome", byReaction: true },
  ]);
});

test.each([
  [
    "the sync does not wait for a message that the homeserver rejects",
    new MatrixError(403, "M_FORBIDDEN"),
    ["evt_1"],
  ],
  ["the sync waits for a message if the homeserver's answer was lost", new MatrixError(502, ""), []],
])("%s", async (_what, error, ended) => {
  const { chat, unsaved } = run(() => Promise.reject(error));
  const end = jest.spyOn(unsaved, "end");
  await expect(chat.post(create("evt_1", PROMPT), signal)).rejects.toThrow();
  expect(end.mock.calls.flat()).toEqual(ended);
});
