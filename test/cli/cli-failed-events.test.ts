import { EXIT } from "../../cli/exit-code";
import { status } from "../harness/behaviours";
import { runCli } from "../harness/cli";
import { cardUpdate, eventIdOf, sharedPush } from "../harness/push";
import { until } from "../harness/wait";

const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";

const push = sharedPush();
const cli = (args: string) => runCli(args, { corePort: push.service.core.port });

/** Returns a bridge that has rejected `count` events, and the events' ids in the order of the failures. */
async function failedBridge(count: number) {
  const bridge = await push.bridge();
  bridge.behave(status(503));
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const [event] = await push.publish(cardUpdate(bridge.workspaceId, String(i)));
    ids.push(event?.eventId ?? "");
    await until("the event is kept", async () => {
      const kept = await push.workspaces.failedEvents(bridge.workspaceId);
      return kept.length === i + 1;
    });
  }
  bridge.behave(status(204));
  return { ...bridge, ids };
}

test("failed lists the kept events, and send-again --all sends them, oldest failure first", async () => {
  const bridge = await failedBridge(2);
  const { workspaceId: id, ids } = bridge;
  const table = await cli(`failed ${id}`);
  expect([table.code, table.stderr]).toEqual([EXIT.DONE, ""]);
  const [head, newest, oldest] = table.stdout.split("\n");
  expect(head).toMatch(/^EVENT +TYPE +FAILED +CAN BE SENT AGAIN UNTIL$/);
  expect(newest).toMatch(new RegExp(`^${ids[1]} +message.update +\\d{4}-.*Z +\\d{4}-.*Z$`));
  expect(oldest).toContain(ids[0]);
  const json = (await cli(`failed ${id} --json`)).json as { eventId: string }[];
  expect(json.map(({ eventId }) => eventId)).toEqual(ids.toReversed());

  const sent = await cli(`send-again ${id} --all --json`);
  expect([sent.code, sent.json]).toEqual([
    EXIT.DONE,
    { results: ids.map((eventId) => ({ eventId, result: "queued" })) },
  ]);
  const requests = await bridge.waitFor(4);
  expect(
    requests
      .slice(2)
      .map((request) => eventIdOf(request))
      .toSorted(),
  ).toEqual(ids.toSorted());
  expect((await cli(`failed ${id}`)).stdout).toBe("No failed events are kept.\n");
  expect(await cli(`send-again ${id} --all`)).toMatchObject({
    code: EXIT.DONE,
    stdout: "Nothing to send: no failed event is kept that can be sent again.\n",
  });
});

test("send-again has the exit code 1 if an event was not queued, and sends the others", async () => {
  const bridge = await failedBridge(1);
  const [id = ""] = bridge.ids;
  const run = await cli(`send-again ${bridge.workspaceId} ${EVENT_ID} ${id}`);
  expect(run.code).toBe(EXIT.NO);
  expect(run.stdout.split("\n")).toEqual([
    expect.stringMatching(/^EVENT +RESULT$/),
    `${EVENT_ID}  not-kept`,
    `${id}  queued`,
    "",
  ]);
  expect(eventIdOf(await bridge.nth(2))).toBe(id);
});

test("send-again needs either ids or --all, valid ids, and a workspace that pushes", async () => {
  const { workspaceId: id } = await push.bridge({ polls: true });
  for (const args of [`send-again ${id}`, `send-again ${id} ${EVENT_ID} --all`]) {
    const { code, stderr } = await cli(args);
    expect([code, stderr]).toEqual([
      EXIT.USAGE,
      expect.stringContaining("give either the ids of events or --all"),
    ]);
  }
  const invalid = await cli(`send-again ${id} nonsense`);
  expect([invalid.code, invalid.stderr]).toEqual([EXIT.DATA, expect.stringContaining("event_ids")]);
  const polls = await cli(`send-again ${id} ${EVENT_ID}`);
  expect([polls.code, polls.stderr]).toEqual([EXIT.NO, expect.stringContaining("has no target URL")]);
});
