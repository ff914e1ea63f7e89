import { status } from "@grpc/grpc-js";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import {
  CARD,
  create,
  dm,
  ephemeral,
  heldFor,
  MESSAGE_ID,
  published,
  update,
  type EventInit,
  type MessageInit,
} from "../harness/contents";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { HANG_MS } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const service = sharedService();

const EVENT_ID = expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/) as string;
const A_MESSAGE_ID = expect.stringMatching(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/) as string;
const UTC_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string;

interface Envelope {
  readonly id: string;
  readonly workspace: string;
  readonly sequence: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly message: Readonly<Record<string, unknown>>;
}

/** Publishes events to a new workspace; returns the polled events, which must be the published events in order. */
async function hold(...events: readonly EventInit[]): Promise<readonly Envelope[]> {
  const workspace = await service.workspaces.make();
  const ofWorkspace = events.map((event) => ({ ...event, workspaceId: workspace.id }));
  const answers = (await publish(service.clients, ...ofWorkspace)).map(published);
  const held = (await heldFor(service.url, workspace)) as unknown as readonly Envelope[];
  expect(
    held.map(({ id, sequence, expiresAt, message }) => ({
      eventId: id,
      sequence,
      messageId: message["id"],
      expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
      repeated: false,
    })),
  ).toEqual(answers);
  expect(new Set(held.map((event) => event.workspace))).toEqual(new Set([workspace.id]));
  return held;
}

const lifetimeOf = ({ createdAt, expiresAt }: Envelope) =>
  expiresAt === null ? null : Date.parse(expiresAt) - Date.parse(createdAt);

test.each([0, 101])("a call with %i events is rejected with INVALID_ARGUMENT", async (count) => {
  const events = Array.from({ length: count }, () => textEvent("", "x"));
  await expectRejected(publish(service.clients, ...events), status.INVALID_ARGUMENT, "events");
});

test("a call of more than 8 MB is rejected with RESOURCE_EXHAUSTED, and none of its events is stored", async () => {
  const workspace = await service.workspaces.make();
  const large = Array.from({ length: 2 }, () => textEvent(workspace.id, "x".repeat(4 * 1024 * 1024)));
  const call = publish(service.clients, textEvent(workspace.id, "small"), ...large);
  await expectRejected(call, status.RESOURCE_EXHAUSTED, "Received message larger than max");
  expect(await heldFor(service.url, workspace)).toEqual([]);
});

// time: smoke
// contract: envelope-sequence, envelope-id, envelope-workspace, envelope-created-at, message-id
test("in a call with 100 events of almost the maximum size, sequences are rising safe integers, and ids are unique", async () => {
  const texts = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(65_000, "x"));
  const held = await hold(...texts.map((text) => ({ content: dm("u1", { ...CARD, text }) })));
  expect(held.map(({ message }) => message["text"])).toEqual(texts);
  const sequences = held.map(({ sequence }) => sequence);
  expect(sequences.every(Number.isSafeInteger)).toBe(true);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  expect(new Set(held.map(({ id }) => id)).size).toBe(100);
  expect(new Set(held.map(({ message }) => message["id"])).size).toBe(100);
  for (const { createdAt } of held)
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(HANG_MS);
});

test("each result has the same index as its event, and a refused event does not affect other events; workspace ids can be in any letter case", async () => {
  const workspace = await service.workspaces.make();
  const deep = Array.from({ length: 40 }).reduce<object>((inner) => ({ inner }), {});
  const results = await publish(
    service.clients,
    textEvent(workspace.id, "first"),
    { workspaceId: workspace.id, content: create("") },
    { workspaceId: workspace.id, content: create("c1", { ...CARD, data: { deep } }) },
    { workspaceId: workspace.id, content: create("c1"), lifetime: { seconds: 2 ** 53 } },
    textEvent("11111111-2222-4333-8444-555555555555", "nobody's"),
    textEvent(workspace.id.toUpperCase(), "last"),
  );
  const cases = results.map(({ outcome }) => outcome?.$case);
  expect(cases).toEqual(["published", ...Array.from({ length: 4 }, () => "refused"), "published"]);
  expect(await heldFor(service.url, workspace)).toMatchObject([
    { message: { text: "first" } },
    { workspace: workspace.id, message: { text: "last" } },
  ]);
});

const COMMON = {
  text: "*Which*,\n`this` \\| ~that~? 🎉",
  image: "https://a.example/i.gif",
  awaitsReply: true,
  data: { round: 3, open: true, none: null, list: [1, "two", [null]], deep: { ключ: "значение", empty: {} } },
};
const FULL: MessageInit = {
  ...COMMON,
  kind: MessageKind.QUESTION,
  rows: [
    {
      buttons: [
        { label: "This", press: { $case: "action", value: "😀".repeat(512) } },
        { label: "Rules", press: { $case: "url", value: "https://a.example/r?a=b#c" } },
      ],
    },
    { buttons: [{ label: "That", press: { $case: "action", value: "answer:2|x" } }] },
  ],
};
const FULL_ON_THE_WIRE = {
  ...COMMON,
  kind: "question",
  buttons: [
    [
      { label: "This", action: "😀".repeat(512) },
      { label: "Rules", url: "https://a.example/r?a=b#c" },
    ],
    [{ label: "That", action: "answer:2|x" }],
  ],
};

