import { status } from "@grpc/grpc-js";
import { DeliveryMode } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { publish, textEvent } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { expectRejected } from "../harness/workspace-api";

const service = sharedService();
const api = service.workspaces;

const pollStatus = async (id: string, secret: string) => (await poll(service.url, { id, secret })).status;

const DAY_MS = 86_400_000;

// contract: secret-shown-once
test("a secret is shown only by the answer that made it", async () => {
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

describe("disconnecting and connecting", () => {
  test("a disconnected workspace has no hooks and no secret, and cannot rotate; disconnecting twice is harmless", async () => {
    const { id, secret } = await api.make();
    for (let i = 0; i < 2; i++) {
      const { workspace } = await api.disconnect(id);
      expect(workspace).toMatchObject({ connected: false, mode: DeliveryMode.UNSPECIFIED, secrets: [] });
      expect(await pollStatus(id, secret)).toBe(404);
      await expectRejected(api.rotate(id), status.FAILED_PRECONDITION, "not connected");
    }
  });

  test("connecting again makes a new secret, and the old one is invalid", async () => {
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

  test("connecting one that is connected is a FAILED_PRECONDITION and changes no secret", async () => {
    const { id, secret } = await api.make();
    await expectRejected(api.connect(id), status.FAILED_PRECONDITION, "connected already");
    expect(await pollStatus(id, secret)).toBe(200);
  });
});

// time: controlled
// contract: rotation-inbound
test("up to four secrets are active and valid, listed newest first with when they expire, 24 hours after rotation", async () => {
  const { id, secret } = await api.make();
  const secrets = [secret];
  for (let i = 0; i < 3; i++) secrets.unshift((await api.rotate(id)).signingSecret);
  expect(new Set(secrets).size).toBe(4);

  const infos = (await api.get(id)).workspace?.secrets ?? [];
  const createdAt = infos.map((info) => info.createdAt?.getTime() ?? 0);
  // Newest first: each was retired when the one before it in the list was made.
  expect(infos.map(({ expiresAt }) => expiresAt?.getTime())).toEqual([
    undefined,
    ...createdAt.slice(0, 3).map((retired) => retired + DAY_MS),
  ]);

  await expectRejected(api.rotate(id), status.FAILED_PRECONDITION, "four secrets");
  for (const each of secrets) expect(await pollStatus(id, each)).toBe(200);
});
