import { createInterface } from "node:readline";
import { choiceLines, dmChannel, toPlainText, type BridgeChat, type Message } from "chat-bridge-kit";

/** A message that the chat shows, in the format of `chat-bridge-check --observe`. */
export interface ShownPost {
  readonly channel: string;
  /** The only user who sees the message; null for all. */
  readonly to: string | null;
  readonly text: string;
  readonly image: string | null;
  readonly buttons: readonly string[];
}

/** Maximum number of messages that the chat keeps. */
const POSTS_MOST = 1_000;

/** Opens a chat in the terminal, whose only member is the user: prints what the bridge shows, and reads typed lines. */
export function openTerminalChat() {
  const posts = new Map<string, ShownPost>();

  function show(id: string, channel: string, to: string | null, message: Message): string {
    const { text, image, buttons } = message;
    console.log([`[${channel}] ${toPlainText(text)}`, ...choiceLines(buttons)].join("\n  "));
    posts.set(id, { channel, to, text, image, buttons: buttons.flat().map(({ label }) => label) });
    for (const oldest of posts.keys()) {
      if (posts.size <= POSTS_MOST) break;
      posts.delete(oldest);
    }
    return id;
  }

  // The event's id is also the chat's id for the message, so a repeated call shows the message only once.
  const chat: BridgeChat = {
    post: async ({ id, channel, message }) => show(id, channel, null, message),
    dm: async ({ id, user, message }) => show(id, dmChannel(user), null, message),
    ephemeral: async ({ id, channel, user, message }) => show(id, channel, user, message),
    update: async ({ chatMessageId, channel, message }) => show(chatMessageId, channel, null, message),
  };

  const lines = createInterface({ input: process.stdin });
  return {
    chat,
    /** Returns the messages that the chat shows, oldest first. */
    shown: (): readonly ShownPost[] => [...posts.values()],
    onLine: (report: (line: string) => void) => void lines.on("line", report),
    close: () => lines.close(),
  };
}
