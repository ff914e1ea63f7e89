import { status, type ServiceError } from "@grpc/grpc-js";
import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import type { PublishResult } from "../../proto/gen/chatbridge/v1/game";
import {
  CARD,
  create,
  dm,
  ephemeral,
  heldFor,
  published,
  update,
  type ContentInit,
  type EventInit,
  type MessageInit,
} from "../harness/contents";
import { createWorkspace, publish, textEvent, type TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const service = sharedService();

const held = (workspace: TestWorkspace) => heldFor(service.url, workspace);

describe("the size of a batch", () => {
  test.each([[0], [101]])("%i events are refused with INVALID_ARGUMENT", async (count) => {
    const events = Array.from({ length: count }, () => textEvent("", "x"));
    const call = publish(service.clients, ...events);
    await expect(call).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("events") as string,
    } satisfies Partial<ServiceError>);
  });

  test.each([[1], [100]])(
    "%i are answered one by one, their sequences rising in the order given",
    async (count) => {
      const own = await createWorkspace(service.clients);
      const events = Array.from({ length: count }, (_, i) => textEvent(own.id, String(i)));
      const results = (await publish(service.clients, ...events)).map(published);
      const sequences = results.map(({ sequence }) => sequence);
      expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
      const pages = await held(own);
      expect(
        pages.map(({ id, sequence, message }) => [id, sequence, (message as { text: string }).text]),
      ).toEqual(results.map(({ eventId, sequence }, i) => [eventId, sequence, String(i)]));
    },
  );
});

test("one that is refused is answered at its index and does not hold up the others", async () => {
  const own = await createWorkspace(service.clients);
  const results = await publish(
    service.clients,
    textEvent(own.id, "first"),
    { workspaceId: own.id, content: create("") },
    textEvent("11111111-2222-4333-8444-555555555555", "nobody's"),
    textEvent(own.id, "last"),
  );
  expect(results.map(({ outcome }) => outcome?.$case)).toEqual([
    "published",
    "refused",
    "refused",
    "published",
  ]);
  expect((await held(own)).map(({ message }) => (message as { text: string }).text)).toEqual([
    "first",
    "last",
  ]);
});

describe("every kind is accepted and arrives by its name", () => {
  const kinds = Object.entries(MessageKind).flatMap(([name, code]) =>
    typeof code === "number" && code !== MessageKind.UNSPECIFIED ? [[name.toLowerCase(), code] as const] : [],
  );

  // contract: message-kinds
  test("all 32 at once", async () => {
    const own = await createWorkspace(service.clients);
    const events = kinds.map(([, kind]) => ({
      workspaceId: own.id,
      content: create("c1", { kind, text: "" }),
    }));
    const results = await publish(service.clients, ...events);
    results.forEach(published);
    const arrived = (await held(own)).map(({ message }) => (message as { kind: string }).kind);
    expect([arrived.length, arrived]).toEqual([32, kinds.map(([name]) => name)]);
  });
});

// contract: message-buttons, message-awaits-reply, message-data
test("a message arrives with all that it has, as the contract shapes it", async () => {
  const own = await createWorkspace(service.clients);
  const data = {
    round: 3,
    open: true,
    none: null,
    list: [1, "two", [null]],
    deep: { ключ: "значение", empty: {} },
  };
  const message: MessageInit = {
    kind: MessageKind.QUESTION,
    text: "**which?**\nthis | that",
    rows: [
      { buttons: [{ label: "This", press: { $case: "action", value: "\u{1f600}".repeat(512) } }] },
      { buttons: [{ label: "Rules", press: { $case: "url", value: "https://a.example/r?a=b#c" } }] },
    ],
    image: "https://a.example/i.gif",
    awaitsReply: true,
    data,
  };
  const [result] = await publish(service.clients, { workspaceId: own.id, content: create("c1", message) });
  const { eventId, sequence, messageId, expiresAt } = published(result);
  expect([eventId, messageId]).toEqual([
    expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/),
    expect.stringMatching(/^msg_[0-9A-HJKMNP-TV-Z]{26}$/),
  ]);
  const [event] = await held(own);
  expect(event).toStrictEqual({
    id: eventId,
    type: "message.create",
    workspace: own.id,
    sequence,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
    expiresAt: expiresAt?.toISOString(),
    channel: "c1",
    message: {
      id: messageId,
      kind: "question",
      text: "**which?**\nthis | that",
      buttons: [
        [{ label: "This", action: "\u{1f600}".repeat(512) }],
        [{ label: "Rules", url: "https://a.example/r?a=b#c" }],
      ],
      image: "https://a.example/i.gif",
      awaitsReply: true,
      data,
    },
  });
});

