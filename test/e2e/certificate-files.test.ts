import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { post } from "../harness/bridge";
import { startConsumer } from "../harness/consumer";
import { readMetrics, valueOf } from "../harness/metrics";
import { startCore, startEdge, TOKENS, type TestProcess } from "../harness/processes";
import type { TestWorkspace } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { createTestCa, type Certificate, type TestCa, CA_DAYS_VALID, DAYS_VALID } from "../harness/test-ca";
import { until } from "../harness/wait";
import { GameServiceClient } from "../../proto/gen/chatbridge/v1/game";
import { Certificates } from "../../runtime/certificates";
import { createGrpcClient } from "../../runtime/core-channel";

const NAMES = ["127.0.0.1"];
const READ_AGAIN = "certificates were read again";
const KEPT = "a file could not be read again";

const service = sharedService();
const cas: TestCa[] = [];
let ca: TestCa;
let folder: string;
let workspace: TestWorkspace;
let core: TestProcess;
let edge: TestProcess;

const inFolder = (name: string): string => join(folder, name);
const SERVER = { cert: "server.pem", key: "server.key", ca: "client-ca.pem" };
const CLIENT = { cert: "client.pem", key: "client.key", ca: "server-ca.pem" };

function newCa(): TestCa {
  const made = createTestCa();
  cas.push(made);
  return made;
}

/** Writes the files for one end of the connection: its certificate, its key, and the authorities that it trusts. */
function install(files: typeof SERVER, certificate: Certificate, ...trusted: readonly TestCa[]): void {
  copyFileSync(certificate.keyPath, inFolder(files.key));
  copyFileSync(certificate.certPath, inFolder(files.cert));
  writeFileSync(inFolder(files.ca), trusted.map(({ cert }) => cert.toString()).join(""));
}

beforeAll(async () => {
  workspace = await service.workspaces.make();
});
beforeEach(async () => {
  ca = newCa();
  folder = mkdtempSync(join(tmpdir(), "cb-certificates-"));
  install(SERVER, ca.issue(NAMES), ca);
  install(CLIENT, ca.issue(["edge.example"]), ca);
  core = await startCore(service.redis.url, {
    CORE_TLS_CERT: inFolder(SERVER.cert),
    CORE_TLS_KEY: inFolder(SERVER.key),
    CORE_TLS_CLIENT_CA: inFolder(SERVER.ca),
    REDIS_CA: ca.certPath,
  });
  edge = await startEdge(core.port, {
    CORE_TLS_CA: inFolder(CLIENT.ca),
    CORE_TLS_CERT: inFolder(CLIENT.cert),
    CORE_TLS_KEY: inFolder(CLIENT.key),
  });
});
afterEach(async () => {
  await edge.stop();
  await core.stop();
  rmSync(folder, { recursive: true });
  for (const each of cas.splice(0)) each.close();
});

const lines = (of: TestProcess, text: string) => of.log.filter(({ msg }) => String(msg).startsWith(text));
const logged = (of: TestProcess, text: string, count = 1) =>
  until(`${count} lines "${text}"`, () => lines(of, text).length >= count && lines(of, text).at(-1));
const send = async () => {
  const event = { type: "message", channel: "c", user: { id: "u" }, text: "hello" };
  return (await post(`http://127.0.0.1:${edge.port}`, workspace, event)).status;
};

/** Returns the fingerprint of the certificate that core presents to a new connection. */
function presented(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { port: core.port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"] },
      () => {
        resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
        socket.destroy();
      },
    );
    socket.on("error", reject);
  });
}

test("core presents a renewed certificate to new connections, and open connections stay open", async () => {
  const before = await presented();
  const certificates = new Certificates({ ca: ca.cert, ...ca.issue(["game.example"]) });
  const games = createGrpcClient(GameServiceClient, `127.0.0.1:${core.port}`, certificates);
  const consumer = await startConsumer(games, { group: "renewed" }, TOKENS.game).opened();
  install(SERVER, ca.issue(NAMES), ca);
  await logged(core, READ_AGAIN);
  expect(await presented()).not.toBe(before);
  expect(await send()).toBe(202);
  await consumer.sees(1);
  expect(consumer.end).toBeUndefined();
  consumer.cancel();
  games.close();
});

test("all certificates move to another authority while the processes run, and no request fails", async () => {
  const next = newCa();
  const statuses: number[] = [];
  const sent = async (count: number) => {
    for (let at = 0; at < count; at++) statuses.push(await send());
  };
  // Both ends first trust both authorities, then get new certificates, and then trust only the new authority.
  install(SERVER, ca.issue(NAMES), ca, next);
  install(CLIENT, ca.issue(["edge.example"]), ca, next);
  await Promise.all([logged(core, READ_AGAIN), logged(edge, READ_AGAIN), sent(20)]);
  install(SERVER, next.issue(NAMES), ca, next);
  install(CLIENT, next.issue(["edge.example"]), ca, next);
  await Promise.all([logged(core, READ_AGAIN, 2), logged(edge, READ_AGAIN, 2), sent(20)]);
  install(SERVER, next.issue(NAMES), next);
  install(CLIENT, next.issue(["edge.example"]), next);
  await Promise.all([logged(core, READ_AGAIN, 3), logged(edge, READ_AGAIN, 3), sent(20)]);
  expect(new Set(statuses)).toEqual(new Set([202]));
  // A new edge has no open connection, so its first request needs the new certificates.
  const fresh = await startEdge(core.port, {
    CORE_TLS_CA: inFolder(CLIENT.ca),
    CORE_TLS_CERT: inFolder(CLIENT.cert),
    CORE_TLS_KEY: inFolder(CLIENT.key),
  });
  await fresh.stop();
});

test.each<[string, () => void, RegExp]>([
  [
    "a certificate that does not fit its key",
    () => copyFileSync(ca.issue(NAMES).certPath, inFolder(SERVER.cert)),
    /^CORE_TLS_CERT is not valid, or does not fit the files beside it \(/,
  ],
  [
    "a text that is not a certificate",
    () => writeFileSync(inFolder(SERVER.cert), "none"),
    /^CORE_TLS_CERT is not valid: .* no valid certificate/,
  ],
  ["an expired certificate", () => install(SERVER, ca.issueExpired(NAMES), ca), /has expired$/],
])("core keeps its certificate if the file then contains %s", async (_what, spoil, why) => {
  const before = await presented();
  spoil();
  expect((await logged(core, KEPT))["why"]).toMatch(why);
  expect(await presented()).toBe(before);
  expect(await send()).toBe(202);
  install(SERVER, ca.issue(NAMES), ca);
  await logged(core, "the files are valid again");
  expect(await presented()).not.toBe(before);
});

test("core's metrics contain the time at which each certificate expires", async () => {
  const metric = "chatbridge_core_certificate_expires_seconds";
  const metrics = await readMetrics(core);
  const dayMs = 86_400_000;
  const validDays = { CORE_TLS_CERT: DAYS_VALID, CORE_TLS_CLIENT_CA: CA_DAYS_VALID, REDIS_CA: CA_DAYS_VALID };
  for (const [file, days] of Object.entries(validDays)) {
    const leftMs = valueOf(metrics, metric, `file="${file}"`) * 1_000 - Date.now();
    expect(leftMs).toBeGreaterThan((days - 1) * dayMs);
    expect(leftMs).toBeLessThanOrEqual(days * dayMs);
  }
});
