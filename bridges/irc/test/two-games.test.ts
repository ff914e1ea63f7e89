import { appendFileSync } from "node:fs";
import { poll } from "../../../test/harness/bridge";
import { testFolder } from "../../../test/harness/folder";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import { plainText } from "../text/plain-text";
import { joinIrc, type IrcMember } from "./harness/irc-member";
import { startInspircd, startNgircd, type IrcServer } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
const ca = createTestCa();
afterAll(() => ca.close());

/** Both servers have their standard limits on lines. */
const SERVERS: readonly (readonly [string, () => Promise<IrcServer>])[] = [
  ["ngIRCd", () => startNgircd(folder)],
  ["InspIRCd, with TLS and echoes", () => startInspircd(folder, ca.issue(["127.0.0.1"]), ca.certPath)],
];
/** The pace of the game that `npm start` runs. */
const PACE = { ROUNDS: "5", QUESTION_SECONDS: "20", REVEAL_SECONDS: "6", LOBBY_SECONDS: "60" };
const QUESTIONS = [1, 2, 3, 4, 5];
/** `IRC_GAMES` sets the number of games, to find out how many games a bridge can run at the same time. */
const CHANNELS = ["#games", "#two", "#three", "#four", "#five", "#six"].slice(
  0,
  Number(process.env["IRC_GAMES"] ?? 2),
);
/** Milliseconds after which a member answers a visible question. */
const THINK_MS = 1_000;
const GAMES_WITHIN_MS = 240_000;

type Stage = Awaited<ReturnType<typeof openStage>>;

/** A line of the bridge in a channel. */
interface TimedLine {
  readonly text: string;
  readonly atMs: number;
}

/** A channel with three members, who answer each question one second after they see how to answer. */
class Table {
  readonly lines: TimedLine[] = [];
  readonly #members: readonly IrcMember[];

  constructor(channel: string, members: readonly IrcMember[]) {
    this.#members = members;
    members[0]?.client.on("privmsg", ({ nick, target, message }) => {
      if (nick !== "games" || target !== channel) return;
      this.lines.push({ text: plainText(message), atMs: Date.now() });
      if (message.includes("answer with !1 to !4")) this.#answer((i) => `!${i + 1}`);
      if (message.includes("type a number")) this.#answer((i) => String(100 * (i + 1)));
    });
  }

  async start(): Promise<void> {
    const [host, ...guests] = this.#members as readonly [IrcMember, ...IrcMember[]];
    host.say("!play start");
    await host.sees("(answer with !1 or !2)");
    for (const guest of guests) guest.say("!1");
    await Promise.all(guests.map((guest) => guest.sees("You are in")));
    host.say("!2");
  }

  isOver = (): boolean => this.lines.some(({ text }) => text.includes("Final board"));

  #answer(answerOf: (index: number) => string): void {
    this.#members.forEach((member, i) => setTimeout(() => member.say(answerOf(i)), THINK_MS));
  }
}

/** An update that shows a question. */
interface Asked {
  readonly type: string;
  readonly channel: string;
  readonly message: {
    readonly kind: string;
    readonly text: string;
    readonly data: { endsAt: string; question: number };
  };
}

/** Polls the service, and returns all questions that the games have published. */
async function questionsOf({ service, workspace }: Stage): Promise<readonly Asked[]> {
  const events: Asked[] = [];
  for (let after = "", hasMore = true; hasMore;) {
    const { json } = await poll(service.url, workspace, after);
    const page = json as { events: Asked[]; next: string; hasMore: boolean };
    events.push(...page.events);
    after = `after=${page.next}`;
    hasMore = page.hasMore;
  }
  return events.filter(({ message }) => message?.kind === "question");
}

/** Returns the text of a question without Markdown. */
function wordsOf({ message }: Asked): string {
  const [, quoted = ""] = /^> (.*)$/m.exec(message.text) ?? [];
  return quoted.replaceAll("\\", "");
}

