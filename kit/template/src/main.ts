import { readFileSync } from "node:fs";
import { createBridge, folderStore, type ListenOptions } from "chat-bridge-kit";
import { serveShownMessages } from "./observe.js";
import { openTerminalChat } from "./terminal-chat.js";

const settings = process.env;
const { TLS_KEY: key, TLS_CERT: cert } = settings;

/** Where the bridge receives pushes. Without a certificate, only programs on this machine can connect. */
const listen: ListenOptions = {
  port: Number(settings["LISTEN_PORT"] || 8443),
  ...(key && cert ? { host: "::", key: readFileSync(key), cert: readFileSync(cert) } : {}),
};

// Replace terminal-chat.ts with the client of your chat.
const terminal = openTerminalChat();
const bridge = createBridge({
  baseUrl: settings["BASE_URL"] ?? "",
  workspaceId: settings["WORKSPACE_ID"] ?? "",
  secrets: settings["SIGNING_SECRET"] ?? "",
  store: folderStore(settings["STATE_FOLDER"] || "./state"),
  chat: terminal.chat,
  ...(settings["MODE"] === "push" ? { mode: "push", listen } : {}),
});
const observed = serveShownMessages(Number(settings["OBSERVE_PORT"] || 0), terminal.shown);

function stop(): void {
  terminal.close();
  observed?.close();
  void bridge.stop();
}
process.once("SIGINT", stop).once("SIGTERM", stop);

try {
  await bridge.start();
  console.log("connected: type !start for a command, #2 to press the second button, or any text");
  terminal.onLine((line) => void reportLine(line));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
  stop();
}

/** Reports a typed line as a command, a button press or a message. */
async function reportLine(line: string): Promise<void> {
  const user = { id: "u1", name: "Ada" };
  const channel = "terminal";
  if (line.startsWith("!")) await bridge.command({ channel, user, text: line.slice(1).trim() });
  else if (!line.startsWith("#")) await bridge.message({ channel, user, text: line });
  else {
    const result = await bridge.choose({ channel, user, number: Number(line.slice(1)) });
    if (result.outcome === "unknown-choice") console.log(`there are ${result.highest} buttons`);
  }
}
