import { promisify } from "node:util";
import { send } from "./bridge";
import { connectToCore, type CoreClients } from "./core-clients";
import { startNames } from "./names";
import { freePort, startCore, startEdge, type LogLine, type TestProcess } from "./processes";
import { pushEnvironment } from "./push";
import { startReceiver } from "./receiver";
import type { TestRedis } from "./redis";
import { createTestCa } from "./test-ca";
import { HANG_MS } from "./wait";

/** A core or an edge that can be killed and restarted on the same port. */
export type Member = Awaited<ReturnType<typeof startMember>>;
export type Core = Member & { readonly clients: CoreClients };

type RigRedis = Pick<TestRedis, "url" | "close">;

interface RigOptions {
  readonly cores?: number;
  readonly edges?: number;
  readonly settings?: Readonly<Record<string, string>>;
  readonly settingsOf?: (place: number) => Readonly<Record<string, string>>;
  /**
   * The folder of the built release that all cores run, or one folder for each core; by default, the release under
   * test.
   */
  readonly release?: string | readonly string[];
  /** The folder or folders of the release that the edges run; by default, the value of `release`. */
  readonly edgeRelease?: string | readonly string[];
}

export type Rig<R extends RigRedis = RigRedis> = Awaited<ReturnType<typeof startRig<R>>>;

const BRIDGE = "bridge.test";

/**
 * Starts the whole service as real processes, with a bridge that receives pushes. Tests can kill, suspend or restart
 * each process.
 */
export async function startRig<R extends RigRedis>(startRedis: () => Promise<R>, options: RigOptions = {}) {
  const closers: (() => unknown)[] = [];
  const log: (readonly LogLine[])[] = [];
  async function close(): Promise<void> {
    for (const each of closers.splice(0).toReversed()) await each();
  }
  try {
    const redis = await startRedis();
    closers.push(() => redis.close());
    const ca = createTestCa();
    closers.push(() => ca.close());
    const names = await startNames({ [BRIDGE]: ["127.0.0.1"] });
    closers.push(() => names.close());
    const receiver = await startReceiver({ certificate: ca.issue([BRIDGE]), names: [BRIDGE] });
    closers.push(() => receiver.close());
    const settings = { ...pushEnvironment(ca, names.server), ...options.settings };
    const places = (count = 2): readonly number[] => Array.from({ length: count }, (_, place) => place);
    const cores: readonly Core[] = await Promise.all(
      places(options.cores).map(async (place) => {
        const own = { ...settings, ...options.settingsOf?.(place) };
        const member = await startMember(
          (listen, release) => startCore(redis.url, { ...own, CORE_LISTEN: listen }, release),
          releaseAt(options.release, place),
          (process) => log.push(process.log),
        );
        const clients = connectToCore(member.port);
        closers.push(member.kill, clients.close);
        return Object.assign(member, { clients });
      }),
    );
    const CORE_ADDRESS = `ipv4:${cores.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
    const edges: readonly Member[] = await Promise.all(
      places(options.edges).map(async (place) => {
        const member = await startMember(
          (listen, release) => startEdge(0, { CORE_ADDRESS, EDGE_LISTEN: listen }, "ready", release),
          releaseAt(options.edgeRelease ?? options.release, place),
        );
        closers.push(member.kill);
        return member;
      }),
    );
    return {
      redis,
      cores,
      edges,
      ca,
      names,
      receiver,
      /** The host name of the bridge's target URL. */
      bridgeName: BRIDGE,
      /** Returns the log lines of all cores, including killed cores. */
      coreLog: (): readonly LogLine[] => log.flat(),
      /** Whether the `/ready` probes of all cores answer with 200. */
      async areReady() {
        const answers = await Promise.all(cores.map((core) => core.readiness()));
        return answers.every(({ status }) => status === 200);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function releaseAt(releases: RigOptions["release"], place: number): string | undefined {
  return typeof releases === "object" ? releases[place] : releases;
}

/** Starts a rig for all tests of a file, and closes the rig after the tests. */
export function testRig<R extends RigRedis>(startRedis: () => Promise<R>, options?: RigOptions): Rig<R> {
  const rig = {} as Rig<R>;
  beforeAll(async () => void Object.assign(rig, await startRig(startRedis, options)));
  afterAll(() => rig.close());
  return rig;
}

async function startMember(
  start: (listen: string, release?: string) => Promise<TestProcess>,
  firstRelease?: string,
  began: (process: TestProcess) => void = () => undefined,
) {
  const port = await freePort();
  let process = await start(`127.0.0.1:${port}`, firstRelease);
  began(process);
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    get process() {
      return process;
    },
    async kill() {
      process.child.kill("SIGCONT");
      await process.stop("SIGKILL");
    },
    /** Stops the process gracefully, and returns its exit code. */
    stop: () => process.stop(),
    /** Restarts the process, by default with the release under test. */
    async start(release?: string) {
      process = await start(`127.0.0.1:${port}`, release);
      began(process);
    },
    /** Returns the status and the reason of the process's `/ready`. */
    async readiness() {
      const { status, json } = await send(`http://127.0.0.1:${process.healthPort}`, "/ready");
      return { status, reason: (json as { reason?: string }).reason ?? "" };
    },
  };
}

/** Waits until the clients are connected to a core, e.g. after a restart. */
export async function untilConnected({ clients }: Core): Promise<void> {
  for (const client of [clients.workspaces, clients.games])
    await promisify(client.waitForReady.bind(client))(Date.now() + HANG_MS);
}
