import * as fc from "fast-check";
import { EntriesDecoder, type EntriesReply } from "../../core/store/redis/entries-decoder";
import { forMany } from "../harness/for-all";

interface Entry {
  readonly id: string;
  readonly fields: readonly Uint8Array[];
}
type Wanted = "OK" | { readonly error: string } | readonly Entry[];

const bulk = (bytes: Uint8Array | string): Buffer =>
  Buffer.concat([Buffer.from(`$${Buffer.from(bytes).length}\r\n`), Buffer.from(bytes), Buffer.from("\r\n")]);
const list = (items: readonly Uint8Array[]): Buffer =>
  Buffer.concat([Buffer.from(`*${items.length}\r\n`), ...items]);

/** Returns a reply as Redis sends it (RESP2). */
function encode(reply: Wanted): Buffer {
  if (reply === "OK") return Buffer.from("+OK\r\n");
  if ("error" in reply) return Buffer.from(`-${reply.error}\r\n`);
  return list(reply.map(({ id, fields }) => list([bulk(id), list(fields.map(bulk))])));
}

function decode(chunks: readonly Buffer[]): readonly unknown[] {
  const replies: unknown[] = [];
  const decoder = new EntriesDecoder((reply) => replies.push(shown(reply)));
  for (const chunk of chunks) decoder.write(chunk);
  return replies;
}

function shown(reply: EntriesReply): unknown {
  if (reply.is === "status") return "OK";
  if (reply.is === "error") return { error: reply.text };
  return [reply.entries.lastId, reply.entries.values.map((value) => value.toString("latin1"))];
}

function expected(reply: Wanted): unknown {
  if (reply === "OK" || "error" in reply) return reply;
  const values = reply.map(({ fields }) => Buffer.from(fields[1] ?? []).toString("latin1"));
  return [reply.at(-1)?.id, values];
}

/** Bytes of any value, and bytes that resemble a reply. */
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }),
  fc.constantFrom("\r\n", "*2\r\n$3\r\n", "$-1\r\n", "").map((text) => Buffer.from(text)),
  fc.integer({ min: 500, max: 5_000 }).map((size) => Buffer.alloc(size, "x")),
);
const entry = fc.record({
  id: fc.bigInt({ min: 0n, max: 10n ** 18n }).map((sequence) => `${sequence}-0`),
  fields: fc.array(fc.tuple(bytes, bytes), { minLength: 1, maxLength: 3 }).map((pairs) => pairs.flat()),
});
const reply = fc.oneof(
  fc.constant<Wanted>("OK"),
  fc.constantFrom("ERR no such key", "LOADING é").map((error): Wanted => ({ error })),
  fc.array(entry, { maxLength: 6 }).map((entries): Wanted => entries),
);

test("replies are decoded in order, wherever the chunks of the connection end", () => {
  const cuts = fc.array(fc.oneof(fc.nat(30), fc.nat(10_000)), { maxLength: 30 });
  forMany(1_000, fc.array(reply, { minLength: 1, maxLength: 5 }), cuts, (replies, sizes) => {
    const all = Buffer.concat(replies.map(encode));
    const chunks: Buffer[] = [];
    let at = 0;
    for (const size of [...sizes, all.length]) {
      if (size > 0 && at < all.length) chunks.push(all.subarray(at, at + size));
      at += size;
    }
    expect(decode(chunks)).toEqual(replies.map(expected));
  });
});

test("replies are decoded if each byte is a chunk", () => {
  const replies: Wanted[] = [
    "OK",
    [{ id: "12-0", fields: ["1", "a\r\n", "by", ""].map((each) => Buffer.from(each)) }],
    [],
  ];
  const all = Buffer.concat([...replies, { error: "ERR" }].map(encode));
  const chunks = Array.from(all, (byte) => Buffer.from([byte]));
  expect(decode(chunks)).toEqual([...replies.map(expected), { error: "ERR" }]);
});

test.each([":1\r\n", "$2\r\nab\r\n", "*1\r\n$1\r\na\r\n", "*1\r\n*2\r\n:1\r\n", "*-1\r\n", "HTTP/1.1 400"])(
  "a reply in another form is an error: %j",
  (text) => {
    expect(() => decode([Buffer.from(text)])).toThrow("Redis returned a reply in an unexpected form");
  },
);
