import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../deploy/local/certificate";
import { createOperator } from "../../deploy/local/operator";
import { startTargetUrlSwitch } from "../../deploy/local/target-url-switch";
import { startGame } from "./game-chat";
import { freePort, startProcess, TOKENS, type TestProcess } from "./processes";
import { createWorkspace, startService } from "./service";

export type DemoChat = Awaited<ReturnType<typeof startDemoChat>>;

/**
 * Starts the demo chat, the service and the game as real processes. Also starts the target URL switch, with which the
 * chat switches between polls and pushes.
 */
export async function startDemoChat(
  game: Record<string, string> = {},
  settings: Record<string, string> = {},
) {
  const folder = mkdtempSync(join(tmpdir(), "cb-chat-"));
  const { certPath = "", keyPath = "" } = (await makeCertificate(folder, "127.0.0.1")) ?? {};
  const service = await startService({
    core: { PUSH_ALLOW: "127.0.0.1/32", PUSH_CA: certPath },
  });
  const workspace = await createWorkspace(service.clients);
  const trivia = await startGame(service.core.port, game);
  // The only origin from which the page may load images.
  const picturesUrl = `http://127.0.0.1:${trivia.port}`;
  const pushPort = await freePort();
  const targetUrl = `https://127.0.0.1:${pushPort}/pushes`;
  const operator = createOperator(`127.0.0.1:${service.core.port}`, TOKENS.operator);
  const socketPath = join(folder, "switch.sock");
  const workspaceId = workspace.id;
  const modeSwitch = await startTargetUrlSwitch({ socketPath, operator, workspaceId, targetUrl });
  const started: TestProcess[] = [];
  async function startChat() {
    const chat = await startProcess("demo/chat", {
      BASE_URL: service.url,
      WORKSPACE_ID: workspaceId,
      SIGNING_SECRET: workspace.secret,
      CHAT_LISTEN: "127.0.0.1:0",
      PUSH_LISTEN: `127.0.0.1:${pushPort}`,
      PUSH_TLS_CERT: certPath,
      PUSH_TLS_KEY: keyPath,
      MODE_SOCKET: socketPath,
      CHAT_HOSTS: "chat.test",
      IMAGE_SOURCES: picturesUrl,
      ...settings,
    });
    started.push(chat);
    return chat;
  }
  const chat = await startChat();
  return {
    service,
    workspace,
    chat,
    targetUrl,
    certPath,
    picturesUrl,
    url: `http://127.0.0.1:${chat.port}`,
    /** Starts another chat on the same workspace. The previous chat must have stopped. */
    startAgain: startChat,
    async close() {
      await Promise.all([...started, trivia].map((each) => each.stop()));
      await modeSwitch.close();
      operator.close();
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
