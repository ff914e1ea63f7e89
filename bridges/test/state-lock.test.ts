import { once } from "node:events";
import { mkdtempSync, symlinkSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { testFolder } from "../../test/harness/folder";
import { startBridgeProcess, type BridgeProcess } from "../common/test/bridge-process";

const folder = testFolder();

/** A server that counts its connections. The service and the chat of a bridge can both be at this address. */
const server = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let connections = 0;
let port = 0;
beforeAll(async () => {
  await once(server.listen(0, "127.0.0.1"), "listening");
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => server.close());

const settingsOf = (stateFolder: string, port_ = 1) => ({
  BASE_URL: `http://127.0.0.1:${port_}`,
  WORKSPACE_ID: "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f",
  SIGNING_SECRET: "a signing secret",
  STATE_FOLDER: stateFolder,
  IRC_HOST: "127.0.0.1",
  IRC_PORT: String(port_),
  IRC_TLS: "off",
  IRC_CHANNELS: "games",
  MATRIX_HOMESERVER: `http://127.0.0.1:${port_}`,
  MATRIX_ACCESS_TOKEN: "an access token",
});
const isRunning = (name: string): string => `chat-bridge-${name} is running`;

describe.each(["irc", "matrix"] as const)("the bridge for %s", (name) => {
  test("a second process with the same state folder exits before it connects, and says which process to stop", async () => {
    const state = mkdtempSync(join(folder, "state-"));
    const link = `${state}-link`;
    symlinkSync(state, link);
    const first = startBridgeProcess(name, settingsOf(state));
    await first.logs(isRunning(name));
    for (const path of [state, link]) {
      const second = startBridgeProcess(name, settingsOf(path, port));
      expect(await second.exited).toBe(78);
      expect(second.errors).toContain(
        `cannot start: another process (pid ${first.pid}) uses STATE_FOLDER ${path}: stop it; a bridge for another workspace needs its own STATE_FOLDER`,
      );
      expect(second.errors).not.toContain("invalid");
    }
    expect(connections).toBe(0);
    await first.stop("SIGKILL");
    const next = startBridgeProcess(name, settingsOf(state));
    await next.logs(isRunning(name));
    expect(await next.stop()).toBe(0);
  });

  test("of two processes that start at the same time, exactly one runs", async () => {
    const state = join(mkdtempSync(join(folder, "state-")), "long".repeat(25));
    const both = [0, 1].map(() => startBridgeProcess(name, settingsOf(state)));
    const outcome = (bridge: BridgeProcess): Promise<unknown> =>
      Promise.race([bridge.exited, bridge.logs(isRunning(name)).catch(() => bridge.exited)]);
    const outcomes = await Promise.all(both.map(outcome));
    expect(outcomes.filter((each) => each === 78)).toHaveLength(1);
    expect(outcomes.filter((each) => (each as { msg?: string }).msg === isRunning(name))).toHaveLength(1);
    await Promise.all(both.map((bridge) => bridge.stop("SIGKILL")));
  });
});
