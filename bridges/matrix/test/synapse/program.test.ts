import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CARD, create, published, update } from "../../../../test/harness/contents";
import { testFolder } from "../../../../test/harness/folder";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import { startSilentServer } from "../../../../test/harness/silent-server";
import { startBridge } from "../harness/bridge-process";
import { startRig } from "../harness/matrix-rig";
import { PASSWORD, startSynapse, SYNAPSE_WITHIN_MS, type TestSynapse } from "../harness/synapse";

const service = sharedService();
const folder = testFolder();
let synapse: TestSynapse;

beforeAll(async () => {
  synapse = await startSynapse();
}, SYNAPSE_WITHIN_MS);
afterAll(() => synapse?.close());

let rigs = 0;
const newRig = async (settings: Record<string, string> = {}) => {
  const rig = await startRig(service, synapse, { account: `bot${++rigs}`, settings });
  return { rig, isUp: async () => (await rig.bridge.health()).status === 200 };
};

test("with a password, the bridge logs in once, keeps the token in a private file, and logs in again when the token is invalid", async () => {
  await synapse.account("games");
  const passwordFile = join(folder, "password");
  writeFileSync(passwordFile, `${PASSWORD}\n`);
  const { rig, isUp } = await newRig({
    MATRIX_ACCESS_TOKEN: "",
    MATRIX_USER: "games",
    MATRIX_PASSWORD_FILE: passwordFile,
  });
  const ann = await synapse.member("ann");
  await until("the bridge is connected", isUp);
  const file = join(rig.environment.STATE_FOLDER, "session.json");
  const session = () => JSON.parse(readFileSync(file, "utf8")) as { accessToken: string };
  const { accessToken: first } = session();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await rig.restart("SIGTERM");
  await until("the bridge is connected", isUp);
  expect(session().accessToken).toBe(first);

  // The owner of the account ends the session, e.g. with "sign out of all devices".
  const headers = { authorization: `Bearer ${first}` };
  const out = await fetch(`${synapse.url}/_matrix/client/v3/logout`, { method: "POST", headers });
  expect(out.status).toBe(200);
  await until("another token", () => session().accessToken !== first);
  const room = await ann.createRoom({}, "@games:chat.test");
  await until(
    "the bridge has joined",
    async () => (await ann.membershipOf(room, "@games:chat.test")) === "join",
  );
  await rig.publish(create(room));
  await ann.sees(room, "a message", ({ body }) => body === "hi");
  expect(rig.bridge.output()).not.toContain(PASSWORD);
  expect(rig.bridge.output()).not.toContain(first);
  await rig.close();
});

test.each([
  ["an invalid access token", { MATRIX_ACCESS_TOKEN: "invalid" }, "MATRIX_ACCESS_TOKEN"],
  [
    "a wrong password",
    { MATRIX_ACCESS_TOKEN: "", MATRIX_USER: "nobody", MATRIX_PASSWORD: "wrong" },
    "MATRIX_PASSWORD",
  ],
  ["a wrong signing secret", { SIGNING_SECRET: "wrong" }, "401"],
])("with %s, the program exits with 1 and names the problem", async (_what, settings, name) => {
  const { rig } = await newRig(settings);
  expect(await rig.bridge.exited).toBe(1);
  const [line] = rig.bridge.logged("the bridge cannot continue");
  expect(line?.["problem"]).toContain(name);
  await rig.close();
});

test("missing settings are named, and the program exits with 78", async () => {
  const bridge = await startBridge({});
  expect(await bridge.exited).toBe(78);
  for (const name of ["BASE_URL", "WORKSPACE_ID", "SIGNING_SECRET", "MATRIX_HOMESERVER"]) {
    expect(bridge.errors).toContain(`${name} is missing`);
  }
});

test("without an account, the program says which settings to give", async () => {
  const bridge = await startBridge({
    BASE_URL: "http://127.0.0.1:9",
    WORKSPACE_ID: "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f",
    SIGNING_SECRET: "secret",
    MATRIX_HOMESERVER: "http://127.0.0.1:9",
  });
  expect(await bridge.exited).toBe(78);
  expect(bridge.errors).toContain("MATRIX_USER and MATRIX_PASSWORD");
});

test("the health listener reports an outage of the homeserver, and the program stops within 10 seconds during the outage", async () => {
  const { rig, isUp } = await newRig();
  const ann = await synapse.member("outage");
  await until("the bridge is connected", isUp);
  const room = await rig.room(ann);
  const [earlier] = await rig.publish(create(room, { ...CARD, text: "before the outage" }));
  const { eventId } = await ann.sees(room, "a message", ({ body }) => body === "before the outage");
  await synapse.stop("SIGKILL");
  await until("the outage is reported", async () => {
    const { status, body } = await rig.bridge.health();
    return status === 503 && JSON.stringify(body).includes('"homeserver":{"isConnected":false');
  });
  await rig.publish(
    update(room, { ...CARD, id: published(earlier).messageId, text: "changed in the outage" }),
    create(room, { ...CARD, text: "posted in the outage" }),
  );
  expect(await rig.bridge.stop("SIGTERM")).toBe(0);
  // A bridge that starts during the outage connects afterwards, and shows the held events.
  await rig.restart();
  await synapse.start();
  await ann.sees(room, "the new message", ({ body }) => body === "posted in the outage");
  const changed = await ann.sees(room, "the update", ({ body }) => body === "changed in the outage");
  expect(changed.eventId).toBe(eventId);
  await until("the bridge is connected", isUp);
  expect(await rig.bridge.stop("SIGINT")).toBe(0);
  await rig.close();
});

test("the bridge starts while the homeserver does not answer, and stops gracefully", async () => {
  const silent = await startSilentServer();
  const { rig } = await newRig({ MATRIX_HOMESERVER: `http://127.0.0.1:${silent.port}` });
  expect((await rig.bridge.health()).status).toBe(503);
  expect(await rig.bridge.stop("SIGTERM")).toBe(0);
  await rig.close();
  silent.close();
});

test("a member who types !play status gets a notice with the state of the bridge, and the service gets no command", async () => {
  const { rig } = await newRig();
  const member = await synapse.member("asker");
  const room = await rig.room(member);
  await member.say(room, "!play status");
  const seen = await member.sees(room, "the status", ({ body }) => /^chat-bridge-matrix \d/.test(body));
  expect(seen.body).toContain("The game service is connected.");
  await member.say(room, "!play help");
  await rig.reports("the next command", ({ text }) => text === "help");
  expect(rig.reported().map(({ text }) => text)).toEqual(["help"]);
  await rig.close();
});
