import { createBridge, storeInMemory, type BridgeOptions } from "../../index";
import type { BridgeChat } from "../../bridge-chat";

/** A call that a bridge made to the chat. */
export interface ChatCall {
  readonly call: "post" | "dm" | "update" | "ephemeral";
  readonly where: string;
  readonly text: string;
  readonly ids?: readonly string[];
}

/** Returns a chat that records all calls, and returns `chat-1`, `chat-2`, … as ids. */
export function recordingChat() {
  const calls: ChatCall[] = [];
  let ids = 0;
  const made = (): string => `chat-${++ids}`;
  const chat: BridgeChat = {
    async post({ channel, message }) {
      calls.push({ call: "post", where: channel, text: message.text });
      return made();
    },
    async dm({ user, message }) {
      calls.push({ call: "dm", where: user, text: message.text });
      return made();
    },
    async update({ channel, message, chatMessageIds }) {
      calls.push({ call: "update", where: channel, text: message.text, ids: chatMessageIds });
    },
    async ephemeral({ channel, user, message }) {
      calls.push({ call: "ephemeral", where: `${channel} ${user}`, text: message.text });
      return made();
    },
  };
  const texts = (): readonly string[] => calls.map(({ text }) => text);
  return { chat, calls: calls as readonly ChatCall[], texts };
}

const running = new Set<{ stop(): Promise<void> }>();

/** Stops all bridges that `makeBridge` has made. */
export async function stopBridges(): Promise<void> {
  for (const bridge of running) await bridge.stop();
  running.clear();
}

/** Makes a bridge with a recording chat and a store in memory. `problems` are the messages of reported problems. */
export function makeBridge(
  options: Partial<BridgeOptions> & Pick<BridgeOptions, "baseUrl" | "workspaceId" | "secrets">,
) {
  const recorded = recordingChat();
  const problems: string[] = [];
  const bridge = createBridge({
    chat: recorded.chat,
    store: storeInMemory(),
    report: ({ message }) => problems.push(message),
    ...options,
  });
  running.add(bridge);
  return { bridge, problems, ...recorded };
}
