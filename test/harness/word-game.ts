import type { FakeCore } from "./fake-core";
import type { Program } from "./program";
import { until } from "./wait";

/** A message in the answer of `GET /messages`. */
interface ShownMessage {
  readonly place: string;
  readonly text: string;
  readonly updates: number;
  readonly awaitsReply: boolean;
  readonly buttons: readonly (readonly { readonly label: string }[])[];
}
interface Report {
  readonly broken: number;
  readonly findings: readonly { readonly code: string; readonly count: number; readonly example: string }[];
}

/** Seconds that a round lasts. */
const ROUND = 3_600;
/** Advances the clock of the fake core past the end of a round. */
const OVER = { advance: "1 h" };

/** An example game from the guides: one member enters a word, and the other members guess the word. */
export interface WordGame {
  /** The game's name, which is the first word of each of its commands. */
  readonly name: string;
  readonly core: FakeCore;
  /** Starts the game. Calls with the same `store` share their state. The game's clock is ahead by `aheadSeconds`. */
  readonly start: (store: string, roundSeconds: number, aheadSeconds: number) => Program;
}

function chatOf({ name, core, start }: WordGame) {
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const { status, json } = await core.control(method, path, body);
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(json)}`);
    return json;
  };
  const act = (member: string, how: string, body: object) => call("POST", `/members/${member}/${how}`, body);
  const settled = () => call("GET", "/settled?wait=30");
  const find = async (query: Record<string, string>): Promise<readonly ShownMessage[]> => {
    const path = `/messages?${new URLSearchParams(query).toString()}`;
    return ((await call("GET", path)) as { messages: readonly ShownMessage[] }).messages;
  };
  return {
    call,
    act,
    settled,
    find,
    /** Waits until the chat shows the text, and returns the messages with the text. */
    shows: (text: string) => find({ contains: text, wait: "30" }),
    report: async () => (await call("GET", "/report")) as Report,
    /** Starts the game with the clock of the fake core. */
    async start(store: string): Promise<Program> {
      const { now } = (await call("GET", "/time")) as { now: string };
      const program = start(store, ROUND, (Date.parse(now) - Date.now()) / 1_000);
      await until("the game follows", () => /following$/m.test(program.output()));
      return program;
    },
    /** Starts a round with the word "tiger", and waits until the first letter is shown. */
    async startRound(channel = "room", workspace?: string): Promise<void> {
      await act("ada", "types", { text: `/play ${name}`, channel, workspace });
      await settled();
      await act("ada", "replies", { text: " Tiger ", channel, workspace });
      await find({ contains: "t····", place: channel, wait: "30" });
      await settled();
    },
  };
}

/** Fails if the fake core reports that the game broke a rule, or reports a finding whose code is not in `codes`. */
async function expectGoodReport(chat: ReturnType<typeof chatOf>, codes: readonly string[] = []) {
  const { broken, findings } = await chat.report();
  const others = findings.filter(({ code }) => !codes.includes(code));
  expect({ broken, others }).toEqual({ broken: 0, others: [] });
}

/**
 * Plays a round while the fake core simulates faults: a repeated event, a lost stream, an outage, and a crash before
 * publishing.
 */
export async function playWithFaults(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  let program = await chat.start("faults");
  await chat.act("ada", "types", { text: `/play ${game.name}` });
  const [asked] = await chat.shows("Which word");
  expect(asked).toMatchObject({ place: "dm:ada", awaitsReply: true });
  await chat.settled();
  await chat.act("ada", "dms", { text: "two words" });
  await chat.shows("one word of 2 to 20 letters");
  await chat.settled();
  await chat.act("ada", "replies", { text: "Tiger" });
  const [round] = await chat.shows("t····");
  // Many bridges report what members type in a channel only while a message awaits a reply.
  expect(round).toMatchObject({ place: "room", awaitsReply: true, buttons: [[{ label: "Hint" }]] });
  await chat.settled();

  const before = await chat.find({});
  await chat.call("POST", "/redeliver", {});
  await chat.settled();
  expect(await chat.find({})).toEqual(before);

  await chat.call("POST", "/streams/lose", {});
  await chat.act("bo", "presses", { label: "Hint" });
  await chat.shows("ti···");
  await chat.settled();
  await chat.call("POST", "/unavailable", { unavailable: true });
  await chat.act("bo", "presses", { label: "Hint" });
  await until("the game follows again", () => (program.output().match(/following$/gm) ?? []).length >= 3);
  await chat.call("POST", "/unavailable", { unavailable: false });
  await chat.shows("tig··");
  await chat.settled();

  await chat.act("bo", "presses", { action: `${game.name}:hint`, messageId: "msg_old" });
  await chat.settled();
  expect(await chat.find({ contains: "tig··" })).toHaveLength(1);

  await chat.call("POST", "/unavailable", { unavailable: true });
  const outages = () => program.output().match(/longer following/g)?.length ?? 0;
  const earlier = outages();
  await chat.act("bo", "types", { text: "tiger" });
  await until("the game cannot publish", () => outages() > earlier);
  await program.stop("SIGKILL");
  await chat.call("POST", "/unavailable", { unavailable: false });
  program = await chat.start("faults");
  const [won] = await chat.shows("**Bo** knew it: **tiger**");
  expect(won).toMatchObject({ place: "room", awaitsReply: false, buttons: [], updates: 3 });
  await chat.act("cy", "types", { text: "tiger" });
  await chat.settled();
  expect(await program.stop()).toBe(0);
  expect(await chat.find({ place: "room" })).toHaveLength(1);
  await expectGoodReport(chat, ["stale-event"]);
}

/**
 * Kills the process that started a round, and starts two processes with the same store. Fails unless they end the round
 * once.
 */
export async function endRoundInSecondProcess(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const first = await chat.start("timer");
  await chat.startRound();
  await first.stop("SIGKILL");
  await chat.call("POST", "/time", OVER);
  const next = [await chat.start("timer"), await chat.start("timer")];
  const [over] = await chat.shows("Time is up: **tiger**");
  expect(over).toMatchObject({ place: "room", updates: 1, buttons: [] });
  for (const program of next) expect(await program.stop()).toBe(0);
  await expectGoodReport(chat, ["stale-event"]);
}

/**
 * Stops the game until two rounds have ended. Meanwhile, members guess in time in one channel, and too late in the
 * other.
 */
export async function guessWhileTheGameIsDown(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const first = await chat.start("down");
  await chat.startRound("early");
  await chat.startRound("late");
  expect(await first.stop()).toBe(0);
  for (let guess = 0; guess < 30; guess++) await chat.act("cy", "types", { text: "lion", channel: "early" });
  await chat.act("bo", "types", { text: "tiger", channel: "early" });
  await chat.call("POST", "/time", OVER);
  await chat.act("bo", "types", { text: "tiger", channel: "late" });
  const second = await chat.start("down");
  await chat.shows("**Bo** knew it: **tiger**");
  await chat.shows("Time is up: **tiger**");
  await chat.settled();
  expect(await chat.find({ place: "early" })).toMatchObject([{ text: "**Bo** knew it: **tiger**" }]);
  expect(await chat.find({ place: "late" })).toMatchObject([{ text: "Time is up: **tiger**" }]);
  expect(await second.stop()).toBe(0);
  await expectGoodReport(chat);
}

/**
 * Makes the store fail with `failStore`, which returns a function that repairs the store. Fails unless the game handles
 * an event after the repair.
 */
export async function survivesFailingStore(
  game: WordGame,
  failStore: (store: string) => Promise<() => Promise<void>>,
): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const program = await chat.start("store");
  await chat.startRound();
  const repair = await failStore("store");
  await chat.act("bo", "types", { text: "tiger" });
  await until("the game says that the store fails", () => program.output().includes("no longer following"));
  await repair();
  await chat.shows("**Bo** knew it: **tiger**");
  await chat.settled();
  expect(await program.stop()).toBe(0);
  await expectGoodReport(chat);
}

/**
 * Makes a workspace unknown to core for a while, as if the workspace were disconnected. Fails unless the game still
 * knows its round afterwards.
 */
export async function keepsStateOfDisconnected(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const { id } = (await chat.call("POST", "/workspaces", {})) as { id: string };
  const program = await chat.start("unknown");
  await chat.startRound("room", id);
  await chat.call("POST", "/unavailable", { unavailable: true });
  await chat.act("bo", "presses", { label: "Hint", workspace: id });
  await until("the game cannot publish", () => program.output().includes("no longer following"));
  await chat.call("DELETE", `/workspaces/${id}`);
  await chat.call("POST", "/unavailable", { unavailable: false });
  await until("the game learns that the workspace is unknown", () => program.output().includes(id));
  await chat.call("POST", "/workspaces", { id });
  await chat.act("bo", "types", { text: "tiger", workspace: id });
  await until("the game ends the round", async () =>
    (await chat.report()).findings.some(({ code }) => code === "unknown-message"),
  );
  await chat.settled();
  await chat.call("DELETE", `/workspaces/${id}`);
  expect(await program.stop()).toBe(0);
}

/**
 * Plays with a version of the game that fails when a member types "boom". Core redelivers this event four times. Then
 * the game moves it to the dead letters, and handles the next event.
 */
export async function giveUpAnEvent(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const program = await chat.start("failing");
  await chat.startRound();
  await chat.act("bo", "types", { text: "boom" });
  await chat.act("bo", "types", { text: "tiger" });
  await until("the game has failed", () => program.output().includes(": boom is a bug"));
  expect(await chat.find({ contains: "knew it" })).toEqual([]);
  await until("the game has given up the event", async () => {
    await chat.call("POST", "/time", { advance: "10 s" });
    return (await chat.report()).findings.some(({ code }) => code === "dead-letter");
  });
  await chat.shows("**Bo** knew it");
  await chat.settled();
  expect(program.output().match(/: boom is a bug/g)).toHaveLength(5);
  expect(await program.stop()).toBe(0);
  await expectGoodReport(chat, ["dead-letter"]);
}
