import { testFolder } from "../../../test/harness/folder";
import type { IrcMember } from "./harness/irc-member";
import { startNgircd } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

// Each answer is shown for longer than two polls take, so that a poll fetches the answer before the next question.
const PACE = { QUESTION_SECONDS: "25", REVEAL_SECONDS: "6", LOBBY_SECONDS: "120", ROUNDS: "3" };
const CHOICES = "(answer with !1 to !4)";
const folder = testFolder();

// time: ordering
test("after a member has quit, a question closes early once all active members have answered", async () => {
  const printing = { IRC_BURST_LINES: "10" };
  const stage = await openStage(await startNgircd(folder), folder, {}, { printing, pace: PACE });
  try {
    const [ann, bob] = (await stage.join("Ann", "Bob")) as [IrcMember, IrcMember];
    ann.say("!play start");
    await ann.sees("Players: Ann");
    bob.say("!1");
    await bob.sees("You are in");
    ann.say("!2");
    await Promise.all([ann.sees(CHOICES), bob.sees(CHOICES)]);
    ann.say("!1");
    bob.say("!2");
    await ann.sees("Question 1 of 3 · Everyone has answered");

    bob.leave();
    await ann.sees(CHOICES);
    ann.say("!1");
    // Bob was active a moment ago, so this question waits for him.
    await ann.sees("Question 2 of 3 · Time is up");
    await ann.sees("Question 3 of 3");
    ann.say("7");
    await ann.sees("Question 3 of 3 · All active players have answered");
    await ann.sees("Final board");
  } finally {
    await stage.close();
  }
});
