import type { RequestListener, ServerResponse } from "node:http";
import type { Chat } from "../../../catch-up";
import type { Message } from "../../../events";
import { plainHost } from "../../../../test/harness/plain-host";

export const SECRET = "the secret of a bridge under test";

export type RunningBridge = Awaited<ReturnType<typeof listen>>;

export type MemoryChat = ReturnType<typeof createMemoryChat>;

/** Creates a chat that keeps its messages in memory. */
export function createMemoryChat() {
  const shown = new Map<string, object>();
  const channels = new Map<string, string>();
  const entry = ({ text, buttons, image }: Message) => ({
    text,
    image,
    buttons: buttons.flat().map(({ label }) => label),
  });
  return {
    post(channel: string, message: Message, to?: string) {
      const id = String(shown.size + 1);
      channels.set(id, channel);
      shown.set(id, { channel, ...entry(message), ...(to === undefined ? {} : { to }) });
      return id;
    },
    edit(id: string, message: Message) {
      shown.set(id, { channel: channels.get(id), ...entry(message) });
    },
    observe(response: ServerResponse) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ messages: [...shown.values()] }));
    },
  };
}

/** Returns the four calls to the chat that `createCatchUp` needs. */
export function chatCalls(chat: MemoryChat): Chat {
  return {
    post: async ({ channel, message }) => chat.post(channel, message),
    dm: async ({ user, message }) => chat.post(`dm:${user}`, message),
    edit: async (id, { message }) => chat.edit(id, message),
    ephemeral: async ({ channel, user, message }) => void chat.post(channel, message, user),
  };
}

/** Receives pushes at /events, and serves the messages of the chat at /observe. */
export async function listen(
  chat: MemoryChat,
  push: RequestListener,
  close: () => Promise<void> = () => Promise.resolve(),
) {
  const host = await plainHost((request, response) => {
    if (request.url === "/observe") chat.observe(response);
    else push(request, response);
  });
  return {
    url: new URL("/events", host.url),
    observe: new URL("/observe", host.url),
    async close() {
      await host.close();
      await close();
    },
  };
}
