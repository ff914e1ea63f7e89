import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { folderStore, messageFile } from "../../message-store";
import type { ShownMessage } from "../../shown-messages";
import { testFolder } from "../../../test/harness/folder";

const folder = testFolder();
let path: string;
let files = 0;
beforeEach(() => {
  path = join(folder, `messages-${++files}`);
});

function shownAs(n: number, text = ""): ShownMessage {
  const message = {
    id: `msg_${n}`,
    kind: "card",
    text,
    buttons: [],
    image: null,
    awaitsReply: false,
    data: null,
  };
  const place = { messageId: message.id, channel: "c1", user: null };
  return { ...place, message, chatMessageIds: [`chat-${n}`], eventId: `evt_${n}`, sequence: n };
}

test("a store loads the latest version of each saved message, the least recently saved first", async () => {
  const store = messageFile(path);
  expect(await store.load()).toEqual([]);
  await Promise.all(
    [shownAs(1), shownAs(2), shownAs(1, "updated\nin two lines"), shownAs(3)].map(store.save),
  );
  expect(await messageFile(path).load()).toEqual([
    shownAs(2),
    shownAs(1, "updated\nin two lines"),
    shownAs(3),
  ]);
});

test("a saved message is in the file when `save` resolves", async () => {
  const store = messageFile(path);
  await store.load();
  for (let n = 1; n <= 3; n++) {
    await store.save(shownAs(n));
    expect(readFileSync(path, "utf8")).toContain(`"msg_${n}"`);
  }
});

test("if a crash left a line incomplete, only that line's message is lost", async () => {
  const store = messageFile(path);
  await store.load();
  await store.save(shownAs(1));
  appendFileSync(path, JSON.stringify(shownAs(2)).slice(0, 40));
  // The same process saves a message after the incomplete line. Then a new process saves one after invalid lines.
  await store.save(shownAs(3));
  const next = messageFile(path);
  expect(await next.load()).toEqual([shownAs(1), shownAs(3)]);
  appendFileSync(path, "null\n7\n{}\n");
  await next.save(shownAs(4));
  expect(await messageFile(path).load()).toEqual([shownAs(1), shownAs(3), shownAs(4)]);
});

test("the file stays within its bound, and keeps the most recent messages", async () => {
  const limits = { messages: 10, characters: 4_000 };
  const store = messageFile(path, limits);
  await store.load();
  let longest = 0;
  for (let n = 1; n <= 300; n++) {
    await store.save(shownAs(n));
    longest = Math.max(longest, statSync(path).size);
  }
  expect(longest).toBeLessThan(4 * limits.characters);
  expect((await messageFile(path, limits).load()).map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 10 }, (_, i) => 291 + i),
  );
});

test("a save that fails rejects, and a later save succeeds", async () => {
  const store = messageFile(path);
  await store.load();
  rmSync(path);
  mkdirSync(path);
  await expect(store.save(shownAs(1))).rejects.toThrow("EISDIR");
  rmSync(path, { recursive: true });
  await store.save(shownAs(2));
  expect(await messageFile(path).load()).toEqual([shownAs(2)]);
});

test("a folder store creates its folder, readable only by its owner", async () => {
  const state = join(path, "deep/state");
  const { cursors, messages, pushes } = folderStore(state);
  expect(await pushes.load()).toEqual([]);
  expect(await messages.load()).toEqual([]);
  await messages.save(shownAs(1));
  await cursors.save("17");
  const names = ["cursor", "messages.jsonl", "pushes.jsonl"];
  expect(readdirSync(state).toSorted()).toEqual(names);
  const modes = [state, ...names.map((name) => join(state, name))].map((each) => statSync(each).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
});

test("a folder store that cannot create its folder rejects", async () => {
  writeFileSync(path, "");
  await expect(folderStore(path).messages.load()).rejects.toThrow("EEXIST");
});
