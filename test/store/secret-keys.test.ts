import { createSigningSecret } from "../../core/domain/workspace";
import type { Functions } from "../../core/store/functions";
import { createSecretBox } from "../../core/store/secret-box";
import { createSecretKeys } from "../../core/store/secret-keys";
import { SECRETS_KEY } from "../harness/processes";
import { addWorkspace, openTestStore, testStore, type TestStore } from "../harness/store";

const store = testStore();
const oldKey = Buffer.from(SECRETS_KEY, "hex");
const newKey = Buffer.from("ab".repeat(32), "hex");
const both = createSecretBox([newKey, oldKey]);

/** Re-encrypts all pages. Calls `before` before each write. */
async function reEncryptAll(before: () => Promise<void> = async () => undefined): Promise<number> {
  const call: Functions["call"] = async (name, ...rest) => {
    if (name === "reseal_workspaces") await before();
    return store.functions.call(name, ...rest);
  };
  const functions = { ...store.functions, call };
  const keys = createSecretKeys(store.redis, functions, store.keys, both, store.now);
  let changed = 0;
  for (let token: string | undefined = ""; token !== undefined;) {
    const page = await keys.reEncrypt(token);
    changed += page?.changed ?? 0;
    token = page?.next;
  }
  return changed;
}

/** Calls `use` with a store that has only the new key. */
async function withNewKey(use: (alone: TestStore) => Promise<void>): Promise<void> {
  const alone = await openTestStore(store.redisUrl, { secretBox: createSecretBox([newKey]) });
  try {
    await use(alone);
  } finally {
    await alone.close();
  }
}

test("if a secret is rotated while its workspace is re-encrypted, the new secret is kept, and is encrypted with the newest key", async () => {
  const { workspace, version } = await addWorkspace(store);
  const secrets = [createSigningSecret("rotated meanwhile", store.now())];
  let isFirst = true;
  await reEncryptAll(async () => {
    // This core still encrypts with the old key.
    if (isFirst) await store.workspaces.replace({ ...workspace, secrets }, version);
    isFirst = false;
  });
  await withNewKey(async (alone) => {
    const record = await alone.workspaces.read(workspace.id);
    expect(record?.workspace.secrets.map(({ value }) => value)).toEqual(["rotated meanwhile"]);
  });
});

test("a workspace that is deleted while it is re-encrypted stays deleted", async () => {
  const { workspace } = await addWorkspace(store);
  await reEncryptAll(async () => void (await store.workspaces.delete(workspace)));
  expect(await store.workspaces.read(workspace.id)).toBeUndefined();
});

test("re-encryption keeps each field of a workspace and its version, so cached records stay current", async () => {
  const secret = createSigningSecret("of operator events", store.now());
  const operatorEvents = { address: "https://ops.example/", secrets: [secret] };
  const before = await addWorkspace(store, { operatorEvents });
  expect(await reEncryptAll()).toBe(1);
  expect(await reEncryptAll()).toBe(0);
  expect(await store.workspaces.read(before.workspace.id)).toBe(before);
  await withNewKey(async (alone) => expect(await alone.workspaces.read(before.workspace.id)).toEqual(before));
});
