import { createCatchUp } from "../../../catch-up";
import { createReceiver } from "../../../receiver";
import { createMemoryChat, listen, SECRET, type RunningBridge } from "./memory-chat";

/** Starts a bridge that is built with the kit. Only the four calls to the chat are the bridge's own code. */
export function startKitBridge(): Promise<RunningBridge> {
  const chat = createMemoryChat();
  const catchUp = createCatchUp({
    chat: {
      post: async ({ channel, message }) => chat.post(channel, message),
      dm: async ({ user, message }) => chat.post(`dm:${user}`, message),
      edit: async (id, { message }) => chat.edit(id, message),
      ephemeral: async ({ channel, user, message }) => void chat.post(channel, message, user),
    },
  });
  const receiver = createReceiver({ secrets: SECRET, handle: catchUp.handleEvent });
  return listen(chat, receiver.handler, async () => {
    await receiver.close();
    await catchUp.close();
  });
}
