import { appendFileSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { testFolder } from "../../../test/harness/folder";
import { createReportedIds } from "../../reported-ids";
import { reportedFile, reportedInMemory, type ReportedEntry, type ReportedStore } from "../../reported-store";
import { until } from "../../../test/harness/wait";
import type { ShownMessage } from "../../shown-messages";
import { create, dm, ephemeral } from "./reduce-events";

const folder = testFolder();
let path: string;
let files = 0;
beforeEach(() => {
  path = join(folder, `reported-${++files}.jsonl`);
  problems.length = 0;
});

const MEMBER = "the bridge has never reported the member";
const CHANNEL = "the bridge has never reported the channel";
const command = (channel: string, user: string) =>
  ({ type: "command", channel, user: { id: user }, text: "start" }) as const;
const problems: string[] = [];

interface Opened {
  readonly store?: ReportedStore;
  readonly isForChannels?: boolean;
  readonly charactersMax?: number;
  readonly shown?: readonly ShownMessage[];
  readonly hasRun?: boolean;
}

async function open(options: Opened = {}) {
  const { isForChannels = true, charactersMax = 1e6, shown = [], hasRun = shown.length > 0 } = options;
  const { store = reportedFile(path, charactersMax) } = options;
  const report = ({ message }: Error) => problems.push(message);
  const ids = createReportedIds({ store, isForChannels, report, charactersMax });
  await ids.load(shown, hasRun);
  return ids;
}

test("only reported channels and members may get messages, even after a restart", async () => {
  const first = await open();
  expect(first.faultOf(create("c1", 1))).toBe(CHANNEL);
  expect(first.faultOf(dm("u1", 1))).toBe(MEMBER);
  await first.note(command("c1", "u1"));
  for (const ids of [first, await open()]) {
    expect(ids.faultOf(create("c1", 1))).toBeUndefined();
    expect(ids.faultOf(dm("u1", 1))).toBeUndefined();
    expect(ids.faultOf(ephemeral("c1", 1))).toBeUndefined();
    expect(ids.faultOf(create("c2", 1))).toBe(CHANNEL);
    expect(ids.faultOf(create("u1", 1))).toBe(CHANNEL);
    expect(ids.faultOf(dm("u2", 1))).toBe(MEMBER);
    expect(ids.faultOf(dm("c1", 1))).toBe(MEMBER);
    expect(ids.faultOf(ephemeral("c2", 1))).toBe(CHANNEL);
  }
});

test("without the option for channels, a message may go to any channel, but only to reported members", async () => {
  const ids = await open({ isForChannels: false });
  expect(ids.faultOf(create("c1", 1))).toBeUndefined();
  expect(ids.faultOf(ephemeral("c1", 1))).toBe(MEMBER);
});

test("a report from a direct conversation does not add a channel", async () => {
  const ids = await open();
  await ids.note({ type: "message", channel: { id: "dm:u1" }, user: { id: "u1" }, text: "42" });
  expect(ids.faultOf(dm("u1", 1))).toBeUndefined();
  expect(ids.faultOf(create("dm:u1", 1))).toBe(CHANNEL);
});

test("after an upgrade, the chat may show messages to members of earlier messages, and all earlier events", async () => {
  const place = {
    messageId: "m",
    eventId: "e",
    sequence: 1,
    chatMessageIds: [],
    message: create("c1", 1).message,
  };
  const shown: ShownMessage[] = [
    { ...place, channel: "c1", user: "u1" },
    { ...place, channel: "dm:u2", user: null },
  ];
  for (const ids of [await open({ shown }), await open({ shown })]) {
    const later = { createdAt: new Date(Date.now() + 60_000).toISOString() };
    for (const user of ["u1", "u2"]) expect(ids.faultOf({ ...dm(user, 1), ...later })).toBeUndefined();
    expect(ids.faultOf({ ...create("c1", 1), ...later })).toBeUndefined();
    expect(ids.faultOf({ ...dm("u3", 1), ...later })).toBe(MEMBER);
    expect(ids.faultOf(dm("u3", 1))).toBeUndefined();
  }
});

test("after an upgrade without saved messages, the chat may show all earlier events", async () => {
  for (const ids of [await open({ hasRun: true }), await open({ hasRun: true })]) {
    expect(ids.faultOf(dm("u1", 1))).toBeUndefined();
    const createdAt = new Date(Date.now() + 60_000).toISOString();
    expect(ids.faultOf({ ...dm("u1", 1), createdAt })).toBe(MEMBER);
  }
});

test("if a crash interrupts the upgrade, the next run repeats the upgrade", async () => {
  appendFileSync(path, '{"user":"u1"}\n');
  const ids = await open({ hasRun: true });
  expect(ids.faultOf(dm("u2", 1))).toBeUndefined();
});

test("a file in a new folder is created with its folder", async () => {
  path = join(path, "state", "reported.jsonl");
  await (await open()).note(command("c1", "u1"));
  expect((await open()).faultOf(dm("u1", 1))).toBeUndefined();
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("an id is in the file when `note` resolves, and a known id is not saved again", async () => {
  const ids = await open();
  await Promise.all(["u1", "u2", "u1"].map((user) => ids.note(command("c1", user))));
  const saved = readFileSync(path, "utf8");
  expect(saved.match(/"u[12]"/g)).toEqual(['"u1"', '"u2"']);
  await ids.note(command("c1", "u2"));
  expect(readFileSync(path, "utf8")).toBe(saved);
});

/** Returns a store whose saves of ids wait until `answer` is called, and a function that counts these saves. */
function slowStore() {
  const answers: (() => void)[] = [];
  const wait = () => new Promise<void>((resolve) => void answers.push(resolve));
  const add = (entry: ReportedEntry) => ("sinceMs" in entry ? Promise.resolve() : wait());
  return {
    store: { ...reportedInMemory(), add },
    adds: () => answers.length,
    answer: () => answers.forEach((resolve) => resolve()),
  };
}

// time: ordering
test("a second report of a member also waits until the member is saved", async () => {
  const { store, adds, answer } = slowStore();
  const ids = await open({ store });
  const order: string[] = [];
  const notes = ["first", "second"].map((name) => ids.note(command("c1", "u1")).then(() => order.push(name)));
  await new Promise(setImmediate);
  expect(order).toEqual([]);
  expect(adds()).toBe(2);
  answer();
  await Promise.all(notes);
  expect(order).toEqual(["first", "second"]);
});

test("the length of the ids in memory and in the file is limited, and the ids that were reported last are kept", async () => {
  const ids = await open({ charactersMax: 2_000 });
  for (let i = 0; i < 1_000; i += 1) {
    await ids.note(command("c1", `member-${i}`));
    await ids.note(command("c1", "loyal"));
  }
  expect(statSync(path).size).toBeLessThan(8_000);
  for (const each of [ids, await open({ charactersMax: 2_000 })]) {
    expect(each.faultOf(dm("member-999", 1))).toBeUndefined();
    expect(each.faultOf(dm("member-1", 1))).toBe(MEMBER);
    expect(each.faultOf(dm("loyal", 1))).toBeUndefined();
  }
});

test("damaged lines, and lines that a crash left incomplete, are skipped", async () => {
  await (await open()).note(command("c1", "u1"));
  appendFileSync(path, '{"user":7}\n[]\nnull\n{"user":"u2"}\n{"user":"u');
  const ids = await open();
  expect(["u1", "u2", "u"].map((user) => ids.faultOf(dm(user, 1)))).toEqual([undefined, undefined, MEMBER]);
});

/** Returns a file store whose `add` rejects while `isFull()` returns true. */
function fillingDisk(isFull: () => boolean): ReportedStore {
  const { load, add } = reportedFile(path);
  const fail = () => Promise.reject(new Error("disk full"));
  return { load, add: (entry: ReportedEntry) => (isFull() ? fail() : add(entry)) };
}

test("an id whose save failed counts as reported, and the next report of the id saves it", async () => {
  let isFull = false;
  const ids = await open({ store: fillingDisk(() => isFull) });
  isFull = true;
  await ids.note(command("c1", "u1"));
  expect(ids.faultOf(dm("u1", 1))).toBeUndefined();
  expect((await open()).faultOf(dm("u1", 1))).toBe(MEMBER);
  isFull = false;
  await ids.note(command("c1", "u1"));
  const second = await open();
  expect(second.faultOf(dm("u1", 1))).toBeUndefined();
  expect(second.faultOf(create("c1", 1))).toBeUndefined();
});

test("of consecutive failed saves, only the first is reported", async () => {
  let isFull = false;
  const ids = await open({ store: fillingDisk(() => isFull) });
  for (const user of ["u1", "u2"]) {
    isFull = true;
    for (let i = 0; i < 3; i += 1) await ids.note(command("c1", user));
    isFull = false;
    await ids.note(command("c1", user));
  }
  expect(problems).toHaveLength(2);
  for (const problem of problems) expect(problem).toMatch(/^cannot save reported ids .*: disk full$/);
});

test("while the store does not answer, the number of pending saves is limited", async () => {
  const { store, adds } = slowStore();
  const ids = await open({ store, charactersMax: 1_000 });
  for (let i = 0; i < 1_000; i += 1) void ids.note(command("c1", `member-${i}`));
  await until("a save is rejected", () => problems.length > 0);
  expect(adds()).toBeGreaterThan(10);
  expect(adds()).toBeLessThan(60);
  expect(problems).toEqual([expect.stringContaining("too many ids wait for the store")]);
});
