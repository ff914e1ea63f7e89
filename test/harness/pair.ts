import { send } from "./bridge";
import { startNames, type TestNames } from "./names";
import { startCore, startEdge, type TestProcess } from "./processes";
import { pushEnvironment } from "./push";
import { connectToCore, type CoreClients } from "./core-clients";
import { createTestCa, type TestCa } from "./test-ca";

/** Two cores on one Redis, and two edges that go to both, so that what goes in by one can be looked for at the other. */
export interface TestPair {
  readonly cores: readonly [TestProcess, TestProcess];
  readonly clients: readonly [CoreClients, CoreClients];
  /** http://127.0.0.1:port of the edges. */
  readonly urls: readonly [string, string];
  readonly ca: TestCa;
  readonly names: TestNames;
  /** Whether both cores say that they are ready. */
  areReady(): Promise<boolean>;
  close(): Promise<void>;
}

export async function startPair(
  redisUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<TestPair> {
  const ca = createTestCa();
  const closers: (() => unknown)[] = [() => ca.close()];
  async function close(): Promise<void> {
    for (const each of closers.splice(0)) await each();
  }
  try {
    const names = await startNames();
    closers.unshift(() => names.close());
    const settings = { ...pushEnvironment(ca, names.server), ...environment };
    const start = async (starting: Promise<TestProcess>): Promise<TestProcess> => {
      const started = await starting;
      closers.unshift(() => started.stop());
      return started;
    };
    const cores = [
      await start(startCore(redisUrl, settings)),
      await start(startCore(redisUrl, settings)),
    ] as const;
    const both = { CORE_ADDRESS: `ipv4:127.0.0.1:${cores[0].port},127.0.0.1:${cores[1].port}` };
    const edges = [
      await start(startEdge(cores[0].port, both)),
      await start(startEdge(cores[1].port, both)),
    ] as const;
    const clients = [connectToCore(cores[0].port), connectToCore(cores[1].port)] as const;
    for (const each of clients) closers.unshift(() => each.close());
    return {
      cores,
      clients,
      urls: [`http://127.0.0.1:${edges[0].port}`, `http://127.0.0.1:${edges[1].port}`],
      ca,
      names,
      areReady: async () => (await Promise.all(cores.map(isReady))).every(Boolean),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function isReady({ healthPort }: TestProcess): Promise<boolean> {
  return (await send(`http://127.0.0.1:${healthPort}`, "/ready")).status === 200;
}
