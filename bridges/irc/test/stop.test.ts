import { MessageKind } from "../../../proto/gen/chatbridge/v1/event";
import { startConsumer } from "../../../test/harness/consumer";
import { create } from "../../../test/harness/contents";
import { testFolder } from "../../../test/harness/folder";
import { publish } from "../../../test/harness/service";
import { until } from "../../../test/harness/wait";
import type { IrcMember } from "./harness/irc-member";
import { startNgircd } from "./harness/irc-server";
import { openStage } from "./harness/irc-stage";

const folder = testFolder();

// The message takes longer to print than a stopping bridge waits. `ready` of the second run waits until the bridge is
// connected again.
test("a bridge that is stopped in the middle of a long message sends QUIT, and the next run continues at the next line", async () => {
  const stage = await openStage(await startNgircd(folder), folder, { IRC_LINE_MS: "1500" });
  try {
    const [ann] = (await stage.join("Ann")) as [IrcMember];
    const quits: string[] = [];
    ann.client.on("quit", ({ nick }) => quits.push(nick));
    const expected = Array.from({ length: 10 }, (_, i) => `line ${i}`);
    const message = { kind: MessageKind.TEXT, text: `\`\`\`\n${expected.join("\n")}\n\`\`\`` };
    await publish(stage.service.clients, {
      workspaceId: stage.workspace.id,
      content: create("#games", message),
    });
    await ann.sees("line 1");
    expect(await stage.bridge.stop()).toBe(0);
    expect(quits).toEqual(["games"]);
    expect(ann.lines.length).toBeLessThan(expected.length);
    await stage.startBridge();
    await ann.sees("line 9");
    expect(ann.lines.map(({ text }) => text)).toEqual(expected);
  } finally {
    await stage.close();
  }
});

// time: ordering
test("a bridge that is stopped still reports the text that a member typed just before the stop", async () => {
  const stage = await openStage(await startNgircd(folder), folder, { IRC_LINE_MS: "50" });
  const consumer = await startConsumer(stage.service.clients.games, { group: "irc-stop" }).opened();
  try {
    consumer.ackAll();
    const [ann] = (await stage.join("Ann")) as [IrcMember];
    for (let round = 0; round < 5; round++) {
      const rows = [
        { buttons: [{ label: "Join", press: { $case: "action" as const, value: `join-${round}` } }] },
      ];
      const message = { kind: MessageKind.CARD, text: `round ${round}`, rows };
      await publish(stage.service.clients, {
        workspaceId: stage.workspace.id,
        content: create("#games", message),
      });
      await ann.sees(`round ${round}`);
      await ann.sees("answer with");
      ann.say("!1");
      // The server answers this PING after it has passed on the line above.
      await ann.roundTrip();
      expect(await stage.bridge.stop()).toBe(0);
      await until("the press arrives", () =>
        consumer.seen.some(({ received: { event } }) => {
          return event?.kind?.$case === "action" && event.kind.value.action === `join-${round}`;
        }),
      );
      await stage.startBridge();
    }
  } finally {
    consumer.cancel();
    await stage.close();
  }
});
