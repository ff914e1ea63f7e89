import { randomUUID } from "node:crypto";
import { status } from "@grpc/grpc-js";
import { WatchWorkspaceRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { bearer } from "../../runtime/core-channel";
import { startConsumer, type Consumer } from "../harness/consumer";
import { call, connectToCore, type CoreClients } from "../harness/core-clients";
import { mountFile, type MountedFile } from "../harness/mounted-file";
import { outputOf } from "../harness/output";
import { readMetrics, valueOf } from "../harness/metrics";
import { startCore, TOKENS, type TestProcess } from "../harness/processes";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";
import { expectRejected } from "../harness/workspace-api";

const { NOT_FOUND, PERMISSION_DENIED, UNAUTHENTICATED, UNAVAILABLE } = status;
const ANN = "token-of-ann-for-tests";
const BOB = "token-of-bob-for-tests";
const QUIZ = "token-of-quiz-for-tests";
const ROLES = Object.entries(TOKENS).map(([role, token]) => `${role}=${token}`);
const READ_AGAIN = /^tokens were read again/;
const KEPT = /previous content stays in use/;

const service = sharedService();
let file: MountedFile;
let core: TestProcess;
let clients: CoreClients;
const consumers: Consumer[] = [];

beforeEach(async () => {
  file = mountFile([...ROLES, `operator:ann=${ANN}`, `game:quiz=${QUIZ}`].join("\n"), "core-tokens");
  core = await startCore(service.redis.url, { CORE_TOKENS: "", CORE_TOKENS_FILE: file.path });
  clients = connectToCore(core.port);
});
afterEach(async () => {
  for (const consumer of consumers.splice(0)) consumer.cancel();
  clients.close();
  await core.stop();
  file.remove();
});

const lines = (form: RegExp) => core.log.filter(({ msg }) => form.test(String(msg)));
const logged = (form: RegExp, count = 1) =>
  until(`${count} lines ${String(form)}`, () => lines(form).length >= count && lines(form).at(-1));
const list = (token: string) => call(clients.workspaces, clients.workspaces.countWorkspaces, {}, token);
const withLines = (...more: readonly string[]): string => [...ROLES, ...more].join("\n");

function follow(group: string, token: string): Promise<Consumer> {
  const consumer = startConsumer(clients.games, { group, consumer: randomUUID() }, token);
  consumers.push(consumer);
  return consumer.opened();
}

/**
 * Watches a workspace. `end` and `ended` return the status with which the watch has ended; `ended` waits for the end.
 */
async function watch(workspaceId: string, token: string) {
  const stream = clients.workspaces.watchWorkspace(
    WatchWorkspaceRequest.create({ workspaceId }),
    bearer(token),
  );
  let end: status | undefined;
  stream.on("error", ({ code }: { code: status }) => (end = code));
  await new Promise((resolve) => stream.once("data", resolve));
  return { end: () => end, ended: () => until("the watch has ended", () => end) };
}

test("core reads tokens from a file with comments, beside those of CORE_TOKENS, and reads the file again when kubelet swaps it", async () => {
  await list(ANN);
  await expectRejected(list(BOB), UNAUTHENTICATED, /unknown/);
  file.swap(withLines("# people", `  operator:ann=${ANN}, operator:bob=${BOB}`, "", `game:quiz=${QUIZ}`));
  expect(await logged(READ_AGAIN)).toMatchObject({
    level: "info",
    msg: "tokens were read again: 6 tokens, 1 added, 0 removed",
    added: ["operator:bob"],
    removed: [],
  });
  // The old token and the new token are valid side by side.
  await Promise.all([list(ANN), list(BOB)]);
  expect(valueOf(await readMetrics(core), "chatbridge_core_tokens", 'role="operator"')).toBe(3);
  file.replace(withLines(`operator:bob=${BOB}`, `game:quiz=${QUIZ}`));
  expect(await logged(READ_AGAIN, 2)).toMatchObject({ added: [], removed: ["operator:ann"] });
  await list(BOB);
  await expectRejected(list(ANN), UNAUTHENTICATED, /unknown/);
});

test("a removed token's open streams end with UNAUTHENTICATED, and the streams of other tokens stay open", async () => {
  const { id } = await service.workspaces.make();
  const [removed, kept] = await Promise.all([follow("quiz", QUIZ), follow("all", TOKENS.game)]);
  const watches = await Promise.all([watch(id, ANN), watch(id, TOKENS.operator)]);
  file.swap(withLines());
  expect(await removed.ended()).toMatchObject({ code: UNAUTHENTICATED });
  expect(await watches[0].ended()).toBe(UNAUTHENTICATED);
  expect(kept.end).toBeUndefined();
  expect(watches[1].end()).toBeUndefined();
});

test("when the workspaces of a token change, its open streams end, and its next call can reach only the new workspaces", async () => {
  const { id } = await service.workspaces.make();
  const consumer = await follow("quiz", QUIZ);
  file.swap(withLines(`operator:ann@${randomUUID()}=${ANN}`, `game:quiz@${randomUUID()}=${QUIZ}`));
  expect(await consumer.ended()).toMatchObject({ code: UNAVAILABLE });
  await expectRejected(
    call(clients.workspaces, clients.workspaces.getWorkspace, { workspaceId: id }, ANN),
    NOT_FOUND,
    /may not see it/,
  );
});

test("when a new limited token reserves a group, the group's streams of other tokens end, and other tokens cannot follow the group", async () => {
  const consumer = await follow("chess", TOKENS.game);
  file.swap(withLines(`game:chess@${randomUUID()}=${QUIZ}`));
  expect(await consumer.ended()).toMatchObject({ code: PERMISSION_DENIED });
  const again = startConsumer(clients.games, { group: "chess" });
  consumers.push(again);
  expect(await again.ended()).toMatchObject({ code: PERMISSION_DENIED });
});

test("while the file is faulty, empty, missing or too large, the old tokens stay valid; core logs the reason, but never a token", async () => {
  const faulty = async (text: string, why: RegExp, count: number): Promise<void> => {
    file.swap(text);
    const { why: told, level } = (await logged(KEPT, count)) ?? {};
    expect(level).toBe("error");
    expect(told).toMatch(why);
    await list(ANN);
  };
  await faulty(withLines("# bob", `operator:bob${BOB}`), /^CORE_TOKENS_FILE has a pair .*\(line 5\)$/, 1);
  await faulty("# none\n", /without a token/, 2);
  await faulty(`operator:ann=${ANN}\n${"#".repeat(300_000)}`, /more than 262144 bytes/, 3);
  expect(valueOf(await readMetrics(core), "chatbridge_core_unreadable_files")).toBe(1);
  file.swap(withLines(`operator:bob=${BOB}`));
  await logged(/^the files are valid again/);
  await list(BOB);
  expect(valueOf(await readMetrics(core), "chatbridge_core_unreadable_files")).toBe(0);
  file.remove();
  expect(await logged(KEPT, 4)).toMatchObject({
    why: "CORE_TOKENS_FILE names a file that cannot be read (ENOENT)",
  });
  await list(BOB);
  for (const secret of [BOB, ANN, TOKENS.edge]) expect(outputOf(core)).not.toContain(secret);
});

test("SIGHUP makes core read the file immediately, and core warns of a file that every user can read", async () => {
  file.replace(withLines(`operator:bob=${BOB}`), 0o604);
  core.child.kill("SIGHUP");
  await logged(READ_AGAIN);
  expect(await logged(/every user of this machine/)).toMatchObject({
    setting: "CORE_TOKENS_FILE",
    mode: "604",
  });
  await list(BOB);
});

test("core does not start with a faulty file of tokens; its error names the faulty line", async () => {
  const faulty = mountFile("edge=short");
  const start = startCore(service.redis.url, { CORE_TOKENS: "", CORE_TOKENS_FILE: faulty.path });
  await expect(start).rejects.toThrow(/exited with 78[^]*CORE_TOKENS_FILE has a token of fewer.*\(line 1\)/);
  faulty.remove();
});
