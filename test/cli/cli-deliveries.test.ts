import { MessageKind } from "../../proto/gen/chatbridge/v1/event";
import { matcherOf } from "../../cli/deliveries";
import { summaryText } from "../../cli/delivery-text";
import { EXIT } from "../../cli/exit-code";
import { status } from "../harness/behaviours";
import { poll } from "../harness/bridge";
import { runCli } from "../harness/cli";
import { create, dm, type MessageInit } from "../harness/contents";
import { cardUpdate, sharedPush } from "../harness/push";
import { until } from "../harness/wait";
import { ago, delivery, NOW } from "../unit/dashboard-delivery";

const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";
const CARD: MessageInit = {
  kind: MessageKind.CARD,
  text: "Who is\u001b in?",
  rows: [{ buttons: [{ label: "Join", press: { $case: "action", value: "join" } }] }],
};

const push = sharedPush();
const cli = (args: string | readonly string[]) => runCli(args, { corePort: push.service.core.port });

/** Returns a bridge that has rejected an update, accepted it when it was sent again, and accepted two messages. */
async function pushedBridge() {
  const bridge = await push.bridge();
  const { workspaceId } = bridge;
  bridge.behave(status(503, { body: "restarting\n" }));
  const [failed] = await push.publish(cardUpdate(workspaceId, "round 2"));
  const eventId = failed?.eventId ?? "";
  await until("the event is kept", async () => (await push.workspaces.failedEvents(workspaceId)).length > 0);
  bridge.behave(status(204));
  await push.workspaces.sendAgain(workspaceId, eventId);
  await push.logged(workspaceId, 2);
  await push.publish({ workspaceId, content: create("general", CARD) });
  await push.logged(workspaceId, 3);
  await push.publish({ workspaceId, content: dm("ada", CARD) });
  await push.logged(workspaceId, 4);
  return { workspaceId, eventId };
}

test("`event` shows the timeline of an event: who published it, its attempts, the bridge's answers, and who sent it again", async () => {
  const { workspaceId: id, eventId } = await pushedBridge();
  const { code, stderr, stdout } = await cli(`event ${id} ${eventId}`);
  expect([code, stderr]).toEqual([EXIT.DONE, ""]);
  const [facts = "", timeline = ""] = stdout.split("\n\n");
  expect(facts.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["event", eventId],
    ["type", "message.update"],
    ["message", "#c1 · round 2"],
    ["message id", expect.stringMatching(/^msg_/) as string],
    ["place", "delivered"],
    ["published by", "game"],
    ["expires", expect.stringMatching(/Z$/) as string],
  ]);
  const rows = timeline.trimEnd().split("\n");
  expect(rows.map((row) => row.split(/ {2,}/).slice(1))).toEqual([
    ["WHAT", "RESULT", "DETAIL"],
    ["published", "by game"],
    [
      "attempt 1",
      "Rejected by bridge 503",
      expect.stringMatching(/^\d+ ms$/) as string,
      "127.0.0.1",
      "restarting\\n",
    ],
    ["sent again", "by operator"],
    ["attempt 1", "Accepted 204", expect.stringMatching(/^\d+ ms$/) as string, "127.0.0.1"],
  ]);
  const json = (await cli(`event ${id} ${eventId} --json`)).json;
  expect(json).toMatchObject({
    eventId,
    place: "delivered",
    publisher: "game",
    sentAgain: [{ by: "operator" }],
  });
  const missing = await cli(`event ${id} ${EVENT_ID}`);
  expect([missing.code, missing.stderr]).toEqual([
    EXIT.NOT_FOUND,
    expect.stringContaining("core stores nothing about this event"),
  ]);
});

test("`event` lists the polls that returned an event", async () => {
  const { workspaceId: id, secret } = await push.bridge({ polls: true });
  const [event] = await push.publish({ workspaceId: id, content: create("general", CARD) });
  const held = await cli(`event ${id} ${event?.eventId}`);
  expect(held.stdout).toMatch(/^place +held, waits for a poll$/m);
  await poll(push.service.url, { id, secret });
  const fetched = await cli(`event ${id} ${event?.eventId}`);
  expect(fetched.stdout).toMatch(/^place +fetched by a poll$/m);
  expect(fetched.stdout).toMatch(/Z +poll +Fetched$/m);
});

test("`deliveries` prints the log, oldest first, with messages and results in words; options select entries", async () => {
  const { workspaceId: id, eventId } = await pushedBridge();
  const all = await cli(`deliveries ${id}`);
  expect([all.code, all.stderr]).toEqual([EXIT.DONE, ""]);
  expect(
    all.stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split("  ").slice(1, 6)),
  ).toEqual([
    ["message.update", eventId, "#c1 · round 2", "attempt 1", "Rejected by bridge 503"],
    ["message.update", eventId, "#c1 · round 2", "attempt 1", "Accepted 204"],
    ["message.create", expect.any(String), "#general · Who is in? [Join]", "attempt 1", "Accepted 204"],
    ["dm.create", expect.any(String), "@ada · Who is in? [Join]", "attempt 1", "Accepted 204"],
  ]);
  const lines = (await cli(`deliveries ${id} --json --since 1h`)).stdout.trimEnd().split("\n");
  const found = lines.map((line) => JSON.parse(line) as { id: string; summary: { channel: string } });
  expect(found.map(({ summary }) => summary.channel)).toEqual(["c1", "c1", "general", ""]);

  const count = async (...args: string[]) =>
    (await cli(["deliveries", id, "--json", ...args])).stdout.split("\n").length - 1;
  expect(await count("--outcome", "failed")).toBe(1);
  expect(await count("--channel", "c1", "--outcome", "success")).toBe(1);
  expect(await count("--text", "WHO IS IN")).toBe(2);
  expect(await count("--type", "dm.create")).toBe(1);
  const none = await cli(`deliveries ${id} --channel other`);
  expect([none.code, none.stdout, none.stderr]).toEqual([EXIT.DONE, "", "The log has no such entry.\n"]);
  for (const args of ["--since 1", "--since x", "--outcome lost", "--type nothing"]) {
    expect((await cli(`deliveries ${id} ${args}`)).code).toBe(EXIT.USAGE);
  }
});

test("each option of `deliveries` selects entries by one property", () => {
  const summary = { channel: "general", userId: "", messageId: "msg_1", text: "Who is in? [Join]" };
  const message = delivery({ at: ago(60_000), summary });
  const polls = delivery({ eventType: "poll", at: ago(7_200_000), lastAt: ago(1_000), polls: 9 });
  const matches = (filter: Parameters<typeof matcherOf>[0]) => [message, polls].map(matcherOf(filter, NOW));
  expect(matches({})).toEqual([true, true]);
  expect(matches({ since: 60_000 })).toEqual([true, true]);
  expect(matches({ since: 59_999 })).toEqual([false, true]);
  expect(matches({ channel: "general" })).toEqual([true, false]);
  expect(matches({ message: "msg_2" })).toEqual([false, false]);
  expect(matches({ message: "msg_1", text: "join" })).toEqual([true, false]);
  expect(matches({ type: "poll" })).toEqual([false, true]);
  expect(matches({ outcome: "dropped" })).toEqual([false, false]);
  expect(summaryText({ ...summary, userId: "ada" })).toBe("#general @ada · Who is in? [Join]");
  expect(summaryText({ channel: "", userId: "", messageId: "", text: "" })).toBe("");
});
