import { testFolder } from "../../../test/harness/folder";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import type { IrcMember } from "./harness/irc-member";
import { startInspircd, startNgircd, type IrcServer } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();
const ca = createTestCa();
afterAll(() => ca.close());

const SERVERS: readonly (readonly [string, () => Promise<IrcServer>])[] = [
  ["ngIRCd", () => startNgircd(folder)],
  ["InspIRCd, with TLS and echoes", () => startInspircd(folder, ca.issue(["127.0.0.1"]), ca.certPath)],
];

/** The final board. Players without points have no medal. */
const BOARD = /^Final board(?: \| (?:🥇|🥈|🥉|–) [^|]* points){3}$/u;

/** Returns the lines that the bridge printed in the channel. */
function printed({ lines }: IrcMember): readonly string[] {
  return lines.filter(({ from, target }) => from === "games" && target === "#games").map(({ text }) => text);
}

const QUESTION = [/^Question 1 of 2 · 60 seconds > ./, /^1 A · .* 4 D · .*\(answer with !1 to !4\)$/];
const reveal = (number: number): RegExp => {
  const points = String.raw`(?:.*\+\d.* [|—]|Nobody.*\.)`;
  return new RegExp(
    `^Question ${number} of 2 · Everyone has answered [|—] The answer: .* [|—] ${points} Read more: https:[^ ]*$`,
  );
};

// time: ordering
test.each(SERVERS)(
  "on %s, three members play a whole game although the bridge, the service and the server are killed: each line is printed once, and each answer counts",
  async (_name, start) => {
    const server = await start();
    const stage = await openStage(server, folder);
    try {
      const members = await stage.join("Ann", "Bob", "Cid");
      const [ann, bob, cid] = members as readonly [IrcMember, IrcMember, IrcMember];
      ann.say("!play start");
      await ann.sees("(answer with !1 or !2)");
      bob.say("!1");
      cid.say("!1");
      await Promise.all([bob.sees("You are in"), cid.sees("You are in")]);

      ann.say("!2");
      await ann.sees("Question 1 of 2");
      // The bridge has sent only some lines of the question.
      await stage.bridge.stop("SIGKILL");
      await stage.startBridge();
      await ann.sees("(answer with !1 to !4)");
      ann.say("!1");
      await ann.sees("Locked in");
      // If the answer to the question arrives first, the notices to these members are not printed.
      bob.say("!2");
      cid.say("!3");
      await ann.sees("Read more");

      // On a server without echoes, the bridge would resend lines that are still unconfirmed when the server is killed.
      await until("the server has confirmed the answer", () => stage.hasConfirmed());
      await server.stop("SIGKILL");
      await server.start();
      await Promise.all(members.map((member) => member.inChannel()));
      await ann.sees("type a number");
      await stage.killService();
      // The bridge retries this member's answer until the service is available again.
      ann.say("8000");
      await stage.startService();
      await ann.sees("Locked in");
      bob.say("100");
      cid.say("20000");
      const hasBoard = (member: IrcMember) => printed(member).some((line) => BOARD.test(line));
      await until("each member sees the final board", () => members.every(hasBoard));

      const lines = printed(ann).filter((line) => !line.startsWith("http"));
      const expected = [
        /^Trivia! Ann opens a game\. 2 questions, 60 seconds each · Players: Ann$/,
        /^1 Join {2}2 Start {2}\(answer with !1 or !2\)$/,
        ...QUESTION,
        reveal(1),
        /^Question 2 of 2 · 60 seconds > .* [|—] The closest wins: type a number/,
        reveal(2),
        BOARD,
      ];
      expect(lines.map((line, i) => [line, expected[i]?.test(line)])).toEqual(
        expected.map((_, i) => [lines[i], true]),
      );
      expect(printed(bob)).toEqual(printed(ann));
      expect(printed(cid)).toEqual(printed(ann));
      expect(await stage.bridge.stop()).toBe(0);
    } finally {
      await stage.close();
    }
  },
);
