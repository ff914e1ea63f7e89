import { CannotShow, RetryLater } from "chat-bridge-kit";
import { createFloodGate } from "../../connection/flood-gate";
import { Outbox } from "../../connection/outbox";
import { Canceled, type Post, type Readiness } from "../../connection/post-queue";

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

const post = (id: string, fields: Partial<Post> = {}): Post => ({
  id,
  command: "PRIVMSG",
  target: "#games",
  lines: [`${id}.1`, `${id}.2`],
  expiresAtMs: null,
  ...fields,
});

interface SetUp {
  readonly burst?: number;
  readonly everyMs?: number;
  readonly sent?: Record<string, number>;
}

function setUp({ burst = 100, everyMs = 1_000, sent = {} }: SetUp = {}) {
  const written: string[] = [];
  const ready = { state: "now" as Readiness };
  const outbox = new Outbox({
    write: (line) => void written.push(line),
    gate: createFloodGate(burst, everyMs, () => Date.now()),
    journal: { sentOf: (id) => sent[id] ?? 0, noteSent: (id, lines) => void (sent[id] = lines) },
    readiness: (target) => (target.startsWith("#") ? ready.state : "now"),
  });
  return { outbox, written, ready, sent };
}
const outcome = (promise: Promise<void>) =>
  promise.then(
    () => "done",
    (error: Error) => error,
  );

// time: controlled
test("lines are sent at once up to the burst, and then one per interval", async () => {
  const { outbox, written } = setUp({ burst: 3 });
  outbox.up({ hasEcho: false });
  void outbox.post(post("a", { lines: ["1", "2", "3", "4", "5"] }));
  expect(written).toHaveLength(3);
  await jest.advanceTimersByTimeAsync(999);
  expect(written).toHaveLength(3);
  await jest.advanceTimersByTimeAsync(1_001);
  expect(written.filter((line) => line.startsWith("PRIVMSG")).map((line) => line.at(-1))).toEqual([
    "1",
    "2",
    "3",
    "4",
    "5",
  ]);
});

test("a post is done when the server has answered the PING after its last line", async () => {
  const { outbox, written } = setUp();
  outbox.up({ hasEcho: false });
  const done = outcome(outbox.post(post("a")));
  expect(written).toEqual(["PRIVMSG #games :a.1", "PRIVMSG #games :a.2", "PING lines-1"]);
  outbox.ponged("something else");
  outbox.ponged("lines-1");
  expect(await done).toBe("done");
});

test("echoes confirm lines without a PING, and a PING confirms a line whose echo is missing", async () => {
  const { outbox, written } = setUp();
  outbox.up({ hasEcho: true });
  const done = outcome(outbox.post(post("a")));
  outbox.echoed("#games", "a.1");
  expect(written).toHaveLength(2);
  await jest.advanceTimersByTimeAsync(2_000);
  expect(written.at(-1)).toBe("PING lines-1");
  outbox.ponged("lines-1");
  expect(await done).toBe("done");
});

test("after a lost connection, only the unconfirmed lines are sent again", async () => {
  const { outbox, written, sent } = setUp();
  outbox.up({ hasEcho: true });
  const done = outcome(outbox.post(post("a")));
  outbox.echoed("#games", "a.1");
  outbox.down();
  expect(sent).toEqual({ a: 1 });
  outbox.up({ hasEcho: true });
  expect(written).toEqual(["PRIVMSG #games :a.1", "PRIVMSG #games :a.2", "PRIVMSG #games :a.2"]);
  outbox.echoed("#games", "a.2");
  expect(await done).toBe("done");
});

test("after a restart, a post continues at the line after the last sent line, and a sent post is not repeated", async () => {
  const { outbox, written } = setUp({ sent: { a: 1, b: 2 } });
  outbox.up({ hasEcho: false });
  void outbox.post(post("a"));
  expect(await outcome(outbox.post(post("b")))).toBe("done");
  expect(written).toEqual(["PRIVMSG #games :a.2", "PING lines-1"]);
});

test("a repeated post joins the post that is being sent", async () => {
  const { outbox, written } = setUp();
  outbox.up({ hasEcho: false });
  const both = Promise.all([outbox.post(post("a")), outbox.post(post("a"))]);
  outbox.ponged("lines-1");
  await both;
  expect(written).toHaveLength(3);
});

test("posts to a channel wait until the channel is joined, without delaying other posts, and an expired post is dropped", async () => {
  const { outbox, written, ready } = setUp();
  ready.state = "soon";
  outbox.up({ hasEcho: false });
  const expired = outcome(outbox.post(post("old", { expiresAtMs: Date.now() + 50 })));
  const waiting = outcome(outbox.post(post("a")));
  void outbox.post(post("b", { target: "ann", lines: ["hello"] }));
  expect(written).toEqual(["PRIVMSG ann :hello", "PING lines-1"]);
  await jest.advanceTimersByTimeAsync(100);
  ready.state = "now";
  outbox.wake();
  expect(await expired).toBeInstanceOf(CannotShow);
  outbox.ponged("lines-2");
  expect(await waiting).toBe("done");
});

test("a post to a channel that stays unavailable is retried later, or dropped", async () => {
  const { outbox, ready } = setUp();
  outbox.up({ hasEcho: false });
  ready.state = "later";
  expect(await outcome(outbox.post(post("a")))).toBeInstanceOf(RetryLater);
  ready.state = { never: "not configured" };
  expect(await outcome(outbox.post(post("b")))).toBeInstanceOf(CannotShow);
});

