import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkBridge } from "chat-bridge-kit/check-bridge";
import { checkPoller } from "chat-bridge-kit/check-poller";
import { testFolder } from "../../../../test/harness/folder";
import { freePort } from "../../../../test/harness/processes";
import { sharedService } from "../../../../test/harness/shared-service";
import { HANG_MS, until } from "../../../../test/harness/wait";
import { startRig, type MatrixRig } from "../harness/matrix-rig";
import { startObserver } from "../harness/observer";
import { startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const service = sharedService();
const folder = testFolder();
let synapse: TestSynapse;

/**
 * Returns the state folder of a bridge that has already reported the checker's member. Only reported members get direct
 * messages.
 */
function stateWith(user: string): string {
  const state = mkdtempSync(join(folder, "state-"));
  writeFileSync(join(state, "reported.jsonl"), JSON.stringify({ user }));
  return state;
}

beforeAll(async () => {
  synapse = await startSynapse();
}, SYNAPSE_WITHIN_MS);
afterAll(() => synapse?.close());

test("a bridge that receives pushes passes every rule of the checker", async () => {
  const port = await freePort();
  const ann = await synapse.member("ann");
  const settings = { MODE: "push", LISTEN: `127.0.0.1:${port}`, STATE_FOLDER: stateWith(ann.id) };
  const rig = await startRig(service, synapse, { account: "pushed", settings });
  const channel = await rig.room(ann);
  const observer = await startObserver(ann, rig.id, channel);
  await until("the bridge listens", async () => (await rig.bridge.health()).status === 200);
  const result = await checkBridge({
    url: new URL(`http://127.0.0.1:${port}/events`),
    observe: observer.url,
    secrets: [rig.workspace.secret],
    workspace: rig.workspace.id,
    channel,
    user: ann.id,
    answerWithinMs: HANG_MS,
    withinMs: HANG_MS,
  });
  expect(result.rules.filter(({ verdict }) => verdict !== "passed")).toEqual([]);
  await observer.close();
  await rig.close();
});

test("a bridge that polls passes every rule of the checker", async () => {
  const ann = await synapse.member("ann2");
  const account = await synapse.member("polling");
  const channel = await ann.createRoom({}, account.id);
  await account.join(channel);
  const observer = await startObserver(ann, account.id, channel);
  const secret = "a signing secret for tests";
  let rig: MatrixRig | undefined;

  /** Starts the bridge. A member then runs a command, so that the checker also sees reports. */
  async function start(baseUrl: string, workspace: string): Promise<void> {
    const settings = {
      BASE_URL: baseUrl,
      WORKSPACE_ID: workspace,
      SIGNING_SECRET: secret,
      STATE_FOLDER: stateWith(ann.id),
      MATRIX_ACCESS_TOKEN: account.token,
    };
    rig = await startRig(service, synapse, { account: "unused", settings });
    const position = join(rig.environment.STATE_FOLDER, "sync.json");
    await until("the bridge follows the room", () => existsSync(position));
    await ann.say(channel, "!play help");
  }

  let starting: Promise<void> | undefined;
  const result = await checkPoller({
    secrets: [secret],
    observe: observer.url,
    channel,
    user: ann.id,
    withinMs: HANG_MS,
    onListening: ({ baseUrl, workspace }) => void (starting = start(baseUrl, workspace)),
  });
  await starting;
  expect(result.rules.filter(({ verdict }) => verdict !== "passed")).toEqual([]);
  await observer.close();
  await rig?.close();
}, 300_000);
