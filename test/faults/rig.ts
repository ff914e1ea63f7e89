import { promisify } from "node:util";
import { send } from "../harness/bridge";
import { startNames, type TestNames } from "../harness/names";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { pushEnvironment } from "../harness/push";
import { startReceiver, type Receiver } from "../harness/receiver";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, type CoreClients } from "../harness/core-clients";
import { createTestCa } from "../harness/test-ca";
import { HANG_MS } from "../harness/wait";

/** A core or an edge that can be killed and comes back at its ports. */
export interface Member {
  readonly port: number;
  readonly process: TestProcess;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** What its probe of readiness says. */
  readiness(): Promise<{ readonly status: number; readonly reason: string }>;
}

export interface Core extends Member {
  readonly clients: CoreClients;
}

/** The whole service in real processes, with a bridge that is pushed to, made to be broken. */
export interface Rig {
  readonly cores: readonly Core[];
  readonly edges: readonly Member[];
  readonly names: TestNames;
  readonly receiver: Receiver;
  /** Under which the bridge is pushed to. */
  readonly bridgeName: string;
  /** All that cores logged, those that are gone included. */
  coreLog(): readonly Record<string, unknown>[];
  close(): Promise<void>;
}

export interface RigOptions {
  /** Where Redis is. */
  readonly redisUrl: string;
  readonly cores?: number;
  readonly edges?: number;
  readonly settings?: Readonly<Record<string, string>>;
  /** Settings of one core, by its place. */
  readonly settingsOf?: (place: number) => Readonly<Record<string, string>>;
}

const BRIDGE = "bridge.test";

export async function startRig(options: RigOptions): Promise<Rig> {
  const closers: (() => unknown)[] = [];
  const log: (readonly Record<string, unknown>[])[] = [];
  async function close(): Promise<void> {
    for (const each of closers.splice(0).toReversed()) await each();
  }
  try {
    const ca = createTestCa();
    closers.push(() => ca.close());
    const names = await startNames({ [BRIDGE]: ["127.0.0.1"] });
    closers.push(() => names.close());
    const receiver = await startReceiver({ certificate: ca.issue([BRIDGE]), names: [BRIDGE] });
    closers.push(() => receiver.close());
    const settings = { ...pushEnvironment(ca, names.server), ...options.settings };
    const places = (count: number): readonly number[] => Array.from({ length: count }, (_, place) => place);
    const cores: readonly Core[] = await Promise.all(
      places(options.cores ?? 2).map(async (place) => {
        const own = { ...settings, ...options.settingsOf?.(place) };
        const member = await startMember(
          (listen) => startCore(options.redisUrl, { ...own, CORE_LISTEN: listen }),
          (process) => log.push(process.log),
        );
        const clients = connectToCore(member.port);
        closers.push(member.kill, clients.close);
        return Object.assign(member, { clients });
      }),
    );
    const CORE_ADDRESS = `ipv4:${cores.map(({ port }) => `127.0.0.1:${port}`).join(",")}`;
    const edges = await Promise.all(
      places(options.edges ?? 2).map(async () => {
        const member = await startMember((listen) => startEdge(0, { CORE_ADDRESS, EDGE_LISTEN: listen }));
        closers.push(member.kill);
        return member;
      }),
    );
    return { cores, edges, names, receiver, bridgeName: BRIDGE, coreLog: () => log.flat(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A Redis and the service over it. */
export async function startRigOnRedis(
  options: Omit<RigOptions, "redisUrl"> = {},
): Promise<{ readonly rig: Rig; readonly redis: TestRedis }> {
  const redis = await startTestRedis();
  try {
    const rig = await startRig({ ...options, redisUrl: redis.url });
    const close = async (): Promise<void> => {
      await rig.close();
      await redis.close();
    };
    return { rig: { ...rig, close }, redis };
  } catch (error) {
    await redis.close();
    throw error;
  }
}

async function startMember(
  start: (listen: string) => Promise<TestProcess>,
  began: (process: TestProcess) => void = () => undefined,
): Promise<Member> {
  const port = await freePort();
  let process = await start(`127.0.0.1:${port}`);
  began(process);
  return {
    port,
    get process() {
      return process;
    },
    async kill() {
      process.child.kill("SIGCONT");
      await process.stop("SIGKILL");
    },
    async start() {
      process = await start(`127.0.0.1:${port}`);
      began(process);
    },
    async readiness() {
      const { status, json } = await send(`http://127.0.0.1:${process.healthPort}`, "/ready");
      return { status, reason: (json as { reason?: string }).reason ?? "" };
    },
  };
}

/** Waits until calls reach a core, which may have been killed and be back only now. */
export async function untilConnected({ clients }: Core): Promise<void> {
  for (const client of [clients.workspaces, clients.games])
    await promisify(client.waitForReady.bind(client))(Date.now() + HANG_MS);
}
