import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Metadata, status } from "@grpc/grpc-js";
import * as fc from "fast-check";
import { randomUUID } from "node:crypto";
import { createIds } from "../../core/ids";
import type { Publication, Published } from "../../core/ports/outbound-events";
import { setCaller } from "../../core/rpc/call-caller";
import { createCallPace } from "../../core/rpc/call-pace";
import { GAME_METHODS } from "../../core/rpc/game-methods";
import { createGameService, type GameServiceContext } from "../../core/rpc/game-service";
import { createCallCounts } from "../../core/rpc/call-counts";
import { FollowRequest, OutboundEvent, PublishEventsRequest } from "../../proto/gen/chatbridge/v1/game";
import { CARD, create } from "../harness/contents";
import { forAll } from "../harness/for-all";
import { until } from "../harness/wait";

const MAX_INT64 = 2n ** 63n - 1n;

/** A length-delimited field in wire format. */
const field = (number: number, value: Uint8Array | string): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(Buffer.from(value)).finish();
/** Returns the bytes that `write` writes. */
const written = (write: (writer: BinaryWriter) => BinaryWriter): Uint8Array =>
  write(new BinaryWriter()).finish();
const varint = (number: number, value: bigint) =>
  written((writer) => writer.tag(number, WireType.Varint).int64(value));
const duration = (seconds: bigint, nanos = 0n) => Buffer.concat([varint(1, seconds), varint(2, nanos)]);

/** A field of the `Message` of a `message_create`. */
const inMessage = (number: number, value: Uint8Array | string) => field(2, field(2, field(number, value)));
const inButton = (number: number, value: Uint8Array) => inMessage(4, field(1, field(number, value)));
const LABEL = "message_create.message.rows[0].buttons[0].label";
const DATA = "message_create.message.data";
/** The `data` of a message, with one value at `key`. */
const data = (value: Uint8Array, key: Uint8Array | string = "a") =>
  inMessage(7, field(1, Buffer.concat([field(1, key), field(2, value)])));
const number = (value: number) => written((writer) => writer.tag(2, WireType.Bit64).double(value));
const struct = (value: Uint8Array, key = "a") =>
  field(5, field(1, Buffer.concat([field(1, key), field(2, value)])));
const list = (...values: readonly Uint8Array[]) =>
  field(6, Buffer.concat(values.map((value) => field(1, value))));
const NULL = varint(1, 0n);
const times = (count: number, wrap: (value: Uint8Array) => Uint8Array): Uint8Array =>
  count === 0 ? NULL : wrap(times(count - 1, wrap));
const NOT_UTF8 = Buffer.from([0x61, 0xff]);

const GOOD = OutboundEvent.create({ workspaceId: "w1", content: create("c1"), lifetime: { seconds: 5 } });
const good = OutboundEvent.encode(GOOD).finish();
const request = (...events: readonly Uint8Array[]) => Buffer.concat(events.map((event) => field(1, event)));
/** Decodes a `PublishEventsRequest` as core does, with all its events. */
function readAll(bytes: Buffer) {
  const read = GAME_METHODS.publishEvents.requestDeserialize(bytes);
  if (!("message" in read)) return read;
  return { message: { ...read.message, events: [...read.message.events].map(({ event }) => event) } };
}