test("if the server refuses a line, the post fails, and its retry begins with this line", async () => {
  const { outbox, sent } = setUp();
  outbox.up({ hasEcho: false });
  const done = outcome(outbox.post(post("a")));
  outbox.refused("#games", new RetryLater(1));
  expect(await done).toBeInstanceOf(RetryLater);
  expect(sent).toEqual({ a: 0 });
});

// time: controlled
test("notices are sent after lines that the whole channel sees, and one PING confirms several posts", async () => {
  const { outbox, written } = setUp({ burst: 1 });
  outbox.up({ hasEcho: false });
  void outbox.post(post("first", { lines: ["first"] }));
  void outbox.post(post("receipt", { command: "NOTICE", target: "ann", lines: ["receipt"] }));
  void outbox.post(post("reveal", { lines: ["reveal"] }));
  await jest.advanceTimersByTimeAsync(5_000);
  expect(written).toEqual([
    "PRIVMSG #games :first",
    "PING lines-1",
    "PRIVMSG #games :reveal",
    "NOTICE ann :receipt",
    "PING lines-2",
  ]);
});

test("the number of waiting posts is limited", async () => {
  const { outbox } = setUp();
  for (let i = 0; i < 500; i += 1) void outbox.post(post(`p${i}`, { target: `#c${i % 10}` }));
  expect(await outcome(outbox.post(post("one more")))).toBeInstanceOf(RetryLater);
});

test("neither one channel, nor all notices together, can fill the whole queue of posts", async () => {
  const { outbox } = setUp();
  for (let i = 0; i < 100; i += 1) void outbox.post(post(`p${i}`));
  expect(await outcome(outbox.post(post("one more")))).toBeInstanceOf(RetryLater);
  const notice = (i: number) => post(`n${i}`, { command: "NOTICE", target: `member${i}` });
  for (let i = 0; i < 300; i += 1) void outbox.post(notice(i));
  expect(await outcome(outbox.post(notice(300)))).toBeInstanceOf(RetryLater);
  const question = outcome(outbox.post(post("question", { target: "#two", isUrgent: true })));
  outbox.up({ hasEcho: true });
  for (const line of ["question.1", "question.2"]) outbox.echoed("#two", line);
  expect(await question).toBe("done");
});

/** Returns the texts of the lines in `written`. */
const texts = (written: readonly string[]) =>
  written.filter((line) => !line.startsWith("PING")).map((line) => line.slice(line.indexOf(":") + 1));

// time: controlled
test("a question is sent before other channels' news, and two channels with news take turns", async () => {
  const { outbox, written } = setUp({ burst: 1 });
  outbox.up({ hasEcho: true });
  const lines = (id: string, count: number) => Array.from({ length: count }, (_, i) => `${id}${i}`);
  void outbox.post(post("a", { lines: lines("a", 7) }));
  void outbox.post(post("b", { target: "#two", lines: lines("b", 4) }));
  await jest.advanceTimersByTimeAsync(1_000);
  void outbox.post(post("c", { target: "#three", lines: lines("c", 2), isUrgent: true }));
  await jest.advanceTimersByTimeAsync(20_000);
  expect(texts(written)).toEqual("a0 a1 c0 c1 b0 b1 b2 a2 a3 a4 b3 a5 a6".split(" "));
});

// time: controlled
test("the lines of a channel stay in order: an urgent post also makes the channel's earlier posts urgent", async () => {
  const { outbox, written } = setUp({ burst: 1 });
  outbox.up({ hasEcho: true });
  void outbox.post(post("first", { target: "#three", lines: ["first"] }));
  void outbox.post(post("other", { target: "#two", lines: ["other"] }));
  void outbox.post(post("news", { lines: ["news"] }));
  void outbox.post(post("question", { lines: ["question"], isUrgent: true }));
  await jest.advanceTimersByTimeAsync(20_000);
  expect(texts(written)).toEqual(["first", "news", "question", "other"]);
});

// time: controlled
test("notices leave a part of the burst for questions", async () => {
  const { outbox, written } = setUp({ burst: 5 });
  outbox.up({ hasEcho: true });
  for (let i = 0; i < 5; i += 1) {
    void outbox.post(post(`n${i}`, { command: "NOTICE", target: `member${i}`, lines: [`n${i}`] }));
  }
  void outbox.post(post("question", { isUrgent: true }));
  expect(texts(written)).toEqual(["n0", "n1", "n2", "question.1", "question.2"]);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(texts(written)).toEqual(["n0", "n1", "n2", "question.1", "question.2", "n3", "n4"]);
});

// time: controlled
test("the unsent lines of a canceled post are dropped, even if the connection is lost", async () => {
  const { outbox, written } = setUp({ burst: 1 });
  outbox.up({ hasEcho: true });
  const begun = outcome(outbox.post(post("a")));
  const waiting = outcome(outbox.post(post("b")));
  outbox.cancel("a");
  outbox.cancel("b");
  expect(await begun).toBeInstanceOf(Canceled);
  expect(await waiting).toBeInstanceOf(Canceled);
  const sent = outcome(outbox.post(post("c", { lines: ["c"] })));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(texts(written)).toEqual(["a.1", "c"]);
  outbox.cancel("c");
  outbox.down();
  expect(await sent).toBeInstanceOf(Canceled);
  outbox.up({ hasEcho: true });
  await jest.advanceTimersByTimeAsync(10_000);
  expect(texts(written)).toEqual(["a.1", "c"]);
});
