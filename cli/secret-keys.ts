import type { WorkspaceServiceClient } from "../proto/gen/chatbridge/v1/workspace";
import { answer, type Cli, type CliCommand } from "./cli";
import { asOperator, type Core } from "./core";
import { EXIT } from "./exit-code";
import { tableLines } from "./table";

/** A key, and the number of workspaces whose secrets are encrypted with the key. */
interface KeyCount {
  readonly key: string;
  readonly workspaces: number;
  readonly state: "newest" | "old" | "missing";
}

/** A workspace that has secrets encrypted with a key other than the newest. */
interface OldKeys {
  readonly id: string;
  readonly keys: readonly string[];
  readonly unreadable: boolean;
}

/** The command prints its progress after every batch of this many workspaces. */
const TELL_EVERY = 1_000;

/**
 * `chat-bridge workspace keys` shows which keys encrypt the stored secrets, and `chat-bridge workspace re-encrypt`
 * encrypts all stored secrets with the newest key.
 */
export function addSecretKeys(workspace: CliCommand, cli: Cli): void {
  workspace
    .command("keys")
    .description("show which keys of SECRETS_KEY the stored secrets need")
    .moreHelp(`
Exit code 1: a workspace needs another key than the newest. If core lacks the key, the secret is unreadable.

Examples:
  $ chat-bridge workspace keys
  $ chat-bridge workspace keys --json | jq -r '.workspaces[] | select(.unreadable) | .id'`)
    .action(() => asOperator(cli, (operator) => showKeys(cli, operator)));

  workspace
    .command("re-encrypt")
    .description("encrypt all stored secrets with the newest key of SECRETS_KEY")
    .moreHelp(`
The secrets do not change, and bridges notice nothing. The command can be repeated, and can run while the service works.
Exit code 1: a workspace has an unreadable secret.

Example:
  $ chat-bridge workspace re-encrypt && chat-bridge workspace keys`)
    .action(() => asOperator(cli, (operator) => reEncrypt(cli, operator)));
}

type Operator = Core<WorkspaceServiceClient>;

async function showKeys(cli: Cli, { call, methods }: Operator): Promise<void> {
  const counts = new Map<string, KeyCount>();
  const workspaces: OldKeys[] = [];
  let newest = "";
  let pageToken = "";
  do {
    const page = await call(methods.listSecretKeys, { pageToken });
    newest = page.newestKey;
    for (const { workspaceId: id, keys, missingKeys } of page.workspaces) {
      for (const key of keys) {
        const state = missingKeys.includes(key) ? "missing" : key === newest ? "newest" : "old";
        const name = `${key} ${state}`;
        counts.set(name, { key, state, workspaces: (counts.get(name)?.workspaces ?? 0) + 1 });
      }
      const unreadable = missingKeys.length > 0;
      if (unreadable || keys.some((key) => key !== newest)) workspaces.push({ id, keys, unreadable });
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const keys = [...counts.values()];
  answer(cli, { newest, keys, workspaces }, keyLines(newest, keys, workspaces));
  if (workspaces.length > 0) cli.endWith(EXIT.NO);
}

function keyLines(newest: string, keys: readonly KeyCount[], workspaces: readonly OldKeys[]) {
  const counts = keys.map(({ key, state, workspaces: count }) => [key, state, String(count)]);
  const lines = tableLines(["key", "state", "workspaces"], counts);
  if (workspaces.length === 0) {
    return [...lines, `No workspace needs another key than ${newest}: remove older keys from SECRETS_KEY.`];
  }
  const rows = workspaces.map(({ id, keys: needed, unreadable }) => [
    id,
    needed.join(", "),
    unreadable ? "secret unreadable" : "needs an old key",
  ]);
  return [...lines, "", ...tableLines(["workspace", "keys", "state"], rows)];
}

async function reEncrypt(cli: Cli, { call, methods }: Operator): Promise<void> {
  const unreadable: string[] = [];
  let changed = 0;
  let already = 0;
  let total = 0;
  let told = 0;
  let newest = "";
  let pageToken = "";
  do {
    const page = await call(methods.reEncryptSecrets, { pageToken });
    newest = page.newestKey;
    changed += page.changed;
    already += page.already;
    unreadable.push(...page.unreadableIds);
    total += page.total;
    const done = changed + already + unreadable.length;
    if (done - told >= TELL_EVERY) {
      cli.terminal.tell(`${done} of ${total} workspaces`);
      told = done;
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  answer(cli, { newest, changed, already, unreadable }, [
    `Re-encrypted the secrets of ${changed} workspaces with the key ${newest}; ${already} needed no change.`,
    ...unreadable.map(
      (id) => `The secret of ${id} is unreadable: add its key to SECRETS_KEY, or connect it again.`,
    ),
  ]);
  if (unreadable.length > 0) cli.endWith(EXIT.NO);
}
