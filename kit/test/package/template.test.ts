import { checkPoller } from "../../check/poll/check-poller";
import { checkBridge } from "../../check/push/check-bridge";
import { KILL_STEPS, killAt } from "../../../test/harness/kill-at";
import { freePort } from "../../../test/harness/processes";
import { startProgram } from "../../../test/harness/program";
import { create, WORKSPACE as SAMPLE_WORKSPACE } from "../../../test/harness/sample-events";
import { HANG_MS, until } from "../../../test/harness/wait";
import { packedKit } from "../harness/kit-package";
import { pushTo, SECRET as PUSH_SECRET } from "../harness/kit-receiver";
import { buildTemplate } from "../harness/template";

const SECRET = "test";
const WORKSPACE = "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f";

const kit = packedKit();
let folder: string;
beforeAll(() => {
  folder = buildTemplate(kit.folder);
});

/** Starts a copy of the template, whose shown messages are served at `observe`. */
async function startTemplate(environment: Record<string, string>) {
  const observePort = await freePort();
  const common = { WORKSPACE_ID: WORKSPACE, SIGNING_SECRET: SECRET, OBSERVE_PORT: String(observePort) };
  const command = [process.execPath, "dist/main.js"] as const;
  const program = startProgram(command, { cwd: folder, environment: { ...common, ...environment } });
  return { program, observe: new URL(`http://127.0.0.1:${observePort}/`) };
}

test("a copy of the template passes every rule for bridges that poll", async () => {
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  // The program starts first, so its first polls find no service.
  const { program, observe } = await startTemplate({ BASE_URL: baseUrl, STATE_FOLDER: "./polling" });
  void until("the bridge is connected", () => program.output().includes("connected")).then(() =>
    program.type("!start"),
  );
  const result = await checkPoller({
    listen: { host: "127.0.0.1", port },
    secrets: [SECRET],
    workspace: WORKSPACE,
    observe,
    withinMs: HANG_MS,
  });
  expect(result.rules.filter(({ verdict }) => verdict !== "passed")).toEqual([]);
  expect(await program.stop()).toBe(0);
});

test("a copy of the template passes every rule for bridges that receive pushes", async () => {
  const port = String(await freePort());
  const push = { MODE: "push", LISTEN_PORT: port, STATE_FOLDER: "./pushed", BASE_URL: "http://127.0.0.1:9" };
  const { program, observe } = await startTemplate(push);
  await until("the bridge listens", () => program.output().includes("connected"));
  const result = await checkBridge({
    url: new URL(`http://127.0.0.1:${port}/events`),
    secrets: [SECRET],
    workspace: WORKSPACE,
    observe,
    answerWithinMs: HANG_MS,
    withinMs: HANG_MS,
  });
  expect(result.rules.filter(({ verdict }) => verdict !== "passed")).toEqual([]);
  expect(await program.stop()).toBe(0);
});

test("a copy of the template says which setting is missing", async () => {
  const { program } = await startTemplate({ STATE_FOLDER: "./none" });
  await until("the program has printed an error", () => program.output().includes("baseUrl is missing"));
});

test.each(Object.entries(KILL_STEPS))(
  "a copy of the template that is killed %s loses no accepted push",
  async (_when, step) => {
    const port = String(await freePort());
    const settings = {
      MODE: "push",
      LISTEN_PORT: port,
      STATE_FOLDER: `./killed-${step.replaceAll(" ", "-")}`,
      BASE_URL: "http://127.0.0.1:9",
      WORKSPACE_ID: SAMPLE_WORKSPACE,
      SIGNING_SECRET: PUSH_SECRET,
    };
    const start = async (more: Record<string, string> = {}) => {
      const { program } = await startTemplate({ ...settings, ...more });
      await until("the bridge listens", () => program.output().includes("connected"));
      return program;
    };
    const push = () =>
      pushTo(`http://127.0.0.1:${port}`, create(1)).then(
        ({ status }) => status === 204,
        () => false,
      );
    const killed = await start(killAt(step));
    const isAccepted = await push();
    expect(await killed.exited).toBeNull();
    const next = await start();
    // The service retries a push without an answer.
    if (!isAccepted) expect(await push()).toBe(true);
    await until("the message is shown", () => (killed.output() + next.output()).includes("[c1] text 1"));
    expect(await next.stop()).toBe(0);
  },
);
