import { rmSync } from "node:fs";
import { create } from "../../../../test/harness/contents";
import { sharedService } from "../../../../test/harness/shared-service";
import { until } from "../../../../test/harness/wait";
import { startEncryptedMember, type EncryptedMember } from "../harness/encrypted-member";
import type { MatrixMember } from "../harness/matrix-member";
import { startRig, type MatrixRig } from "../harness/matrix-rig";
import { card, startScene } from "../harness/scene";
import { PASSWORD, SYNAPSE_WITHIN_MS } from "../harness/synapse";

const scene = startScene(sharedService());

let eve: MatrixMember;
let client: EncryptedMember;
beforeAll(async () => {
  eve = await scene.synapse.member("eve");
  client = await startEncryptedMember(scene.synapse, "eve", "FIRST");
}, SYNAPSE_WITHIN_MS);
afterAll(() => client?.close());

const WITH_PASSWORD = { MATRIX_ACCESS_TOKEN: "", MATRIX_PASSWORD: PASSWORD };

function startBot(account: string, settings: Readonly<Record<string, string>> = {}): Promise<MatrixRig> {
  const all = { MATRIX_ENCRYPTION: "on", MATRIX_USER: account, ...settings };
  return startRig(scene.service, scene.synapse, { account, settings: all });
}

async function encryptedRoom(rig: MatrixRig): Promise<string> {
  const content = { algorithm: "m.megolm.v1.aes-sha2" };
  const encryption = { type: "m.room.encryption", state_key: "", content };
  const room = await eve.createRoom({ initial_state: [encryption] }, rig.id);
  await until("the bridge has joined", async () => (await eve.membershipOf(room, rig.id)) === "join");
  await client.knows(room, rig.id);
  return room;
}

interface DeviceKeys {
  readonly keys: Readonly<Record<string, string>>;
  readonly signatures: Readonly<Record<string, Readonly<Record<string, string>>>>;
}
interface PublishedKeys {
  readonly device_keys: Readonly<Record<string, Readonly<Record<string, DeviceKeys>>>>;
  readonly self_signing_keys: Readonly<Record<string, { readonly keys: Readonly<Record<string, string>> }>>;
}

/** Resolves to the keys that the homeserver publishes for an account. */
const publishedKeys = (user: string) =>
  eve.call<PublishedKeys>("POST", "keys/query", { device_keys: { [user]: [] } });

/** Waits until the account's identity has signed all the bridge's devices that have keys. Resolves to the devices. */
const signedDevices = (rig: MatrixRig): Promise<readonly string[]> =>
  until("the devices are signed", async () => {
    const { device_keys: devices, self_signing_keys: identities } = await publishedKeys(rig.id);
    const [key = "none"] = Object.keys(identities[rig.id]?.keys ?? {});
    const found = Object.entries(devices[rig.id] ?? {});
    const areSigned = found.every(([, { signatures }]) => key in (signatures[rig.id] ?? {}));
    return found.length > 0 && areSigned && found.map(([id]) => id);
  });

const says = (words: string) => (message: { readonly body: string }) => message.body.includes(words);

test("the device is signed by the account's identity, and so is the device that replaces it after a logout", async () => {
  const rig = await startBot("signed", WITH_PASSWORD);
  const devices = await signedDevices(rig);
  const room = await encryptedRoom(rig);
  await rig.publish(create(room, card("Before")));
  await client.sees(room, "the first message", says("Before"));

  const login = {
    type: "m.login.password",
    identifier: { type: "m.id.user", user: "signed" },
    password: PASSWORD,
  };
  const other = await eve.call<{ access_token: string }>("POST", "login", login);
  const headers = { authorization: `Bearer ${other.access_token}` };
  const out = await fetch(`${scene.synapse.url}/_matrix/client/v3/logout/all`, { method: "POST", headers });
  expect(out.status).toBe(200);
  const [device = ""] = await until("a new device", async () => {
    const signed = await signedDevices(rig);
    return signed.every((id) => !devices.includes(id)) && signed;
  });
  await until("the client knows the new device", async () => device in (await client.devicesOf(rig.id)));
  await client.say(room, "!play again");
  await rig.reports("the command", ({ text }) => text === "again");
  await rig.publish(create(room, card("After")));
  await client.sees(room, "the next message", says("After"));
  await rig.close();
});

test("a bridge that logs in with a password and loses its keys continues as a new device", async () => {
  const rig = await startBot("forgetful", WITH_PASSWORD);
  const room = await encryptedRoom(rig);
  await rig.publish(create(room, card("Before")));
  await client.sees(room, "the first message", says("Before"));
  const before = Object.keys((await publishedKeys(rig.id)).device_keys[rig.id] ?? {});
  await rig.bridge.stop("SIGKILL");
  rmSync(rig.environment.STATE_FOLDER, { recursive: true });
  await rig.restart();
  await until("a new device", async () => {
    const { device_keys: devices } = await publishedKeys(rig.id);
    return Object.keys(devices[rig.id] ?? {}).some((id) => !before.includes(id));
  });
  await rig.publish(create(room, card("After")));
  await client.sees(room, "the next message", says("After"));
  // The sync position is also lost, so the bridge reads only what is written after its start.
  await rig.bridge.ready();
  await until("the report of the command", async () => {
    await client.say(room, "!play again");
    return rig.reported().some(({ text }) => text === "again");
  });
  expect((await client.events(room)).some(({ isUndecryptable }) => isUndecryptable)).toBe(false);
  await rig.restart();
  await rig.publish(create(room, card("At last")));
  await client.sees(room, "the message of the same device", says("At last"));
  await rig.close();
});

test("a bridge that logs in with an access token and loses its keys says what to do", async () => {
  const rig = await startBot("token");
  await signedDevices(rig);
  await rig.bridge.stop("SIGKILL");
  rmSync(rig.environment.STATE_FOLDER, { recursive: true });
  await rig.restart();
  expect(await rig.bridge.exited).toBe(1);
  expect(rig.bridge.output()).toContain("log in again, and give the new MATRIX_ACCESS_TOKEN");
  await rig.close();
});
