import { createCatchUp } from "../../../catch-up";
import { createReceiver } from "../../../receiver";
import { chatCalls, createMemoryChat, listen, SECRET, type RunningBridge } from "./memory-chat";

/** Starts a bridge that is built with the kit. Only the four calls to the chat are the bridge's own code. */
export function startKitBridge(): Promise<RunningBridge> {
  const chat = createMemoryChat();
  const catchUp = createCatchUp({ chat: chatCalls(chat) });
  const receiver = createReceiver({ secrets: SECRET, handle: catchUp.handleEvent });
  return listen(chat, receiver.handler, async () => {
    await receiver.close();
    await catchUp.close();
  });
}
