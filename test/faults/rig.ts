import { send } from "../harness/bridge";
import { startNames, type TestNames } from "../harness/names";
import { freePort, startCore, startEdge, type TestProcess } from "../harness/processes";
import { pushEnvironment } from "../harness/push";
import { startReceiver, type Receiver } from "../harness/receiver";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, type CoreClients } from "../harness/service";
import { createTestCa } from "../harness/test-ca";

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
    const addMember = async (
      start: (listen: string) => Promise<TestProcess>,
      began: (process: TestProcess) => void = () => undefined,
    ): Promise<Member> => {
      const member = await startMember(start, began);
      closers.push(() => member.kill());
      return member;
    };

    const cores: Core[] = [];
    for (let place = 0; place < (options.cores ?? 2); place++) {
      const own = { ...settings, ...options.settingsOf?.(place) };
      const member = await addMember(
        (listen) => startCore(options.redisUrl, { ...own, CORE_LISTEN: listen }),
        ({ log: lines }) => log.push(lines),
      );
      const clients = connectToCore(member.port);
      closers.push(() => clients.close());
      cores.push(Object.assign(member, { clients }));
    }
    const addresses = cores.map(({ port }) => `127.0.0.1:${port}`).join(",");
    const edges: Member[] = [];
    for (let place = 0; place < (options.edges ?? 2); place++)
      edges.push(
        await addMember((listen) => startEdge(0, { CORE_ADDRESS: `ipv4:${addresses}`, EDGE_LISTEN: listen })),
      );
    return { cores, edges, names, receiver, bridgeName: BRIDGE, coreLog: () => log.flat(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A Redis and the service over it. */
export async function startRigOnRedis(
  options: Omit<RigOptions, "redisUrl"> & { readonly redisSettings?: readonly string[] } = {},
): Promise<{ readonly rig: Rig; readonly redis: TestRedis }> {
  const redis = await startTestRedis(options.redisSettings);
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
  began: (process: TestProcess) => void,
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
