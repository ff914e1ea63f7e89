import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { poll } from "../harness/bridge";
import { SECRETS_KEY } from "../harness/processes";
import { publish, startService, textEvent, withCore, type TestService } from "../harness/service";
import { openTestStore } from "../harness/store";

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** All that Redis holds, and all that it ever wrote, as it would be read off a disk. */
async function readDisk(): Promise<Buffer> {
  const store = await openTestStore(service.redis.url);
  for (const command of ["CONFIG SET rdbcompression no", "SAVE"])
    await store.redis.command("", command.split(" "));
  await store.close();
  const folder = dirname(new URL(service.redis.url).pathname);
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  expect(files.map(({ name }) => name)).toContain("dump.rdb");
  return Buffer.concat(files.map(({ parentPath, name }) => readFileSync(join(parentPath, name))));
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

  const kept = await readDisk();
  // What is searched is what is kept.
  expect(kept.includes("a name to be found")).toBe(true);
  expect(kept.includes("a text to be found")).toBe(true);
  for (const secret of [workspace.secret, signingSecret]) {
    for (const form of forms(secret)) expect(kept.includes(form)).toBe(false);
  }
  expect(kept.includes(SECRETS_KEY)).toBe(false);
});

test("a new key encrypts while the old one still decrypts, so that keys can be changed", async () => {
  const { id } = await service.workspaces.make();
  const fresh = "ff".repeat(32);
  // The first core writes the whole record again, under the new key, which is all that the second one has.
  for (const [i, key] of [`${fresh},${SECRETS_KEY}`, fresh].entries()) {
    await withCore(service.redis.url, { SECRETS_KEY: key }, async ({ workspaces }) => {
      const { workspace } = await workspaces.rotate(id);
      expect(workspace?.secrets).toHaveLength(i + 2);
    });
  }
});
