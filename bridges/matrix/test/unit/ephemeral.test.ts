import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Message, MessageEphemeral } from "chat-bridge-kit";
import { createTurns } from "../../turns";
import { MatrixChat } from "../../chat/matrix-chat";
import { encryptedRoom } from "../../chat/to-chat-error";
import { MatrixError } from "../../client/matrix-error";
import { createIds } from "../../ids";

const MESSAGE = { kind: "text", text: "Locked in", image: null, buttons: [] } as unknown as Message;
const ANN = "@ann:example.org";
const noAnswer = (): Error => new Error("no answer from the homeserver: ECONNRESET");

/**
 * Shows an ephemeral message that expires after `lifetimeMs`. The homeserver first fails with the given errors. Returns
 * the error of the call, if any, and the transaction ids of all requests.
 */
async function show(lifetimeMs: number, failures: { open?: Error[]; encrypted?: Error[]; send?: Error[] }) {
  const sent: string[] = [];
  const failOr = <T>(errors: Error[] | undefined, value: T): Promise<T> => {
    const error = errors?.shift();
    return error === undefined ? Promise.resolve(value) : Promise.reject(error);
  };
  const chat = new MatrixChat({
    api: {
      send: (_room: string, _type: string, txnId: string) => {
        sent.push(txnId);
        return failOr(failures.send, "$sent");
      },
    },
    ids: createIds(),
    direct: { open: () => failOr(failures.open, "!direct:example.org") },
    encrypted: { isEncrypted: () => failOr(failures.encrypted, false) },
    timeline: { begin: () => undefined },
    unsaved: { begin: () => undefined, end: () => undefined },
    keycaps: { want: () => undefined, stop: () => undefined },
    background: createTurns(new AbortController().signal),
    powers: { of: async () => ({ maySpeak: true, mayRedact: true }), changed: () => undefined },
    stopped: new AbortController().signal,
    powerNotice: { afterQuestion: () => undefined },
    settings: { COMMAND_PREFIX: "!", MATRIX_QUESTIONS: "new", MATRIX_PICTURES: "caption" },
  } as unknown as ConstructorParameters<typeof MatrixChat>[0]);
  const expiresAt = new Date(Date.now() + lifetimeMs).toISOString();
  const event = { id: "evt_1", channel: "!room:example.org", user: ANN, message: MESSAGE, expiresAt };
  const shown = chat.ephemeral(event as unknown as MessageEphemeral, new AbortController().signal);
  const error = await shown.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return { error, sent };
}

test("an ephemeral message is sent again with the same transaction id when the homeserver does not answer", async () => {
  const shown = await show(60_000, { open: [noAnswer()], send: [new MatrixError(502, "")] });
  expect(shown).toEqual({ error: undefined, sent: ["evt_1", "evt_1"] });
});

test.each([
  ["the homeserver rejects", { send: [new MatrixError(403, "M_FORBIDDEN")] }, 1],
  ["belongs in an encrypted room", { encrypted: [encryptedRoom()] }, 0],
])("an ephemeral message that %s is not sent again", async (_what, failures, requests) => {
  const { error, sent } = await show(60_000, failures);
  expect(error).toMatchObject({ name: "CannotShow" });
  expect(sent).toHaveLength(requests);
});

test("an ephemeral message is sent even if it expires only in months", async () => {
  expect(await show(2 ** 33, { send: [noAnswer()] })).toEqual({ error: undefined, sent: ["evt_1", "evt_1"] });
});

test("an ephemeral message is not sent again after it has expired", async () => {
  const shown = show(100, { send: [noAnswer(), noAnswer()] });
  // The time limit must still apply after a garbage collection during the wait.
  await new Promise(setImmediate);
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { error, sent } = await shown;
  expect(error).toMatchObject({ name: "AbortError" });
  expect(sent).toEqual(["evt_1"]);
});