// contract: envelope-fields, message-fields, outbound-channel, message-buttons, message-awaits-reply, message-data
test("an envelope whose message has every field arrives with the contract's fields and no others", async () => {
  const updated = { ...FULL, id: MESSAGE_ID };
  const held = await hold(
    { content: create("c1", FULL) },
    { content: ephemeral("c1", "u1", FULL) },
    { content: dm("u1", FULL) },
    { content: update("c1", updated) },
    { content: update("dm:u1", updated) },
  );
  const common = {
    id: EVENT_ID,
    workspace: expect.any(String) as string,
    sequence: expect.any(Number) as number,
    createdAt: UTC_TIME,
    expiresAt: UTC_TIME,
    message: { id: A_MESSAGE_ID, ...FULL_ON_THE_WIRE },
  };
  const ofUpdate = { ...common, type: "message.update", message: { id: MESSAGE_ID, ...FULL_ON_THE_WIRE } };
  expect(held).toStrictEqual([
    { ...common, type: "message.create", channel: "c1" },
    { ...common, type: "message.ephemeral", channel: "c1", user: "u1" },
    { ...common, type: "dm.create", user: "u1" },
    { ...ofUpdate, channel: "c1" },
    { ...ofUpdate, channel: "dm:u1" },
  ]);
});

const TEN_MINUTES_MS = 600_000;
const KINDS =
  "text card game_start question time_up answer_update gotcha_bait gotcha_reveal game_end help settings categories " +
  "leaderboard category_champs async_announcement async_question async_results icebreaker icebreaker_results " +
  "small_talk kyt_reveal weekly_digest anagram wordgame_start wordgame_board wordgame_expired hangman_board " +
  "hangman_end drawing_invite schedule_creator schedule_list prefs";
/** Pattern for the kinds of messages that never expire. */
const NEVER_STALE =
  /^(async_|icebreaker|small_talk|kyt_reveal|weekly_digest|anagram|wordgame_|hangman_|schedule_)/;

// More combinations of kind and type are tested in test/unit/lifetime.test.ts.
// time: controlled
// contract: message-kinds, lifetime-10min, lifetime-never, lifetime-60s
test("a message of each kind arrives with the name and the lifetime of its kind", async () => {
  const codes = Object.entries(MessageKind).flatMap(([name, code]) =>
    typeof code === "number" && !name.startsWith("UN") ? [code] : [],
  );
  const held = await hold(
    ...codes.map((kind) => ({ content: create("c1", { kind, text: "hi" }) })),
    { content: update("c1", { id: MESSAGE_ID, kind: MessageKind.ANAGRAM, text: "hi" }) },
    { content: dm("u1", { kind: MessageKind.ANAGRAM, text: "hi" }) },
    { content: ephemeral("c1", "u1", { kind: MessageKind.ANAGRAM, text: "hi" }) },
  );
  expect(held.map((event) => [event.message["kind"], lifetimeOf(event)])).toEqual([
    ...KINDS.split(" ").map((kind) => [kind, NEVER_STALE.test(kind) ? null : TEN_MINUTES_MS]),
    ["anagram", null],
    ["anagram", null],
    ["anagram", 60_000],
  ]);
});

// time: controlled
// contract: envelope-expires-at
test("a game can set a lifetime of 1 second to 24 hours for any type and kind", async () => {
  const lasting: MessageInit = { kind: MessageKind.ANAGRAM, text: "hi" };
  const held = await hold(
    { content: create("c1"), lifetime: { seconds: 1 } },
    { content: create("c1"), lifetime: { seconds: 1, nanos: 500_001 } },
    { content: dm("u1", lasting), lifetime: { seconds: 90, nanos: 500_000_000 } },
    { content: ephemeral("c1", "u1", lasting), lifetime: { seconds: 86_400 } },
  );
  expect(held.map(lifetimeOf)).toEqual([1_000, 1_000, 90_500, 86_400_000]);
});

test("an event of 64 KiB is published, and an event with one more byte is refused", async () => {
  const { id: workspaceId } = await service.workspaces.make();
  const MAX = 64 * 1024;
  const ofLength = (length: number) => ({ content: create("c1", { ...CARD, text: "x".repeat(length) }) });
  const outcomeOf = async (length: number) =>
    (await publish(service.clients, { ...ofLength(length), workspaceId }))[0]?.outcome;
  const outcome = await outcomeOf(MAX);
  if (outcome?.$case !== "refused") throw new Error("an event over 64 KiB was published");
  const fits = MAX - (Number(/have (\d+) bytes/.exec(outcome.value.message)?.[1]) - MAX);
  expect((await outcomeOf(fits + 1))?.$case).toBe("refused");
  const [event] = await hold(ofLength(fits));
  expect(event?.message["text"]).toHaveLength(fits);
});
