import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { OutboundEvent, PublishedEvent } from "../../proto/gen/chatbridge/v1/game";
import { poll } from "../harness/bridge";
import { createWorkspace, publish } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const EVENT_ID = /^evt_[0-9A-HJKMNP-TV-Z]{26}$/;
const MESSAGE_ID = /^msg_[0-9A-HJKMNP-TV-Z]{26}$/;
const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const A_MESSAGE_ID = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV";
/** It is core that stamps, by a clock that follows Redis's: how closely depends on how soon Redis answers. */
const CLOCK_SLACK_MS = 2_000;

const service = sharedService();

interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly workspace: string;
  readonly sequence: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly channel?: string;
  readonly user?: string;
  readonly message: Readonly<Record<string, unknown>>;
}

type Event = Parameters<typeof OutboundEvent.create>[0];
type Content = NonNullable<NonNullable<Event>["content"]>;

/** Publishes to a workspace of their own and polls: the envelopes, and what publishing answered of each. */
async function hold(contents: readonly Content[]): Promise<{
  readonly id: string;
  readonly held: readonly Envelope[];
  readonly published: readonly PublishedEvent[];
}> {
  const workspace = await createWorkspace(service.clients);
  const results = await publish(
    service.clients,
    ...contents.map((content) => ({ workspaceId: workspace.id, content })),
  );
  const published = results.map(({ outcome }) => {
    if (outcome?.$case !== "published") throw new Error(JSON.stringify(outcome));
    return outcome.value;
  });
  const { events } = (await poll(service.url, workspace)).json as { events: readonly Envelope[] };
  expect(events).toHaveLength(contents.length);
  return { id: workspace.id, held: events, published };
}

const FULL_MESSAGE = {
  kind: MessageKind.CARD,
  text: "*Hello*,\n`world` \\| 🎉",
  rows: [
    {
      buttons: [
        { label: "Yes", press: { $case: "action" as const, value: "answer:1|x" } },
        { label: "Docs", press: { $case: "url" as const, value: "https://example.com/a?b=c" } },
      ],
    },
    { buttons: [{ label: "No", press: { $case: "action" as const, value: "answer:2" } }] },
  ],
  image: "https://example.com/image.gif",
  awaitsReply: true,
  data: { round: 1, nested: { list: [1, "two", null, false] } },
};
const FULL_MESSAGE_ON_THE_WIRE = {
  kind: "card",
  text: "*Hello*,\n`world` \\| 🎉",
  buttons: [
    [
      { label: "Yes", action: "answer:1|x" },
      { label: "Docs", url: "https://example.com/a?b=c" },
    ],
    [{ label: "No", action: "answer:2" }],
  ],
  image: "https://example.com/image.gif",
  awaitsReply: true,
  data: { round: 1, nested: { list: [1, "two", null, false] } },
};
const BARE_MESSAGE = { kind: MessageKind.TEXT, text: "hi" };
const BARE_MESSAGE_ON_THE_WIRE = {
  kind: "text",
  text: "hi",
  buttons: [],
  image: null,
  awaitsReply: false,
  data: null,
};

// contract: envelope-fields, message-fields
describe.each([
  ["all its fields used", FULL_MESSAGE, FULL_MESSAGE_ON_THE_WIRE],
  ["none but the required ones", BARE_MESSAGE, BARE_MESSAGE_ON_THE_WIRE],
])("an envelope whose message has %s", (_which, message, onTheWire) => {
  // contract: envelope-created-at, envelope-workspace, message-id
  test.each<[string, Content, object]>([
    ["message.create", { $case: "messageCreate", value: { channel: "c1", message } }, { channel: "c1" }],
    [
      "message.update",
      { $case: "messageUpdate", value: { channel: "dm:u1", message: { ...message, id: A_MESSAGE_ID } } },
      { channel: "dm:u1" },
    ],
    [
      "message.ephemeral",
      { $case: "messageEphemeral", value: { channel: "c1", user: "u1", message } },
      { channel: "c1", user: "u1" },
    ],
    ["dm.create", { $case: "dmCreate", value: { user: "u1", message } }, { user: "u1" }],
  ])("of a %s has the contract's fields and no others", async (type, content, where) => {
    const from = Date.now();
    const { id, held, published } = await hold([content]);
    const to = Date.now();
    const [envelope] = held;
    expect(envelope).toEqual({
      id: expect.stringMatching(EVENT_ID),
      type,
      workspace: id,
      sequence: expect.any(Number),
      createdAt: expect.stringMatching(UTC_TIME),
      expiresAt: expect.stringMatching(UTC_TIME),
      ...where,
      message: { id: expect.stringMatching(MESSAGE_ID), ...onTheWire },
    });
    if (type === "message.update") expect(envelope?.message["id"]).toBe(A_MESSAGE_ID);
    const createdAt = Date.parse(envelope?.createdAt ?? "");
    expect(createdAt).toBeGreaterThanOrEqual(from - CLOCK_SLACK_MS);
    expect(createdAt).toBeLessThanOrEqual(to + CLOCK_SLACK_MS);
    expect(published).toEqual([
      {
        eventId: envelope?.id,
        sequence: envelope?.sequence,
        messageId: envelope?.message["id"],
        expiresAt: new Date(envelope?.expiresAt ?? ""),
        repeated: false,
      },
    ]);
  });
});

// contract: envelope-sequence, envelope-id
test("sequences are strictly increasing safe integers, and ids are unique", async () => {
  const contents = Array.from({ length: 100 }, (): Content => ({
    $case: "dmCreate",
    value: { user: "u1", message: BARE_MESSAGE },
  }));
  const { held, published } = await hold(contents);
  const sequences = held.map(({ sequence }) => sequence);
  for (const [i, sequence] of sequences.entries()) {
    expect(Number.isSafeInteger(sequence) && sequence > (sequences[i - 1] ?? 0)).toBe(true);
  }
  expect(new Set(held.map(({ id }) => id)).size).toBe(100);
  expect(new Set(held.map(({ message }) => message["id"])).size).toBe(100);
  // In the order given.
  expect(published.map(({ eventId }) => eventId)).toEqual(held.map(({ id }) => id));
});

test("a repeated idempotency key is answered as the first was, and is held once", async () => {
  const content: Content = { $case: "dmCreate", value: { user: "u1", message: BARE_MESSAGE } };
  const workspace = await createWorkspace(service.clients);
  const event = { workspaceId: workspace.id, content, idempotencyKey: "k".repeat(128) };
  const [first, second] = await publish(service.clients, event, event);
  const [third] = await publish(service.clients, event);
  if (first?.outcome?.$case !== "published") throw new Error("it was refused");
  const repeated = { outcome: { $case: "published", value: { ...first.outcome.value, repeated: true } } };
  expect([second, third]).toEqual([repeated, repeated]);
  const { events } = (await poll(service.url, workspace)).json as { events: readonly Envelope[] };
  expect(events.map(({ id }) => id)).toEqual([first.outcome.value.eventId]);
});