test.each<[string, string, RegExp, Uint8Array]>([
  ["data of 31 nested objects", DATA, /30 objects and lists/, data(times(30, struct))],
  ["data of 30 nested lists in an object", DATA, /30 objects and lists/, data(times(30, list))],
  ["data of 1,000 nested lists", DATA, /30 objects and lists/, data(times(1_000, list))],
  ["NaN", DATA, /NaN/, data(number(NaN))],
  ["Infinity in an object", DATA, /Infinity/, data(struct(number(Infinity)))],
  ["-Infinity in a list", DATA, /Infinity/, data(list(NULL, number(-Infinity)))],
  ["the key __proto__", DATA, /__proto__/, data(NULL, "__proto__")],
  ["a nested key __proto__", DATA, /__proto__/, data(list(struct(NULL, "__proto__")))],
  ["a value without a kind", DATA, /null_value/, data(new Uint8Array())],
  ["a key without a value", DATA, /null_value/, inMessage(7, field(1, field(1, "a")))],
  ["a non-UTF-8 key in data", DATA, /UTF-8/, data(NULL, NOT_UTF8)],
  ["a non-UTF-8 text in data", DATA, /UTF-8/, data(list(field(3, NOT_UTF8)))],
  ["a text that is not UTF-8", "message_create.message.text", /UTF-8/, inMessage(3, NOT_UTF8)],
  ["a label that is not UTF-8", LABEL, /UTF-8/, inButton(1, NOT_UTF8)],
  ["a user that is not UTF-8", "dm_create.user", /UTF-8/, field(5, field(1, NOT_UTF8))],
  [
    "an idempotency key that is half of a character's bytes",
    "idempotency_key",
    /UTF-8/,
    field(6, Buffer.from("é").subarray(0, 1)),
  ],
  ["a workspace id that is not UTF-8", "workspace_id", /UTF-8/, field(1, NOT_UTF8)],
  ["a lifetime of 2^63-1 seconds", "lifetime", /duration/, field(7, duration(MAX_INT64))],
  [
    "a lifetime whose nanos are below minus one second",
    "lifetime",
    /duration/,
    field(7, duration(5n, -(2n ** 31n))),
  ],
  ["a lifetime whose nanos are a whole second", "lifetime", /duration/, field(7, duration(5n, 10n ** 9n))],
  [
    "a lifetime whose seconds are positive and whose nanos are negative",
    "lifetime",
    /duration/,
    field(7, duration(5n, -1n)),
  ],
  ["a message that is cut off", "message_create.message", /decoded/, field(2, field(2, NOT_UTF8))],
  ["a field that is cut off", "", /decoded/, Buffer.from([0x0a, 5])],
  ["a number that continues in the next event", "", /decoded/, Buffer.of(0x40, 0x80)],
  [
    "a number that continues past the end of its message",
    "message_create.message",
    /decoded/,
    field(2, field(2, Buffer.of(0x12, 0x80))),
  ],
  ["a number that does not end", "", /decoded/, Buffer.concat([Buffer.of(0x40), Buffer.alloc(20, 0xff)])],
])(
  "an event with %s is rejected with the path of the field, and other events are read",
  (_what, at, words, bad) => {
    const bytes = request(good, Buffer.concat([good, bad]), good);
    const read = readAll(bytes);
    const fault = { field: at, message: expect.stringMatching(words) as string };
    const decoded = { message: GOOD };
    expect(read).toEqual({
      message: { bytes: bytes.length, count: 3, events: [decoded, { fault }, decoded] },
    });
  },
);

const hasProtoKey = (value: unknown): boolean => JSON.stringify(value).includes('"__proto__":');
const anyData = fc.dictionary(fc.string(), fc.jsonValue()).filter((value) => !hasProtoKey(value));
const ofData = (value: Record<string, unknown>): Uint8Array =>
  OutboundEvent.encode(
    OutboundEvent.create({ ...GOOD, content: create("c1", { ...CARD, data: value }) }),
  ).finish();

test("valid events are read as the generated code reads them, even with 30 levels of nested objects and lists in their data", () => {
  forAll(fc.array(anyData, { maxLength: 4 }), fc.nat(29), (all, depth) => {
    const deepest = [data(times(depth, struct)), data(times(depth, list))];
    const bytes = request(...all.map(ofData), ...deepest.map((each) => Buffer.concat([good, each])));
    const messages = PublishEventsRequest.decode(bytes).events.map((message) => ({ message }));
    expect(readAll(bytes)).toEqual({
      message: { bytes: bytes.length, count: messages.length, events: messages },
    });
  });
});

test("at most 100 events of a request are read, and a truncated request is invalid", () => {
  const many = request(...Array.from({ length: 150 }, () => good));
  expect(readAll(many)).toMatchObject({ message: { count: 150, events: { length: 100 } } });
  expect(readAll(many.subarray(0, -1))).toMatchObject({ fault: { field: "" } });
});

test("if the ack deadline of an opening message is not a valid duration, the message is rejected, and the error names the field", () => {
  const open = (deadline: Uint8Array) => Buffer.from(field(1, field(4, deadline)));
  const refused = GAME_METHODS.follow.requestDeserialize(open(duration(MAX_INT64)));
  expect(refused).toMatchObject({ fault: { field: "open.ack_deadline" } });
  const tenSeconds = open(duration(10n));
  const message = FollowRequest.decode(tenSeconds);
  expect(GAME_METHODS.follow.requestDeserialize(tenSeconds)).toEqual({ message });
});

