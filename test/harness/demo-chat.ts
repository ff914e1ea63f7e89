import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../../local/certificate";
import { createOperator } from "../../local/operator";
import { startTargetUrlSwitch } from "../../local/target-url-switch";
import { startGame } from "./game-chat";
import { freePort, startProcess, TOKENS, type TestProcess } from "./processes";
import { createWorkspace, startService, type TestService, type TestWorkspace } from "./service";

/** The chat with all that it needs, in real processes: the service, the game, and the switch of its mode. */
export interface DemoChat {
  readonly service: TestService;
  readonly workspace: TestWorkspace;
  readonly chat: TestProcess;
  readonly targetUrl: string;
  /** The certificate that it is pushed to with, a PEM file. */
  readonly certPath: string;
  /** Where the game serves its pictures, the only place that the page takes images from. */
  readonly picturesUrl: string;
  /** http://127.0.0.1:port of the page. */
  readonly url: string;
  /** Starts another chat on the workspace, once the first has stopped. */
  startAgain(): Promise<TestProcess>;
  close(): Promise<void>;
}

export async function startDemoChat(
  game: Record<string, string> = {},
  settings: Record<string, string> = {},
): Promise<DemoChat> {
  const folder = mkdtempSync(join(tmpdir(), "cb-chat-"));
  const certificate = await makeCertificate(folder, "127.0.0.1");
  if (certificate === undefined) throw new Error("openssl is needed");
  const service = await startService({
    core: { PUSH_ALLOW: "127.0.0.1/32", PUSH_CA: certificate.certPath },
  });
  const workspace = await createWorkspace(service.clients);
  const trivia = await startGame(service.core.port, game);
  const pushPort = await freePort();
  const targetUrl = `https://127.0.0.1:${pushPort}/pushes`;
  const operator = createOperator(`127.0.0.1:${service.core.port}`, TOKENS.operator);
  const socketPath = join(folder, "switch.sock");
  const modeSwitch = await startTargetUrlSwitch({
    socketPath,
    operator,
    workspaceId: workspace.id,
    targetUrl,
  });
  const started: TestProcess[] = [];
  async function startChat(): Promise<TestProcess> {
    const chat = await startProcess("demo/chat", {
      BASE_URL: service.url,
      WORKSPACE_ID: workspace.id,
      SIGNING_SECRET: workspace.secret,
      CHAT_LISTEN: "127.0.0.1:0",
      PUSH_LISTEN: `127.0.0.1:${pushPort}`,
      PUSH_TLS_CERT: certificate?.certPath ?? "",
      PUSH_TLS_KEY: certificate?.keyPath ?? "",
      MODE_SOCKET: socketPath,
      CHAT_HOSTS: "chat.test",
      IMAGE_SOURCES: `http://127.0.0.1:${trivia.port}`,
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
    certPath: certificate.certPath,
    picturesUrl: `http://127.0.0.1:${trivia.port}`,
    url: `http://127.0.0.1:${chat.port}`,
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
