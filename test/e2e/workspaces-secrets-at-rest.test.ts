import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { createClient } from "redis";
import { RotateSigningSecretRequest } from "../../proto/gen/chatbridge/v1/workspace";
import { poll } from "../harness/bridge";
import { SECRETS_KEY, startCore } from "../harness/processes";
import {
  call,
  connectToCore,
  createWorkspace,
  publish,
  startService,
  textEvent,
  type TestService,
} from "../harness/service";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const socketPath = (): string => new URL(service.redis.url).pathname;

/** Everything that Redis holds, each key as its dump. */
async function dumpAll(): Promise<Buffer> {
  const client = createClient({ socket: { path: socketPath(), tls: false } });
  client.on("error", () => undefined);
  await client.connect();
  try {
    const dumps: Buffer[] = [];
    for await (const keys of client.scanIterator()) {
      for (const key of keys) {
        dumps.push(Buffer.from(key));
        const [type, text] = [await client.type(key), async (...args: string[]) => client.sendCommand(args)];
        const read = { string: ["GET"], hash: ["HGETALL"], list: ["LRANGE", "0", "-1"] }[type];
        const [command = "", ...rest] =
          read ??
          (type === "zset" ? ["ZRANGE", "0", "-1"] : type === "set" ? ["SMEMBERS"] : ["XRANGE", "-", "+"]);
        dumps.push(Buffer.from(JSON.stringify(await text(command, key, ...rest))));
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
  const { clients } = service;
  const workspace = await createWorkspace(clients, { name: "a name to be found" });
  const { signingSecret } = await call(
    clients.workspaces,
    clients.workspaces.rotateSigningSecret,
    RotateSigningSecretRequest.create({ workspaceId: workspace.id }),
  );
  await publish(clients, textEvent(workspace.id, "a text to be found"));
  expect((await poll(service.url, { id: workspace.id, secret: signingSecret })).status).toBe(200);

  for (const kept of [await dumpAll(), readFiles()]) {
    // What is looked through is what is kept.
    expect(kept.includes("a name to be found")).toBe(true);
    expect(kept.includes("a text to be found")).toBe(true);
    for (const secret of [workspace.secret, signingSecret]) {
      for (const form of forms(secret)) expect(kept.includes(form)).toBe(false);
    }
    expect(kept.includes(SECRETS_KEY)).toBe(false);
  }
});

test("a new key encrypts while the old one still reads, so that keys can be changed", async () => {
  const { clients, redis } = service;
  const old = await createWorkspace(clients);
  const fresh = "ff".repeat(32);
  const core = await startCore(redis.url, { SECRETS_KEY: `${fresh},${SECRETS_KEY}` });
  const both = connectToCore(core.port);
  const rotated = await call(
    both.workspaces,
    both.workspaces.rotateSigningSecret,
    RotateSigningSecretRequest.create({ workspaceId: old.id }),
  );
  both.close();
  await core.stop();
  expect(rotated.workspace?.secrets).toHaveLength(2);

  // The record was written anew, all of it under the new key.
  const later = await startCore(redis.url, { SECRETS_KEY: fresh });
  const only = connectToCore(later.port);
  try {
    const again = await call(
      only.workspaces,
      only.workspaces.rotateSigningSecret,
      RotateSigningSecretRequest.create({ workspaceId: old.id }),
    );
    expect(again.workspace?.secrets).toHaveLength(3);
  } finally {
    only.close();
    await later.stop();
  }
});
