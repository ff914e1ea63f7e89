import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type TestProcess } from "./processes";
import { pushEnvironment } from "./push";
import { startService } from "./service";
import type { SharedProcess, SharedService } from "./shared-service";
import { createTestCa, type TestCa } from "./test-ca";

/** The services that test files share, one for each jest worker. */
export type SharedServices = Awaited<ReturnType<typeof startSharedServices>>;

/** Starts `count` services. Describes each service in an environment variable, which the jest workers inherit. */
export async function startSharedServices(count: number) {
  const folder = mkdtempSync(join(tmpdir(), "cb-shared-"));
  const ca = createTestCa();
  const workers = Array.from({ length: count }, (_, i) => String(i + 1));
  const services = await Promise.all(workers.map((worker) => startShared(folder, ca, worker)));
  return {
    async close() {
      await Promise.all(services.map((service) => service.close()));
      ca.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startShared(folder: string, ca: TestCa, worker: string): Promise<{ close(): Promise<void> }> {
  const nameServer = `127.0.0.1:${await freePort("udp4")}`;
  const service = await startService({
    core: pushEnvironment(ca, nameServer),
    edge: { DASHBOARD_LISTEN: "127.0.0.1:0" },
  });
  const { certPath, keyPath } = ca.issue(["*.bridge.test"]);
  const shared: SharedService = {
    redisUrl: service.redis.url,
    core: share(service.core, join(folder, `core-${worker}.log`)),
    edge: share(service.edge, join(folder, `edge-${worker}.log`)),
    nameServer,
    caFolder: ca.folder,
    certificate: { certPath, keyPath },
  };
  process.env[`SHARED_SERVICE_${worker}`] = JSON.stringify(shared);
  return service;
}

/** Writes all later output of a process to a file, so that every worker can read the output. */
function share({ port, healthPort, pid, child, log }: TestProcess, file: string): SharedProcess {
  // A worker may read the file immediately, before the stream would create it.
  writeFileSync(file, "");
  const stream = createWriteStream(file, { flags: "a" });
  child.stdout?.pipe(stream, { end: false });
  child.stderr?.pipe(stream, { end: false });
  const { dashboardPort } = log.find(({ msg }) => msg === "edge is ready") ?? {};
  return { port, healthPort, pid, file, dashboardPort: Number(dashboardPort) };
}
