import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { status } from "@grpc/grpc-js";
import { DeliveryMode } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { SECRETS_KEY } from "../harness/processes";
import { publish, startService, textEvent, withCore, type TestService } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { openTestStore } from "../harness/store";
import { expectRejected } from "../harness/workspace-api";

const service = sharedService();
const api = service.workspaces;

const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;

const DAY_MS = 86_400_000;

// contract: secret-shown-once
test("a secret is shown only in the answer to the call that creates it", async () => {
  const { id, secret } = await api.make();
  const answers = [await api.get(id), await api.list(1_000), await api.update(id, { name: "again" })];
  const rotated = await api.rotate(id);
  answers.push(await api.get(id));
  for (const text of answers.map((answer) => JSON.stringify(answer))) {
    expect(text).toContain(id);
    expect(text).not.toContain(secret);
    expect(text).not.toContain(rotated.signingSecret);
  }
  expect(JSON.stringify(rotated.workspace)).not.toContain(rotated.signingSecret);
});

describe("disconnecting and connecting:", () => {
  test("a disconnected workspace cannot be polled and has no secret to rotate, and disconnecting it twice is harmless", async () => {
    const { id, secret } = await api.make();
    for (let i = 0; i < 2; i++) {
      const { workspace } = await api.disconnect(id);
      expect(workspace).toMatchObject({ connected: false, mode: DeliveryMode.UNSPECIFIED, secrets: [] });
      expect(await pollStatus(id, secret)).toBe(404);
      await expectRejected(api.rotate(id), status.FAILED_PRECONDITION, "not connected");
    }
  });

  test("connecting again creates a new secret, and the old secret is invalid", async () => {
    const { id, secret } = await api.make();
    await publish(service.clients, textEvent(id, "held"));
    await api.disconnect(id);
    const { workspace, signingSecret } = await api.connect(id);
    expect(workspace).toMatchObject({ connected: true, mode: DeliveryMode.POLL });
    expect(workspace?.secrets).toHaveLength(1);
    expect(signingSecret).not.toBe(secret);
    expect(await pollStatus(id, secret)).toBe(401);
    const page = await poll(service.url, { id, secret: signingSecret });
    expect(page.json).toMatchObject({ events: [{ message: { text: "held" } }] });
  });

  test("connecting a connected workspace fails with FAILED_PRECONDITION and does not change any secret", async () => {
    const { id, secret } = await api.make();
    await expectRejected(api.connect(id), status.FAILED_PRECONDITION, "already connected");
    expect(await pollStatus(id, secret)).toBe(200);
  });
});

// time: controlled
// contract: rotation-inbound
test("up to four secrets are valid and listed, newest first; old secrets expire 24 hours after rotation", async () => {
  const { id, secret } = await api.make();
  const secrets = [secret];
  for (let i = 0; i < 3; i++) secrets.unshift((await api.rotate(id)).signingSecret);
  expect(new Set(secrets).size).toBe(4);

  const infos = (await api.get(id)).workspace?.secrets ?? [];
  const createdAt = infos.map((info) => info.createdAt?.getTime() ?? 0);
  // Newest first: each secret was retired when the one before it in the list was created.
  expect(infos.map(({ expiresAt }) => expiresAt?.getTime())).toEqual([
    undefined,
    ...createdAt.slice(0, 3).map((retired) => retired + DAY_MS),
  ]);

  await expectRejected(api.rotate(id), status.FAILED_PRECONDITION, "four secrets");
  for (const each of secrets) expect(await pollStatus(id, each)).toBe(200);
});

describe("at rest,", () => {
  let own: TestService;
  beforeAll(async () => {
    own = await startService();
  });
  afterAll(() => own.close());

  /** Makes Redis save all its data uncompressed; returns the contents of all files that Redis has written. */
  async function readDisk(): Promise<Buffer> {
    const store = await openTestStore(own.redis.url);
    for (const command of ["CONFIG SET rdbcompression no", "SAVE"])
      await store.redis.command("", command.split(" "));
    await store.close();
    const folder = dirname(new URL(own.redis.url).pathname);
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    expect(files.map(({ name }) => name)).toContain("dump.rdb");
    return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
  }

  /** Returns the forms in which a secret could be stored without encryption. */
  function forms(secret: string): readonly Buffer[] {
    return [Buffer.from(secret), Buffer.from(secret, "base64url")].flatMap((bytes) => [
      bytes,
      ...(["hex", "base64", "base64url"] as const).map((as) => Buffer.from(bytes.toString(as))),
    ]);
  }

  test("signing secrets are encrypted, and no file of Redis contains a secret in any unencrypted form", async () => {
    const workspace = await own.workspaces.make({ name: "a name to be found" });
    const { signingSecret } = await own.workspaces.rotate(workspace.id);
    await publish(own.clients, textEvent(workspace.id, "a text to be found"));
    expect((await poll(own.url, { id: workspace.id, secret: signingSecret })).status).toBe(200);

    const kept = await readDisk();
    // These two texts prove that the files contain the stored data.
    expect(kept.includes("a name to be found")).toBe(true);
    expect(kept.includes("a text to be found")).toBe(true);
    for (const secret of [workspace.secret, signingSecret]) {
      for (const form of forms(secret)) expect(kept.includes(form)).toBe(false);
    }
    expect(kept.includes(SECRETS_KEY)).toBe(false);
  });

  test("a new key encrypts while the old key still decrypts, so that keys can be rotated", async () => {
    const { id } = await own.workspaces.make();
    const fresh = "ff".repeat(32);
    // The first core rewrites the whole record with the new key, which is the only key of the second core.
    for (const [i, key] of [`${fresh},${SECRETS_KEY}`, fresh].entries()) {
      await withCore(own.redis.url, { SECRETS_KEY: key }, async ({ workspaces }) => {
        const { workspace } = await workspaces.rotate(id);
        expect(workspace?.secrets).toHaveLength(i + 2);
      });
    }
  });
});
