import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { testFolder } from "../../../../test/harness/folder";
import { openChat } from "../../../../test/harness/game-chat";
import { sharedService } from "../../../../test/harness/shared-service";
import { buildPlayedGame, startPlayedGame } from "../harness/played-games";
import { newGroup } from "./follow-with-link";

const root = testFolder();
const service = sharedService();
const WORKSPACES = 4;
/** Milliseconds between two events. */
const EVERY_MS = 50;
const EVENTS = 300;
/** After this many events, the next process starts, and an old process stops. */
const REPLACE_AFTER = [90, 180];

test("a rolling deploy during games loses and duplicates nothing, and each timer runs once", async () => {
  const program = buildPlayedGame(root);
  const group = newGroup();
  const folder = join(root, "state");
  mkdirSync(folder);
  const start = (consumer: string) =>
    startPlayedGame(program, { port: service.core.port, group, consumer, folder });
  const old = [await start("a"), await start("b")];
  const current: typeof old = [];
  const rooms = await Promise.all(
    Array.from({ length: WORKSPACES }, async () => ({
      chat: openChat(service.url, await service.workspaces.make()),
      notes: [] as string[],
      rings: [] as string[],
    })),
  );

  async function play(): Promise<void> {
    for (let i = 0; i < EVENTS; i++) {
      const room = rooms[i % WORKSPACES];
      if (room === undefined) throw new Error("no room");
      const id = `n${i}`;
      const rings = i % 10 === 0;
      room.notes.push(`${id} ${room.notes.length + 1}`);
      if (rings) room.rings.push(`ring ${id}`);
      const next = REPLACE_AFTER.indexOf(i);
      if (next >= 0) replacing.push(replace(next));
      await Promise.all([room.chat.command("ann", `${rings ? "later" : "note"} ${id}`), sleep(EVERY_MS)]);
    }
  }
  const replacing: Promise<void>[] = [];
  async function replace(index: number): Promise<void> {
    current.push(await start(["c", "d"][index] ?? ""));
    expect(await old[index]?.stop()).toBe(0);
  }
  await play();
  await Promise.all(replacing);

  for (const { chat, notes, rings } of rooms) {
    const shown: string[] = [];
    const isDone = () => [...notes, ...rings].every((text) => shown.includes(text));
    while (!isDone()) shown.push((await chat.sees("message.create", "card")).message.text);
    // A duplicate event would be shown before this event.
    await chat.command("ann", "note end");
    const last = `end ${notes.length + 1}`;
    while (!shown.includes(last)) shown.push((await chat.sees("message.create", "card")).message.text);
    expect(shown.filter((text) => !text.startsWith("ring"))).toEqual([...notes, last]);
    expect(shown.filter((text) => text.startsWith("ring")).toSorted()).toEqual(rings.toSorted());
  }
  expect(await Promise.all(current.map((process) => process.stop()))).toEqual([0, 0]);
});
