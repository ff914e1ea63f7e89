import { chromium } from "playwright-core";
import { findChromium } from "../programs/apt";
import { HANG_MS } from "./wait";

const ARGUMENTS =
  "--no-sandbox --headless --disable-gpu --disable-background-networking --disable-component-update --disable-sync --no-first-run --disable-quic --in-process-gpu --renderer-process-limit=1 --disable-software-rasterizer";

/** The browsers that test files share, one for each jest worker. */
export interface SharedBrowsers {
  close(): Promise<void>;
}

/**
 * Starts `count` browsers. Stores each browser's address in an environment variable, which the jest workers inherit.
 */
export async function startSharedBrowsers(count: number): Promise<SharedBrowsers> {
  const workers = Array.from({ length: count }, (_, i) => String(i + 1));
  const executablePath = count > 0 ? await findChromium() : "";
  const servers = await Promise.all(
    workers.map(async (worker) => {
      const server = await chromium.launchServer({
        executablePath,
        args: ARGUMENTS.split(" "),
        timeout: HANG_MS,
      });
      process.env[`BROWSER_${worker}`] = server.wsEndpoint();
      return server;
    }),
  );
  return { close: async () => void (await Promise.all(servers.map((server) => server.close()))) };
}

/** Connects to this worker's browser. Throws when no browser was started. */
export function connectToBrowser() {
  const address = process.env[`BROWSER_${process.env["JEST_WORKER_ID"] ?? "1"}`];
  if (address === undefined) throw new Error("no browser is running: see test/harness/global-setup.ts");
  return chromium.connect(address, { timeout: HANG_MS });
}