/** Returns whether a line contains a question: before its answer, or together with the answer. */
function names(line: string, question: Asked): boolean {
  return (
    line.startsWith(`Question ${question.message.data.question} of 5 · `) && line.includes(wordsOf(question))
  );
}

/** Returns the questions and the answers of a game in the order of their lines: "1 A asked", "1 B answered", … */
function orderOf(lines: readonly TimedLine[]): readonly string[] {
  return lines.flatMap(({ text }) => {
    const [, number, rest = ""] = /^Question (\d) of 5 · (.*)$/.exec(text) ?? [];
    return number === undefined ? [] : [`${number} ${/^\d+ seconds/.test(rest) ? "A asked" : "B answered"}`];
  });
}

/** Returns the seconds that were left for a question when the line that says how to answer appeared. */
function secondsLeft(question: Asked, lines: readonly TimedLine[]): string {
  const at = lines.findIndex(({ text }) => names(text, question) && text.includes("20 seconds"));
  const how = lines
    .slice(Math.max(0, at))
    .find(({ text }) => /answer with !1 to !4|type a number/.test(text));
  if (at === -1 || how === undefined) return "never";
  return ((Date.parse(question.message.data.endsAt) - how.atMs) / 1000).toFixed(1);
}

interface Played {
  readonly channel: string;
  readonly lines: readonly TimedLine[];
  readonly questions: readonly Asked[];
}

/**
 * Prints the seconds that were left for each question. If `IRC_REPORT` is the path of a file, also appends all lines of
 * the games to this file.
 */
function report(played: readonly Played[]): void {
  const rows = played.map(({ channel, lines, questions }) => {
    return `  ${channel.padEnd(8)}${questions.map((each) => secondsLeft(each, lines).padStart(6)).join("")}\n`;
  });
  process.stdout.write(
    `\nseconds left of 20 when the choices of questions 1 to 5 were visible:\n${rows.join("")}`,
  );
  const path = process.env["IRC_REPORT"];
  if (path === undefined) return;
  const all = played.flatMap(({ channel, lines }) => lines.map((line) => ({ channel, ...line })));
  const text = all.map(({ channel, atMs, text: line }) => `${atMs / 1000} ${channel} ${line}\n`);
  appendFileSync(path, `${rows.join("")}${text.join("")}`);
}

// time: ordering
test.each(SERVERS)(
  "on %s, with default settings, two concurrent games in two channels print each question, and none after its answer",
  async (_name, start) => {
    const server = await start();
    const channels = CHANNELS.map((name) => name.slice(1)).join(",");
    const stage = await openStage(server, folder, { IRC_CHANNELS: channels }, { printing: {}, pace: PACE });
    const members: IrcMember[] = [];
    try {
      const tables: Table[] = [];
      for (const [i, channel] of CHANNELS.entries()) {
        const nicks = ["Ann", "Bob", "Cid"].map((nick) => `${nick}${i}`);
        const joined = await Promise.all(nicks.map((nick) => joinIrc(server, nick, channel)));
        members.push(...joined);
        tables.push(new Table(channel, joined));
      }
      await Promise.all(tables.map((table) => table.start()));
      await until("all games are over", () => tables.every((table) => table.isOver()), GAMES_WITHIN_MS);

      const asked = await questionsOf(stage);
      const played = CHANNELS.map((channel, i) => ({
        channel,
        lines: tables[i]?.lines ?? [],
        questions: asked.filter((each) => each.channel === channel),
      }));
      report(played);
      for (const { lines, questions } of played) {
        expect(questions.map(({ message }) => message.data.question)).toEqual(QUESTIONS);
        // On a slow machine, a question may appear only in the line with its answer.
        for (const question of questions) expect(lines.some(({ text }) => names(text, question))).toBe(true);
        const order = orderOf(lines);
        expect(order).toEqual([...new Set(order)].toSorted());
      }
      expect(stage.bridge.logged("no connection to the IRC server: trying again")).toEqual([]);
    } finally {
      for (const member of members) member.leave();
      await stage.close();
    }
  },
);
