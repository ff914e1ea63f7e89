import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { makeCertificate } from "../../deploy/local/certificate";
import { createOperator } from "../../deploy/local/operator";
import { startTargetUrlSwitch } from "../../deploy/local/target-url-switch";
import { startDashboardEdge } from "./dashboard";
import { startGame } from "./game-chat";
import { freePort, startCore, startProcess, TOKENS, type TestProcess } from "./processes";
import { createWorkspace, startService } from "./service";

export type DemoChat = Awaited<ReturnType<typeof startDemoChat>>;

/**
 * Starts a dashboard that the chat signs its members in to. Core reads its tokens only when it starts, so the dashboard
 * gets a separate core, which accepts the chat's token.
 *
 * @param core the settings of the other core
 */
async function startDashboard(
  redisUrl: string,
  core: Record<string, string>,
  workspaceId: string,
  chatUrl: string,
) {
  const token = randomBytes(16).toString("hex");
  const roles = [...Object.entries(TOKENS), [`operator:demo-chat@${workspaceId}`, token]];
  const ofDashboard = await startCore(redisUrl, {
    ...core,
    CORE_TOKENS: roles.map((each) => each.join("=")).join(),
  });
  const settings = { DEMO_WORKSPACE_ID: workspaceId, DEMO_CHAT_URL: chatUrl };
  const { edge, url } = await startDashboardEdge(ofDashboard.port, settings);
  return { url, token, stop: () => Promise.all([edge.stop(), ofDashboard.stop()]) };
}

/**
 * Starts the demo chat, the service and the game as real processes. Also starts the target URL switch, a socket on
 * which the chat requests polls or pushes. With `hasDashboard`, also starts a dashboard for the chat.
 */
export async function startDemoChat(
  game: Record<string, string> = {},
  settings: Record<string, string> = {},
  hasDashboard = false,
) {
  const folder = mkdtempSync(join(tmpdir(), "cb-chat-"));
  const { certPath = "", keyPath = "" } = (await makeCertificate(folder, "127.0.0.1")) ?? {};
  const core = { PUSH_ALLOW: "127.0.0.1/32", PUSH_CA: certPath };
  const service = await startService({ core });
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
  const listen = hasDashboard ? `127.0.0.1:${await freePort()}` : "127.0.0.1:0";
  const dashboard = hasDashboard
    ? await startDashboard(service.redis.url, core, workspaceId, `http://${listen}`)
    : undefined;
  const started: TestProcess[] = [];
  async function startChat() {
    const chat = await startProcess("demo/chat", {
      BASE_URL: service.url,
      WORKSPACE_ID: workspaceId,
      SIGNING_SECRET: workspace.secret,
      CHAT_LISTEN: listen,
      ...(dashboard && { DASHBOARD_URL: dashboard.url, DASHBOARD_TOKEN: dashboard.token }),
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
    /** URL of the chat's dashboard; "" without a dashboard. */
    dashboardUrl: dashboard?.url ?? "",
    url: `http://127.0.0.1:${chat.port}`,
    /** Starts another chat on the same workspace. The previous chat must have stopped. */
    startAgain: startChat,
    async close() {
      await Promise.all([...started, trivia].map((each) => each.stop()));
      await dashboard?.stop();
      await modeSwitch.close();
      operator.close();
      await service.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
