import { startCli } from "../harness/cli";
import { until } from "../harness/wait";
import { expectedVerdicts, judge, type Running } from "./judge";
import { endOf, startOddService, type OddService, type OddWorkspace } from "./odd-service";
import { ODD_ANSWERS } from "./rows";

let service: OddService;
beforeAll(async () => {
  service = await startOddService();
});
afterAll(() => service.close());

/** Starts `listen`, which forwards the events of a workspace to the target URL of the same workspace. */
function startListen(baseUrl: string, { id, secret, targetUrl }: OddWorkspace) {
  const words = ["listen", "--replay", "--json", "--workspace", id, "--base-url", baseUrl];
  return startCli([...words, "--forward-to", targetUrl], {
    role: "nobody",
    environment: { SIGNING_SECRET: secret },
  });
}

/**
 * Waits until every event is forwarded or dropped. Returns the number of attempts for each event, by the event's text.
 */
async function attemptsOf(workspace: OddWorkspace, lines: () => readonly string[], names: readonly string[]) {
  const settled = () =>
    lines()
      .map((line) => JSON.parse(line) as { eventId: string; result: string })
      .filter(({ result }) => result !== "failed");
  await until("every event is forwarded or dropped", () => settled().length > names.length);
  const times = (name: string) => workspace.pushes.filter(({ what }) => what === endOf(name)).length;
  return Object.fromEntries(names.map((name) => [name, times(name)]));
}

test("listen repeats a push after every odd answer except a 2xx, and forwards all later events", async () => {
  const rows = ODD_ANSWERS.filter(({ push }) => push !== undefined);
  const names = rows.map(({ name }) => name);
  // The pages are regular, but the target URL gives odd answers when `listen` pushes their events.
  const workspace = service.add({
    events: names,
    byText: new Map(rows.map((row) => [endOf(row.name), row])),
  });
  const listen = startListen(service.baseUrl, workspace);
  const attempts = await attemptsOf(workspace, listen.lines, names);
  const results = listen.lines().map((line) => (JSON.parse(line) as { result: string }).result);
  listen.interrupt();
  expect((await listen.ended).code).toBe(0);
  expect(attempts).toEqual(Object.fromEntries(rows.map(({ name, push }) => [name, push === "ok" ? 1 : 2])));
  expect(results).not.toContain("dropped");
  expect(workspace.faults).toEqual([]);
});

// time: ordering
test("listen continues to poll after every odd answer to a poll", async () => {
  const rows = ODD_ANSWERS.filter(({ poll }) => poll === "retry" || poll === "ok").map(
    ({ send: _send, ...row }) => row,
  );
  const start = (baseUrl: string, workspace: OddWorkspace): Running => {
    const listen = startListen(baseUrl, workspace);
    return {
      output: () => workspace.pushes.map(({ what }) => what).join("\n"),
      send: () => undefined,
      exited: listen.ended.then(({ code }) => code),
      stop() {
        listen.interrupt();
        return listen.ended;
      },
    };
  };
  const seen = await judge(service, rows, { start, lanes: 15 });
  expect(seen).toEqual(expectedVerdicts(rows));
});

test.each(ODD_ANSWERS.filter(({ poll }) => poll === "stop"))(
  "listen exits when a later poll is refused: $name",
  async (row) => {
    const workspace = service.add({ toPolls: [row] });
    const { code, stderr } = await startListen(service.baseUrl, workspace).ended;
    expect(code).toBeGreaterThan(0);
    expect(stderr).toMatch(/40[0-9]|30[27]|rejects the signature|target URL|no connected workspace/);
    expect(workspace.faults).toEqual([]);
  },
);
