import { randomUUID } from "node:crypto";
import { EXIT } from "../../cli/exit-code";
import { startConsumer } from "../harness/consumer";
import { runCli } from "../harness/cli";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const service = sharedService();
const groups = (args: string, stdin = "") =>
  runCli(`groups ${args}`, { corePort: service.core.port, stdin, isTTY: stdin !== "" });

/** Opens a group that has one stream. `leave` closes the stream, and waits until the group has no stream. */
async function openGroup() {
  const name = `cli-${randomUUID()}`;
  const consumer = await startConsumer(service.clients.games, { group: name }).opened();
  const leave = async () => {
    consumer.cancel();
    await until("the group has no stream", async () => (await listed(name))?.["streams"] === 0);
  };
  return { name, leave };
}

async function listed(name: string): Promise<Record<string, unknown> | undefined> {
  const run = await groups("list --json");
  expect([run.code, run.stderr]).toEqual([EXIT.DONE, ""]);
  return (run.json as Record<string, unknown>[]).find((each) => each["name"] === name);
}

test("the `groups list` command prints the groups as a table or JSON", async () => {
  const { name, leave } = await openGroup();
  const { code, stdout, stderr } = await groups("list");
  expect([code, stderr]).toEqual([EXIT.DONE, ""]);
  const [head, ...rows] = stdout.split("\n");
  expect(head).toMatch(/^GROUP +TOKEN +STREAMS +UNREAD +UNACKED +OLDEST EVENT +LAST STREAM$/);
  const row = rows.find((each) => each.startsWith(name));
  expect(row).toMatch(/^\S+ +game +1 +0 +0 +- +\d{4}-\S+Z$/);
  expect(await listed(name)).toEqual({
    name,
    tokenName: "game",
    streams: 1,
    unread: 0,
    unacked: 0,
    oldestAt: null,
    lastStreamAt: expect.stringMatching(/Z$/) as string,
  });
  await leave();
});

test("the `groups delete` command asks for confirmation, and does not delete a group that still has a stream", async () => {
  const { name, leave } = await openGroup();
  const held = await groups(`delete ${name} --yes`);
  expect([held.code, held.stderr]).toEqual([
    EXIT.NO,
    expect.stringContaining("a stream follows the group: stop the game or tail"),
  ]);
  await leave();
  const declined = await groups(`delete ${name}`, "no\n");
  expect([declined.code, declined.stderr]).toEqual([EXIT.NO, expect.stringContaining("nothing was deleted")]);
  expect(declined.stderr).toContain(`Delete the group ${name}, with 0 events`);
  expect(await listed(name)).toBeDefined();
  expect(await groups(`delete ${name} --yes --json`)).toMatchObject({
    code: EXIT.DONE,
    json: { deleted: name },
  });
  expect(await listed(name)).toBeUndefined();
  const missing = await groups(`delete ${name} --yes`);
  expect([missing.code, missing.stderr]).toEqual([
    EXIT.NOT_FOUND,
    expect.stringContaining("run chat-bridge groups list"),
  ]);
});