/**
 * Starts a game service whose store answers a call only when the test lets it. Returns functions to make and to answer
 * calls, the unanswered calls in the store, and the call counts.
 */
function startGames() {
  const counts = createCallCounts();
  const stored: (() => void)[] = [];
  const publishAll = (publications: readonly Publication[]): Promise<readonly Published[]> =>
    new Promise((resolve) =>
      stored.push(() => resolve(publications.map(() => ({ outcome: "unknown-workspace" })))),
    );
  const context = {
    now: Date.now,
    ids: createIds(Date.now),
    outboundEvents: { publishAll },
    callCounts: counts,
  };
  const { publishEvents } = createGameService(
    context as unknown as GameServiceContext,
    () => undefined,
    createCallPace(),
  );
  /** Makes a call whose events count as `bytes` bytes in total. Resolves with its status. */
  const ask = (name: string, bytes: number, count = 1): Promise<string> =>
    new Promise((resolve) => {
      const metadata = new Metadata();
      const over = new AbortController();
      setCaller(metadata, { name, workspaces: undefined }, over.signal);
      const event = { message: { ...GOOD, workspaceId: randomUUID() } };
      const message = {
        bytes,
        count,
        events: Array.from({ length: count }, () => ({ event, bytes: bytes / count })),
      };
      const call = { metadata, request: { message } } as unknown as Parameters<typeof publishEvents>[0];
      publishEvents(call, (error) => {
        over.abort();
        resolve(error === null ? "OK" : `${status[error.code ?? 0]}: ${error.details}`);
      });
    });
  /**
   * Lets the store answer the calls with the numbers `from` to `to` - 1, in the order in which they reach the store.
   */
  async function store(from: number, to: number): Promise<void> {
    for (let number = from; number < to; number++) {
      await until("the next call has reached the store", () => stored.length > number);
      stored[number]?.();
    }
  }

  return { counts, stored, store, ask };
}

test("core accepts calls of up to 32 MB for one token and 64 MB for all tokens; it answers further calls with UNAVAILABLE until there is room", async () => {
  const { counts, stored, store, ask } = startGames();
  const large = 8 * 1024 * 1024;
  const taken = ["quiz", "dice"].flatMap((name) => Array.from({ length: 4 }, () => ask(name, large)));
  await until("all calls are in progress", () => counts.publishing.used === 8 * large);
  expect(await ask("quiz", 1)).toMatch(/^UNAVAILABLE: the token quiz already has 32 MB /);
  expect(await ask("chess", 1)).toMatch(/^UNAVAILABLE: this core already has 64 MB /);
  await store(0, 8);
  expect(await Promise.all(taken)).toEqual(Array(8).fill("OK"));
  expect(counts.publishing.used).toBe(0);
  const again = ask("quiz", 1);
  await until("the call has reached the store", () => stored.length === 9);
  // However small a call is, it counts as 8 KB.
  expect(counts.publishing.used).toBe(8 * 1024);
  stored.at(-1)?.();
  expect(await again).toBe("OK");
});

test("large calls reach the store in slices of 256 KB, one slice of a token at a time, and small calls do not wait for them", async () => {
  const { stored, store, ask } = startGames();
  const large = ["quiz", "quiz", "dice"].map((name) => ask(name, 1024 * 1024, 64));
  await until("a slice of each token has reached the store", () => stored.length === 2);
  const small = ask("quiz", 1);
  await until("the small call has reached the store", () => stored.length === 3);
  stored[2]?.();
  expect(await small).toBe("OK");
  expect(stored).toHaveLength(3);
  await store(0, 2);
  await store(3, 13);
  expect(await Promise.all(large)).toEqual(Array(3).fill("OK"));
  expect(stored).toHaveLength(13);
});

test("core works on at most 16 calls of a token at the same time, and a call of another token does not wait for them", async () => {
  const { stored, store, ask } = startGames();
  const many = Array.from({ length: 40 }, () => ask("quiz", 1));
  await until("the share of the token is used", () => stored.length === 16);
  const one = ask("dice", 1);
  await until("the call of the other token has reached the store", () => stored.length === 17);
  stored[16]?.();
  expect(await one).toBe("OK");
  expect(stored).toHaveLength(17);
  for (const done of stored) done();
  await until("further calls have reached the store", () => stored.length === 33);
  await store(17, 41);
  expect(await Promise.all(many)).toEqual(Array(40).fill("OK"));
});
