import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { until } from "../../../../test/harness/wait";
import { installNio } from "../../../../test/programs/pypi";
import { foldRoom, type RawEvent, type RoomMessage } from "./fold-room";
import { PASSWORD, type TestSynapse } from "./synapse";

export type EncryptedMember = Awaited<ReturnType<typeof startEncryptedMember>>;

/** An event as the client shows it, decrypted if possible. */
export interface SeenEvent extends RawEvent {
  /** Whether the client has decrypted the event. */
  readonly isEncrypted: boolean;
  readonly isUndecryptable: boolean;
}

interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

interface Relation {
  readonly "m.in_reply_to": { readonly event_id: string };
}

/** Starts an encrypting client with its own device for an existing account. */
export async function startEncryptedMember(synapse: TestSynapse, name: string, device: string) {
  const python = await installNio((line) => process.stderr.write(`${line}\n`));
  const folder = mkdtempSync(join(tmpdir(), "cb-nio-"));
  const program = join(__dirname, "encrypted_member.py");
  const child = spawn(python, [program, synapse.url, name, PASSWORD, folder, device], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors = `${errors}${chunk.toString()}`.slice(-4_000)));
  const exited = new Promise((resolve) => child.once("close", resolve));
  const waiting = new Map<number, (answer: Answer) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const answer = JSON.parse(line) as Answer;
    waiting.get(answer.id)?.(answer);
    waiting.delete(answer.id);
  });
  child.once("close", () => {
    for (const [id, done] of waiting) done({ id, error: `the client exited: ${errors}` });
  });
  let calls = 0;

  async function call<T>(name_: string, ...args: readonly unknown[]): Promise<T> {
    const id = (calls += 1);
    const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ id, call: name_, args })}\n`);
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${name_}: ${error}`);
    return result as T;
  }

  const events = (roomId: string) => call<readonly SeenEvent[]>("seen", roomId);
  const messages = async (roomId: string): Promise<readonly RoomMessage[]> => foldRoom(await events(roomId));

  await call("start");
  return {
    events,
    messages,
    say: (roomId: string, body: string) => call<string>("say", roomId, body),
    reply: (roomId: string, eventId: string, body: string) => {
      const relation: Relation = { "m.in_reply_to": { event_id: eventId } };
      return call<string>("say", roomId, body, relation);
    },
    react: (roomId: string, eventId: string, key: string) => call<string>("react", roomId, eventId, key),
    join: (roomId: string) => call("join", roomId),
    /** Resolves to the first bytes of an encrypted file. */
    download: (file: object) => call<readonly number[]>("download", file),
    /** Resolves to a user's device keys, keyed by device id. */
    devicesOf: (user: string) => call<Readonly<Record<string, string>>>("devices_of", user),
    /** Waits until the client knows that a room is encrypted, and that a user is in the room. */
    knows: (roomId: string, user: string) =>
      until("the client knows the room", async () => {
        const room = await call<{ isEncrypted: boolean; members: readonly string[] } | null>("knows", roomId);
        return room?.isEncrypted === true && room.members.includes(user);
      }),
    /** Waits for a message in a room. */
    sees: (roomId: string, what: string, isIt: (message: RoomMessage) => boolean): Promise<RoomMessage> =>
      until(what, async () => (await messages(roomId)).findLast(isIt)),
    /** Waits for an invite, and accepts the invite. Resolves to the room. */
    acceptInvite: (): Promise<string> =>
      until("an invite", async () => {
        const [roomId] = await call<readonly string[]>("invited");
        if (roomId !== undefined) await call("join", roomId);
        return roomId;
      }),
    async close(): Promise<void> {
      child.stdin.end();
      child.kill("SIGKILL");
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
