import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { startTestRedis } from "../harness/redis";
import { startRig, type Rig } from "../harness/rig";
import { createWorkspace } from "../harness/service";
import { until } from "../harness/wait";
import { nth } from "./clients";
import { survive } from "./fault";
import { brokenRequest, createRandom, fire, framedRequest } from "./fuzz";

let rig: Rig;
beforeEach(async () => {
  rig = await startRig(startTestRedis, { cores: 1, edges: 1 });
});
afterEach(() => rig.close());

const CONNECTIONS = 10_000;
/** The number of file descriptors that a process needs in addition to those of the test's connections. */
const OTHER_FILES = 1_000;
const OPEN_WITHIN_MS = 120_000;
function filesMax(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? 1_024);
}

test("while 10,000 connections send their requests byte by byte, other clients are answered", async () => {
  const count = Math.min(CONNECTIONS, filesMax() - OTHER_FILES);
  const port = nth(rig.edges, 0).port;
  const seen = new Int32Array(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
  const opened = (): number => seen[0] ?? 0;
  const most = (): number => seen[1] ?? 0;
  const ended = (): number => seen[2] ?? 0;
  const slow = new Worker(join(__dirname, "slow-loris.js"), { workerData: { port, count, seen } });
  try {
    await survive(rig, {
      name: `${count} slow-loris connections`,
      async happens({ grows }) {
        await until("the connections are open", () => opened() >= count, OPEN_WITHIN_MS);
        await grows();
        // The edge closes a connection if its request does not arrive in time.
        await until("the edge has closed the slow connections", () => ended() >= count, OPEN_WITHIN_MS);
        await grows();
        await slow.terminate();
      },
      notes: () => [
        `${opened()} connections in total, at most ${most()} at once, ${ended()} closed by the edge`,
      ],
    });
    expect(ended()).toBeGreaterThanOrEqual(count);
  } finally {
    await slow.terminate();
  }
});

const REQUESTS = 40_000;
const SEED = 20_261_121;
const FUZZERS = 24;
const VOLLEY = 10;
const WARM = 15_000;
/** Megabytes by which the memory of a process may grow after the first `WARM` requests. */
const GROWTH_MAX_MB = 48;

function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

test("40,000 malformed requests are answered without a 5xx, and the memory of each process stays bounded", async () => {
  const random = createRandom(SEED);
  const { clients } = nth(rig.cores, 0);
  const workspaces = await Promise.all(Array.from({ length: 32 }, () => createWorkspace(clients)));
  const processes = [...rig.edges, ...rig.cores].map((member) => member.process);
  const port = nth(rig.edges, 0).port;
  const byStatus = new Map<number, number>();
  let sent = 0;
  let warm: readonly number[] = [];

  async function fuzz(): Promise<void> {
    while (sent < REQUESTS) {
      const workspace = workspaces[random(workspaces.length)];
      if (workspace === undefined) continue;
      const framed = Array.from({ length: VOLLEY - 1 }, () => framedRequest(workspace, random));
      const from = `127.5.${random(4)}.${1 + random(250)}`;
      const volley = await fire(port, from, framed, brokenRequest(workspace, random));
      sent += volley.sent;
      for (const status of volley.statuses) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      if (sent >= WARM && warm.length === 0) warm = processes.map(({ pid }) => residentMb(pid));
    }
  }
  const growth = () => processes.map(({ pid }, i) => Math.round(residentMb(pid) - (warm[i] ?? 0)));
  const isBounded = (): boolean => Math.max(...growth()) < GROWTH_MAX_MB;
  let grown: readonly number[] = [];
  await survive(rig, {
    name: "40,000 malformed requests",
    workspaces: 2,
    async happens() {
      await Promise.all(Array.from({ length: FUZZERS }, fuzz));
    },
    async notes() {
      // The test waits until garbage has been collected, so that only leaks count.
      await until("memory is freed", isBounded).catch(() => undefined);
      grown = growth();
      const answers = [...byStatus].map(([status, count]) => `${count} × ${status}`);
      return [
        `${sent} requests sent with seed ${SEED}; answers: ${answers.join(", ")}`,
        `memory grew by ${grown.join(" and ")} MB (edge and core); the limit is ${GROWTH_MAX_MB} MB`,
      ];
    },
  });
  expect([...byStatus.keys()].filter((status) => status >= 500)).toEqual([]);
  expect(byStatus.get(400)).toBeGreaterThan(REQUESTS / 4);
  expect(Math.max(...grown)).toBeLessThan(GROWTH_MAX_MB);
});
