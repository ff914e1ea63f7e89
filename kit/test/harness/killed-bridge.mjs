/**
 * A bridge that tests kill. The file CHAT is its chat: each call appends a line with the call, the id of the event and
 * the text. With CHAT_WAITS=1, the chat never answers a call. The chat refuses messages in the channel CHAT_REFUSES.
 * The bridge receives pushes on PORT; without PORT, it polls BASE_URL.
 */
import { appendFileSync } from "node:fs";

// The check of allowed imports also runs before the first build, when this file does not exist. So the import is
// dynamic.
const built = new URL("../../../dist/kit/index.js", import.meta.url);
const { createBridge, folderStore } = await import(built.href);

const { PORT, STATE_FOLDER, WORKSPACE_ID, SIGNING_SECRET, CHAT, CHAT_WAITS, CHAT_REFUSES } = process.env;
const { BASE_URL = "http://127.0.0.1:9" } = process.env;

const show = (call) => async (event) => {
  appendFileSync(CHAT, `${call} waits ${event.id}\n`);
  if (CHAT_REFUSES !== undefined && event.channel === CHAT_REFUSES) throw new Error("the chat says no");
  if (CHAT_WAITS === "1") await new Promise(() => undefined);
  appendFileSync(CHAT, `${call} ${event.id} ${event.message.text}\n`);
  return event.id;
};

const bridge = createBridge({
  baseUrl: BASE_URL,
  workspaceId: WORKSPACE_ID,
  secrets: SIGNING_SECRET,
  store: folderStore(STATE_FOLDER),
  ...(PORT === undefined ? {} : { mode: "push", listen: { port: Number(PORT) } }),
  chat: {
    post: show("post"),
    dm: show("dm"),
    update: async (event) => void (await show("update")(event)),
    ephemeral: async (event) => void (await show("ephemeral")(event)),
  },
  report: ({ message }) => process.stderr.write(`${message}\n`),
});
process.once("SIGTERM", () => bridge.stop());
await bridge.start();
process.stdout.write("connected\n");
