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

/** Seconds that a round lasts in the tests that wait for its end; other tests use a round that does not end. */
const ROUND = { short: 3, endless: 3_600 };

/** A game of the guides that asks for a word, and lets members guess it. */
export interface WordGame {
  /** The game's name: the first word of its commands. */
  readonly name: string;
  readonly core: FakeCore;
  /** Starts the game with a store, which several calls can name. */
  readonly start: (store: string, roundSeconds: number) => Program;
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
    async start(store: string, roundSeconds = ROUND.endless): Promise<Program> {
      const program = start(store, roundSeconds);
      await until("the game follows", () => /following$/m.test(program.output()));
      return program;
    },
    /** Starts a round with the word "tiger", and waits until the first letter is shown. */
    async startRound(channel = "room"): Promise<void> {
      await act("ada", "types", { text: `/play ${name}`, channel });
      await settled();
      await act("ada", "replies", { text: " Tiger ", channel });
      await find({ contains: "t····", place: channel, wait: "30" });
      await settled();
    },
  };
}

/** Checks that the game broke no rule, and that core gave no other advice than the given codes. */
async function expectGoodReport(chat: ReturnType<typeof chatOf>, codes: readonly string[] = []) {
  const { broken, findings } = await chat.report();
  const others = findings.filter(({ code }) => !codes.includes(code));
  expect({ broken, others }).toEqual({ broken: 0, others: [] });
}

/** Plays a round with core's faults: a repeated event, a lost stream, an outage, and a crash before publishing. */
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
  expect(round).toMatchObject({ place: "room", buttons: [[{ label: "Hint" }]] });
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

  await chat.call("POST", "/unavailable", { unavailable: true });
  const outages = () => program.output().match(/longer following/g)?.length ?? 0;
  const earlier = outages();
  await chat.act("bo", "types", { text: "tiger" });
  await until("the game cannot publish", () => outages() > earlier);
  await program.stop("SIGKILL");
  await chat.call("POST", "/unavailable", { unavailable: false });
  program = await chat.start("faults");
  const [won] = await chat.shows("**Bo** knew it: **tiger**");
  expect(won).toMatchObject({ place: "room", buttons: [], updates: 3 });
  await chat.act("cy", "types", { text: "tiger" });
  await chat.settled();
  expect(await program.stop()).toBe(0);
  expect(await chat.find({ place: "room" })).toHaveLength(1);
  await expectGoodReport(chat, ["stale-event"]);
}

/** Lets a round end in two processes that share a store, after the process that started the round was killed. */
export async function endRoundInSecondProcess(game: WordGame): Promise<void> {
  const chat = chatOf(game);
  await chat.call("POST", "/reset", {});
  const first = await chat.start("timer", ROUND.short);
  await chat.startRound();
  await first.stop("SIGKILL");
  const next = [await chat.start("timer", ROUND.short), await chat.start("timer", ROUND.short)];
  const [over] = await chat.shows("Time is up: **tiger**");
  expect(over).toMatchObject({ place: "room", updates: 1, buttons: [] });
  for (const program of next) expect(await program.stop()).toBe(0);
  await expectGoodReport(chat, ["stale-event"]);
}

/**
 * Plays with a version of the game that fails when a member types "boom": core repeats the event four times, then the
 * game gives it up, and handles the event after it.
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
