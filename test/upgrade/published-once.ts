import { published } from "../harness/contents";
import { publish, textEvent } from "../harness/service";
import type { Fill } from "./contents";

/** Idempotency keys: a repeated publication gets the first answer. */
export const keys: Fill = async ({ workspaces, clients, bridge }) => {
  const polls = await workspaces.make({ name: "keys of a poll workspace" });
  const pushes = await workspaces.make({
    name: "keys of a push workspace",
    targetUrl: bridge.urlOf("contents.test"),
  });
  let keysSoFar = 0;
  const first: { readonly ask: () => ReturnType<typeof publish>; readonly answer: object }[] = [];
  const send = async (id: string): Promise<void> => {
    const idempotencyKey = `key ${keysSoFar++}`;
    const ask = () => publish(clients, { ...textEvent(id, idempotencyKey), idempotencyKey });
    const [result] = await ask();
    first.push({ ask, answer: { ...published(result), repeated: true } });
  };
  const sendAll = async (): Promise<void> => {
    for (const { id } of [polls, polls, pushes, pushes]) await send(id);
  };
  await sendAll();
  return {
    async check() {
      for (const { ask, answer } of first) {
        const [result] = await ask();
        expect(published(result)).toEqual(answer);
      }
    },
    add: sendAll,
  };
};
