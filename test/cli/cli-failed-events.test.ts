import { EXIT } from "../../cli/exit-code";
import { coloured } from "../../kit/terminal-colour";
import { status } from "../harness/behaviours";
import { runCli } from "../harness/cli";
import { cardUpdate, eventIdOf, sharedPush } from "../harness/push";
import { until } from "../harness/wait";

const EVENT_ID = "evt_01J0ABCDEFGHJKMNPQRSTVWXYZ";

const push = sharedPush();
const cli = (args: string) => runCli(args, { corePort: push.service.core.port });

/** Returns a bridge that has rejected `count` events, and the ids of these events in the order in which they failed. */
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

test("the `failed` command lists the kept events, and `send-again --all` sends them, oldest failure first", async () => {
  const bridge = await failedBridge(2);
  const { workspaceId: id, ids } = bridge;
  const table = await cli(`failed ${id}`);
  expect([table.code, table.stderr]).toEqual([EXIT.DONE, ""]);
  const [head, newest, oldest] = table.stdout.split("\n");
  expect(head).toMatch(/^EVENT +TYPE +MESSAGE +WHY +FAILED +CAN BE SENT AGAIN UNTIL$/);
  expect(newest).toMatch(
    new RegExp(`^${ids[1]} +message.update +#c1 · 1 +Rejected by bridge 503 +\\d{4}-.*Z +\\d{4}-.*Z$`),
  );
  expect(oldest).toContain(ids[0]);
  const json = (await cli(`failed ${id} --json`)).json as { eventId: string }[];
  expect(json.map(({ eventId }) => eventId)).toEqual(ids.toReversed());

  const sent = await cli(`send-again ${id} --all --yes --json`);
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

test("`send-again` asks for confirmation before it sends several events, but not for one event or with --yes", async () => {
  const bridge = await failedBridge(2);
  const { workspaceId: id, ids } = bridge;
  const answered = (stdin: string, args = "--all") =>
    runCli(`send-again ${id} ${args}`, { corePort: push.service.core.port, stdin, isTTY: true });
  for (const args of ["--all", ids.join(" ")]) {
    const declined = await answered("n\n", args);
    expect(declined).toMatchObject({ code: EXIT.NO, stdout: "" });
    expect(declined.stderr).toMatch(
      /^Send 2 events again\? The bridge posts .+ \[y\/N\] .*nothing was sent\n$/,
    );
  }
  const script = await cli(`send-again ${id} --all`);
  expect([script.code, script.stderr]).toEqual([EXIT.USAGE, expect.stringContaining("confirm with --yes")]);
  expect(await push.workspaces.failedEvents(id)).toHaveLength(2);
  expect((await cli(`send-again ${id} ${ids[0]}`)).code).toBe(EXIT.DONE);
  await bridge.waitFor(3);
  bridge.behave(status(503));
  expect((await answered("", ids[1])).code).toBe(EXIT.DONE);
});

/** Lifetime of an event: long enough that core pushes the event before it expires, even on a slow machine. */
const LIFETIME_SECONDS = 15;

// time: smoke
test("`send-again --all` skips test events and expired events, and says how many; for an event that cannot be sent again, the `failed` command says why", async () => {
  const bridge = await failedBridge(1);
  const { workspaceId: id, ids } = bridge;
  bridge.behave(status(503));
  const [brief] = await push.publish({ ...cardUpdate(id, "brief"), lifetime: { seconds: LIFETIME_SECONDS } });
  await push.ping(id);
  await until("all failures are kept", async () => (await push.workspaces.failedEvents(id)).length === 3);
  const expiry = brief?.expiresAt?.getTime() ?? Infinity;
  await until("the event has expired", () => Date.now() > expiry);
  const { stdout } = await cli(`failed ${id}`);
  expect(stdout).toMatch(new RegExp(`^${brief?.eventId} .*Z +expired$`, "m"));
  const sent = await cli(`send-again ${id} --all --json`);
  expect(sent.json).toEqual({ results: [{ eventId: ids[0], result: "queued" }] });
  expect(sent.stderr.split("\n")).toEqual([
    "left out: 1 of 3 events: expired",
    "left out: 1 of 3 events: test events",
    "",
  ]);
  await push.workspaces.setTargetUrl(id, "");
  expect((await cli(`failed ${id}`)).stdout).toContain("Z  the bridge polls\n");
  await push.workspaces.disconnect(id);
  expect((await cli(`failed ${id}`)).stdout).toContain("Z  the workspace is disconnected\n");
});

test("if `send-again` cannot queue one of several events, it exits with 1, but still sends the other events", async () => {
  const bridge = await failedBridge(1);
  const [id = ""] = bridge.ids;
  const run = await cli(`send-again ${bridge.workspaceId} ${EVENT_ID} ${id} --yes`);
  expect(run.code).toBe(EXIT.NO);
  expect(run.stdout.split("\n")).toEqual([
    expect.stringMatching(/^EVENT +RESULT$/),
    `${EVENT_ID}  not-kept`,
    `${id}  queued`,
    "",
  ]);
  expect(eventIdOf(await bridge.nth(2))).toBe(id);
});

test("`send-again` requires valid ids or --all, and a workspace that pushes events", async () => {
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

test("results and health are in colour if FORCE_COLOR is set", async () => {
  const bridge = await failedBridge(1);
  const run = (args: string) =>
    runCli(args, { corePort: push.service.core.port, environment: { FORCE_COLOR: "1" } });
  const shown = (await run(`workspace show ${bridge.workspaceId}`)).stdout;
  const line = (name: string) => shown.split("\n").find((each) => each.startsWith(name));
  expect([coloured("bad", "Failing"), coloured("warning", "Degraded")]).toContain(
    line("health")?.split(/ {2,}/)[1],
  );
  expect(line("last failure")).toContain(coloured("bad", " ").split(" ")[0]);
  const sent = await run(`send-again ${bridge.workspaceId} --all`);
  expect(sent.stdout).toContain(`${bridge.ids[0]}  ${coloured("good", "queued")}\n`);
});
