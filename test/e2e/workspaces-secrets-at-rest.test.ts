import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createClient } from "redis";
import { poll } from "../harness/bridge";
import { SECRETS_KEY, startCore } from "../harness/processes";
import { connectToCore } from "../harness/core-clients";
import { publish, startService, textEvent, type TestService } from "../harness/service";
import { createWorkspaceApi } from "../harness/workspace-api";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const socketPath = (): string => new URL(service.redis.url).pathname;

const READ_BY_TYPE: Readonly<Record<string, readonly string[]>> = {
  string: ["GET"],
  hash: ["HGETALL"],
  list: ["LRANGE", "0", "-1"],
  set: ["SMEMBERS"],
  zset: ["ZRANGE", "0", "-1"],
  stream: ["XRANGE", "-", "+"],
};

/** Every key that Redis holds, with its value. */
async function dumpAll(): Promise<Buffer> {
  const client = createClient({ socket: { path: socketPath(), tls: false } });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const dumps: Buffer[] = [];
    for await (const keys of client.scanIterator()) {
      for (const key of keys) {
        dumps.push(Buffer.from(key));
        const [command = "", ...range] = READ_BY_TYPE[await client.type(key)] ?? [];
        dumps.push(Buffer.from(JSON.stringify(await client.sendCommand([command, key, ...range]))));
      }
    }
    return Buffer.concat(dumps);
  } finally {
    client.destroy();
  }
}

/** The append-only file, as it would be read off a disk. */
function readFiles(): Buffer {
  const folder = join(dirname(socketPath()), "appendonlydir");
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
}

/** A secret as it might be kept, were it not encrypted. */
function forms(secret: string): readonly Buffer[] {
  const bytes = Buffer.from(secret);
  const raw = Buffer.from(secret, "base64url");
  return [
    bytes,
    raw,
    ...(["hex", "base64", "base64url"] as const).flatMap((as) => [
      Buffer.from(bytes.toString(as)),
      Buffer.from(raw.toString(as)),
    ]),
  ];
}

test("signing secrets are encrypted at rest: nothing in Redis or in its file shows one", async () => {
  const workspace = await service.workspaces.make({ name: "a name to be found" });
  const { signingSecret } = await service.workspaces.rotate(workspace.id);
  await publish(service.clients, textEvent(workspace.id, "a text to be found"));
  expect((await poll(service.url, { id: workspace.id, secret: signingSecret })).status).toBe(200);

  for (const kept of [await dumpAll(), readFiles()]) {
    // What is searched is what is kept.
    expect(kept.includes("a name to be found")).toBe(true);
    expect(kept.includes("a text to be found")).toBe(true);
    for (const secret of [workspace.secret, signingSecret]) {
      for (const form of forms(secret)) expect(kept.includes(form)).toBe(false);
    }
    expect(kept.includes(SECRETS_KEY)).toBe(false);
  }
});

test("a new key encrypts while the old one still decrypts, so that keys can be changed", async () => {
  const { id } = await service.workspaces.make();
  const fresh = "ff".repeat(32);
  // The first core writes the whole record again, under the new key, which is all that the second one has.
  for (const [i, key] of [`${fresh},${SECRETS_KEY}`, fresh].entries()) {
    const core = await startCore(service.redis.url, { SECRETS_KEY: key });
    const clients = connectToCore(core.port);
    try {
      const { workspace } = await createWorkspaceApi(clients.workspaces).rotate(id);
      expect(workspace?.secrets).toHaveLength(i + 2);
    } finally {
      clients.close();
      await core.stop();
    }
  }
});
