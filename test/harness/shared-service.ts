import { readFileSync, statSync } from "node:fs";
import type { LogLine, RunningProcess } from "./processes";
import { call, connectToCore, type CoreClients } from "./core-clients";
import type { Service, TestWorkspace } from "./service";
import { createWorkspaceApi } from "./workspace-api";

/** The description of a shared process, as stored in an environment variable of the jest workers. */
export interface SharedProcess {
  readonly port: number;
  readonly healthPort: number;
  readonly pid: number;
  readonly file: string;
  readonly dashboardPort: number;
}

/** The description of a shared service, as stored in an environment variable of the jest workers. */
export interface SharedService {
  readonly redisUrl: string;
  readonly core: SharedProcess;
  readonly edge: SharedProcess;
  /** The address of core's name server. A test file that needs host names starts a name server at this address. */
  readonly nameServer: string;
  readonly caFolder: string;
  /** The files of a certificate for every name under bridge.test. */
  readonly certificate: { readonly certPath: string; readonly keyPath: string };
}

/**
 * The service that all test files of this worker share: Redis, a core that may push to loopback, and an edge with the
 * dashboard. Each test file or test uses its own workspaces, so files and tests do not affect each other. A file that
 * stops, kills or configures a part of the service starts a separate service with `startService`.
 */
export function sharedService() {
  const { redisUrl, core, edge } = readSharedService();
  const clients = connectToCore(core.port);
  beforeAll(() => deleteGroups(clients));
  afterAll(() => clients.close());
  return {
    redis: { url: redisUrl },
    core: attach(core),
    edge: attach(edge),
    clients,
    workspaces: createWorkspaceApi(clients.workspaces),
    url: `http://127.0.0.1:${edge.port}`,
    dashboardUrl: `http://127.0.0.1:${edge.dashboardPort}`,
  };
}

/**
 * Deletes the groups of earlier test files. Otherwise, the files of a worker could exceed the number of groups that a
 * token may have.
 */
async function deleteGroups({ workspaces }: CoreClients): Promise<void> {
  const { groups } = await call(workspaces, workspaces.listGroups, {});
  const idle = groups.filter(({ streams }) => streams === 0);
  await Promise.all(idle.map(({ name }) => call(workspaces, workspaces.deleteGroup, { name })));
}

/**
 * Returns an object, and registers a hook that creates a workspace and stores its id and secret in this object. The
 * hook runs before all tests of the file, or before each test.
 */
export function freshWorkspace({ workspaces }: Service, before: jest.Lifecycle = beforeAll): TestWorkspace {
  const workspace = { id: "", secret: "" };
  before(async () => void Object.assign(workspace, await workspaces.make()));
  return workspace;
}

/** Reads the description of this worker's service from the environment. Throws when no service was started. */
export function readSharedService(): SharedService {
  const text = process.env[`SHARED_SERVICE_${process.env["JEST_WORKER_ID"] ?? "1"}`];
  if (text === undefined) throw new Error("no shared service is running: see test/harness/global-setup.ts");
  return JSON.parse(text) as SharedService;
}

function attach({ file, ...process }: SharedProcess): RunningProcess {
  const from = statSync(file).size;
  /** Returns the complete lines that were written since the call of `attach`. */
  const lines = () => readFileSync(file).subarray(from).toString().split("\n").slice(0, -1);
  return {
    ...process,
    get log() {
      return lines().flatMap((line) => (line.startsWith("{") ? [JSON.parse(line) as LogLine] : []));
    },
    get errors() {
      const others = lines().filter((line) => line !== "" && !line.startsWith("{"));
      return others.join("\n");
    },
  };
}
