import { post } from "../harness/bridge";
import { askApi, dashboardUrlOf, signIn } from "../harness/dashboard";
import { mountFile, type MountedFile } from "../harness/mounted-file";
import { isWarning, outputOf } from "../harness/output";
import { startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const NEW = "the-new-token-of-the-edge";
const ANN = "token-of-ann-for-tests";
const POST_EVERY_MS = 20;

const service = sharedService();
let workspace: TestWorkspace;
let coreFile: MountedFile;
let edgeFile: MountedFile;
let cores: readonly TestProcess[];
let edge: TestProcess;

beforeAll(async () => {
  workspace = await service.workspaces.make();
});
beforeEach(async () => {
  coreFile = mountFile(tokens(TOKENS.edge), "core-tokens");
  edgeFile = mountFile(`${TOKENS.edge}\n`, "edge-token");
  const settings = { CORE_TOKENS: "", CORE_TOKENS_FILE: coreFile.path };
  const start = () => startCore(service.redis.url, settings);
  cores = await Promise.all([start(), start()]);
  edge = await startEdge(0, {
    CORE_ADDRESS: `ipv4:${cores.map(({ port }) => `127.0.0.1:${port}`).join()}`,
    CORE_TOKEN: "",
    CORE_TOKEN_FILE: edgeFile.path,
    DASHBOARD_LISTEN: "127.0.0.1:0",
  });
});
afterEach(async () => {
  await Promise.all([edge, ...cores].map((each) => each.stop()));
  for (const file of [coreFile, edgeFile]) file.remove();
});

/** Returns the text of core's file: one token for each of `edges`, and the tokens of the other roles. */
const tokens = (...edges: readonly string[]): string =>
  [...edges.map((token) => `edge=${token}`), `operator=${TOKENS.operator}`, `operator:ann=${ANN}`].join("\n");

const lines = (of: TestProcess, text: string) => of.log.filter(({ msg }) => String(msg).startsWith(text));
const logged = (of: TestProcess, text: string, count = 1) =>
  until(`${count} lines "${text}"`, () => lines(of, text).length >= count);
const coresRead = (count: number) =>
  Promise.all(cores.map((core) => logged(core, "tokens were read again", count)));

/** Posts events at a steady rate until `stop` is called, which returns the statuses of all answers. */
function startPosts() {
  const answers: Promise<number>[] = [];
  const timer = setInterval(() => {
    const event = { type: "message", channel: "c", user: { id: "u" }, text: `${answers.length}` };
    const answer = post(`http://127.0.0.1:${edge.port}`, workspace, event);
    answers.push(
      answer.then(
        ({ status }) => status,
        () => 0,
      ),
    );
  }, POST_EVERY_MS);
  return {
    /** Resolves when `count` further requests are answered. */
    async more(count: number): Promise<void> {
      const from = answers.length;
      await until(`${count} more requests`, () => answers.length >= from + count);
      await Promise.all(answers);
    },
    async stop(): Promise<readonly number[]> {
      clearInterval(timer);
      return [...new Set(await Promise.all(answers))];
    },
  };
}

test("an edge's token is replaced under traffic without a failed request, while core accepts both tokens", async () => {
  const posts = startPosts();
  await posts.more(20);
  coreFile.swap(tokens(TOKENS.edge, NEW));
  await coresRead(1);
  edgeFile.swap(NEW);
  await logged(edge, "core accepts the new token of CORE_TOKEN_FILE");
  await posts.more(20);
  coreFile.swap(tokens(NEW));
  await coresRead(2);
  await posts.more(300);
  expect(await posts.stop()).toEqual([202]);
  expect(edge.log.filter(isWarning)).toEqual([]);
  expect(outputOf(edge)).not.toContain(NEW);
});

test("no request fails if the edge has the new token before core, and core then loses the old one", async () => {
  const posts = startPosts();
  await posts.more(20);
  edgeFile.swap(NEW);
  await logged(edge, "core does not know the new token of CORE_TOKEN_FILE yet");
  await posts.more(50);
  coreFile.swap(tokens(NEW));
  await coresRead(1);
  await logged(edge, "core accepts the new token of CORE_TOKEN_FILE");
  await posts.more(300);
  expect(await posts.stop()).toEqual([202]);
});

test("no request fails if core loses the old token shortly before the edge has the new one", async () => {
  const posts = startPosts();
  await posts.more(20);
  coreFile.swap(tokens(NEW));
  await coresRead(1);
  edgeFile.swap(NEW);
  await logged(edge, "core accepts the new token of CORE_TOKEN_FILE");
  await posts.more(300);
  expect(await posts.stop()).toEqual([202]);
});

test("sessions of the dashboard survive a new token of the edge; the session of a removed operator ends", async () => {
  const url = dashboardUrlOf(edge);
  const [ann, operator] = await Promise.all([signIn(url, ANN), signIn(url)]);
  const ask = async (cookie: string) => (await askApi(url, "/workspaces", { cookie })).status;
  expect(await Promise.all([ask(ann), ask(operator)])).toEqual([200, 200]);
  edgeFile.swap(NEW);
  coreFile.swap(tokens(NEW).replace(`operator:ann=${ANN}`, ""));
  await coresRead(1);
  await until("the session of ann has ended", async () => (await ask(ann)) === 401);
  expect(await ask(operator)).toBe(200);
  expect((await askApi(url, "/session", { cookie: ann })).status).toBe(204);
});