// contract: outbound-channel
test("an update is of the message that it names, in a channel or in a DM", async () => {
  const own = await createWorkspace(service.clients);
  const [first] = await publish(service.clients, { workspaceId: own.id, content: dm("u1") });
  const { messageId } = published(first);
  const content = update("dm:u1", { kind: MessageKind.CARD, text: "new", id: messageId });
  const [second] = await publish(service.clients, { workspaceId: own.id, content });
  expect(published(second).messageId).toBe(messageId);
  expect((await held(own)).at(-1)).toMatchObject({
    type: "message.update",
    channel: "dm:u1",
    message: { id: messageId, text: "new" },
  });
});

test("a workspace id counts in any letter case", async () => {
  const own = await createWorkspace(service.clients);
  const [result] = await publish(service.clients, textEvent(own.id.toUpperCase(), "x"));
  expect(published(result).sequence).toBeGreaterThan(0);
  expect((await held(own))[0]).toHaveProperty("workspace", own.id);
});

describe("how long an event stays fresh", () => {
  const lived = async (content: ContentInit, rest: EventInit = {}): Promise<number | null> => {
    const own = await createWorkspace(service.clients);
    const [result] = await publish(service.clients, { workspaceId: own.id, content, ...rest });
    const { expiresAt } = published(result);
    const [event] = (await held(own)) as { createdAt: string; expiresAt: string | null }[];
    expect(event?.expiresAt).toBe(expiresAt?.toISOString() ?? null);
    return expiresAt === undefined ? null : expiresAt.getTime() - Date.parse(event?.createdAt ?? "");
  };

  // contract: envelope-expires-at
  test.each<[string, ContentInit, EventInit, number | null]>([
    ["a live game's message, by default", create("c1"), {}, 600_000],
    ["an update of one, by default", update("c1"), {}, 600_000],
    ["a DM, by default", dm("u1"), {}, 600_000],
    ["a prompt that is good for hours", create("c1", { kind: MessageKind.ICEBREAKER }), {}, null],
    ["an ephemeral, by default", ephemeral("c1", "u1"), {}, 60_000],
    ["an ephemeral of a lasting kind", ephemeral("c1", "u1", { kind: MessageKind.ANAGRAM }), {}, 60_000],
    ["one of a second", create("c1"), { lifetime: { seconds: 1 } }, 1_000],
    ["one of a second and a bit", create("c1"), { lifetime: { seconds: 1, nanos: 500_001 } }, 1_000],
    ["one of 24 hours", ephemeral("c1", "u1"), { lifetime: { seconds: 86_400 } }, 86_400_000],
    [
      "a lasting one cut short",
      dm("u1", { kind: MessageKind.ANAGRAM }),
      { lifetime: { seconds: 30 } },
      30_000,
    ],
  ])("%s", async (_name, content, rest, expected) => {
    expect(await lived(content, rest)).toBe(expected);
  });
});

describe("an event may be up to 64 KiB", () => {
  test("one right at the bound is published whole, with one byte more it is refused", async () => {
    const own = await createWorkspace(service.clients);
    const bytesOf = async (length: number): Promise<PublishResult | undefined> => {
      const text = "x".repeat(length);
      return (
        await publish(service.clients, { workspaceId: own.id, content: create("c1", { ...CARD, text }) })
      )[0];
    };
    const tooLong = 64 * 1024;
    const outcome = (await bytesOf(tooLong))?.outcome;
    if (outcome?.$case !== "refused") throw new Error("it was published");
    const excess = Number(/event of (\d+) bytes/.exec(outcome.value.message)?.[1]) - 64 * 1024;
    expect((await bytesOf(tooLong - excess + 1))?.outcome?.$case).toBe("refused");
    published(await bytesOf(tooLong - excess));
    const [event] = await held(own);
    expect((event?.["message"] as { text: string } | undefined)?.text).toHaveLength(tooLong - excess);
  });

  test("100 of the largest fit in one call and come back page by page", async () => {
    const own = await createWorkspace(service.clients);
    const text = "x".repeat(65_000);
    const event = { workspaceId: own.id, content: create("c1", { ...CARD, text }) };
    const results = await publish(service.clients, ...Array.from({ length: 100 }, () => event));
    const sequences = results.map((result) => published(result).sequence);
    expect((await held(own)).map(({ sequence }) => sequence)).toEqual(sequences);
  });
});
