import { testFolder } from "../../../test/harness/folder";
import { until } from "../../../test/harness/wait";
import type { IrcMember } from "./harness/irc-member";
import { startNgircd } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();

test("!play status shows a member the state of the bridge, even while the service is down; the log says when the service is back", async () => {
  const stage = await openStage(await startNgircd(folder), folder);
  try {
    const [ann, bob] = (await stage.join("Ann", "Bob")) as [IrcMember, IrcMember];
    ann.say("!play status");
    const seen = await ann.sees(/^\[#games\] chat-bridge-irc \d/);
    expect(seen).toMatchObject({ target: "Ann", isNotice: true });
    expect(seen.text).toContain("The game service is connected.");
    expect((await stage.bridge.health()).body).toMatchObject({ connections: { service: { waiting: [] } } });
    await stage.killService();
    await until("the bridge is not connected", async () => (await stage.bridge.health()).status === 503);
    bob.say("!play Status");
    expect((await bob.sees(/^\[#games\] chat-bridge-irc \d/)).text).toMatch(
      /The bridge can write here, but the game service has not answered since \d\d:\d\d UTC\./,
    );
    await stage.startService();
    await stage.bridge.logs("connected to the service again");
    expect(ann.lines.filter(({ text }) => text.includes("chat-bridge-irc"))).toHaveLength(1);
  } finally {
    await stage.close();
  }
});
