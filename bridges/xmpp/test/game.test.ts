import { testFolder } from "../../../test/harness/folder";
import { createTestCa } from "../../../test/harness/test-ca";
import { until } from "../../../test/harness/wait";
import { openStage, ROOM } from "./harness/xmpp-stage";
import { shownIn, type XmppMember } from "./harness/xmpp-member";
import { startEjabberd, startProsody } from "./harness/xmpp-server";

const folder = testFolder();
const ca = createTestCa();
afterAll(() => ca.close());

const SERVERS = [
  ["Prosody", () => startProsody(folder, ca)],
  ["ejabberd", () => startEjabberd(folder, ca)],
] as const;

/** Returns the texts of the bridge's messages in the room, after all corrections. */
const shown = ({ messages }: XmppMember): readonly string[] => shownIn(messages, ROOM, "games");

// time: ordering
test.each(SERVERS)(
  "on %s, three members play a whole game while the bridge is killed twice: each message is shown once, and each answer counts",
  async (_name, start) => {
    const stage = await openStage(await start(), folder);
    try {
      const [ann, bob, cid] = stage.members;
      ann.say("!play start");
      await ann.sees("(answer with !1 or !2)");
      bob.say("!1");
      cid.say("!1");
      await Promise.all([bob.sees("You are in", "chat"), cid.sees("You are in", "chat")]);
      expect(ann.messages.filter(({ body }) => body.includes("You are in"))).toEqual([]);

      ann.say("!2");
      await ann.sees("Question 1 of 2");
      await stage.bridge.stop("SIGKILL");
      // The room repeats these answers to the next run of the bridge.
      ann.say("!1");
      bob.say("!2");
      await Promise.all([ann.roundTrip(), bob.roundTrip()]);
      await stage.startBridge();
      cid.say("!3");
      await ann.sees("The answer: ");
      await Promise.all(stage.members.map((member) => member.sees("Locked in", "chat")));

      await ann.sees("type a number");
      await stage.killService();
      // The bridge retries this member's answer until the service is available again.
      ann.say("8000");
      await stage.startService();
      await ann.sees("Locked in", "chat");
      await stage.bridge.stop("SIGKILL");
      bob.say("100");
      cid.say("20000");
      await Promise.all([bob.roundTrip(), cid.roundTrip()]);
      await stage.startBridge();
      const hasBoard = (member: XmppMember) => shown(member).some((text) => text.includes("Final board"));
      await until("each member sees the final board", () => stage.members.every(hasBoard));

      const texts = shown(ann);
      expect(texts.map((text) => text.split("\n")[0])).toEqual([
        expect.stringMatching(/^\*?Trivia!\*? Ann opens a game/),
        "*Question 1 of 2* · Everyone has answered",
        "*Question 2 of 2* · Everyone has answered",
        expect.stringMatching(/^\*?Final board/),
      ]);
      // Members can no longer answer with the choices of a message that another message has replaced.
      expect(texts.filter((text) => text.includes("answer with"))).toEqual([]);
      expect(texts[3]?.split("\n").filter((line) => line.endsWith(" points"))).toHaveLength(3);
      for (const member of [bob, cid]) expect(shown(member)).toEqual(texts);
      expect(await stage.bridge.stop()).toBe(0);
    } finally {
      await stage.close();
    }
  },
);
