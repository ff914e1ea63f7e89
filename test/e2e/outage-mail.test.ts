import { poll } from "../harness/bridge";
import { startMailServer, type TestMailServer } from "../harness/mail-server";
import { readMetrics, valueOf } from "../harness/metrics";
import { openPollDue, type PollDue } from "../harness/poll-due";
import { startCore, startEdge, type TestProcess } from "../harness/processes";
import { startTestRedis, type TestRedis } from "../harness/redis";
import { connectToCore, createWorkspace, publish, textEvent, type CoreClients } from "../harness/service";
import { until } from "../harness/wait";

const FIVE_MINUTES_MS = 5 * 60 * 1000;
const OWNER = "owner@customer.test";

let redis: TestRedis;
let mail: TestMailServer;
let due: PollDue;
let cores: TestProcess[];
let edge: TestProcess;
let clients: CoreClients;

function startMailingCore(): Promise<TestProcess> {
  return startCore(redis.url, { SMTP_URL: mail.url, MAIL_FROM: "Bridges <bridges@service.test>" });
}

beforeEach(async () => {
  redis = await startTestRedis();
  mail = await startMailServer();
  due = await openPollDue(redis);
  cores = [await startMailingCore()];
  edge = await startEdge(cores[0]?.port ?? 0);
  clients = connectToCore(cores[0]?.port ?? 0);
});
afterEach(async () => {
  clients.close();
  await edge.stop();
  await Promise.all(cores.map((core) => core.stop()));
  await due.close();
  await mail.close();
  await redis.close();
});

/** Workspaces whose events have waited for five minutes by now; they spread over the shards. */
async function startOutages(count: number) {
  const failing = [];
  for (let i = 0; i < count; i++) {
    const workspace = await createWorkspace(clients, { name: `games ${i}`, ownerEmail: `${i}-${OWNER}` });
    await publish(clients, textEvent(workspace.id, "hello"));
    failing.push(workspace);
  }
  await Promise.all(failing.map(({ id }) => due.pass(id, FIVE_MINUTES_MS)));
  return failing;
}

function recipients(): readonly string[] {
  return mail.messages.flatMap(({ to }) => to).toSorted();
}

async function everyCoreHasLookedAgain(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3_000));
}

/** Passes when nothing more comes for as long as every core has looked at all its shards again. */
async function expectNoMore(count: number): Promise<void> {
  await everyCoreHasLookedAgain();
  expect(recipients()).toHaveLength(count);
}

// contract: health-mail-once
test("the owner is e-mailed once per outage, and again in the next one", async () => {
  const [workspace] = await startOutages(1);
  if (workspace === undefined) throw new Error("no workspace");
  const [first] = await mail.waitFor(1);
  expect(first?.to).toEqual([`0-${OWNER}`]);
  expect(first?.raw).toContain("Subject: The bridge of games 0 has stopped polling");
  expect(first?.raw).toContain(workspace.id);
  expect(first?.raw).not.toContain(workspace.secret);
  await publish(clients, textEvent(workspace.id, "still waiting"));
  await expectNoMore(1);
  await poll(`http://127.0.0.1:${edge.port}`, workspace);
  await publish(clients, textEvent(workspace.id, "another outage"));
  await due.pass(workspace.id, FIVE_MINUTES_MS);
  await mail.waitFor(2);
  await expectNoMore(2);
}, 60_000);

// contract: health-mail-once
test("with three cores each owner is e-mailed once, also when one of them is killed at that moment", async () => {
  cores.push(await startMailingCore(), await startMailingCore());
  const outages = await startOutages(30);
  await mail.waitFor(1);
  await cores[2]?.stop("SIGKILL");
  await until("all are mailed", () => new Set(recipients()).size === outages.length, 20_000);
  await everyCoreHasLookedAgain();
  // A mail that was taken on but not yet recorded as sent when its core died may
  // come again; it is then the same mail, by its Message-ID.
  const ids = mail.messages.map(({ raw }) => /^Message-ID:\s*(<[^>]+>)/im.exec(raw)?.[1]);
  expect(new Set(ids).size).toBe(outages.length);
  expect(new Set(recipients()).size).toBe(outages.length);
}, 60_000);

test("mail waits for a mail server that is down, and for a core that restarts meanwhile", async () => {
  await mail.stop();
  await startOutages(2);
  await until("it was tried", () =>
    cores[0]?.log.some(({ msg }) => msg === "mail could not be sent, it will be tried again"),
  );
  await cores[0]?.stop("SIGKILL");
  cores = [await startMailingCore()];
  await mail.start();
  await until("both arrive", () => recipients().length === 2, 20_000);
  await expectNoMore(2);
}, 60_000);

test("a mail server that refuses for now is tried again", async () => {
  mail.behave({ refuse: 451 });
  await startOutages(1);
  await until("it was tried", () => cores[0]?.log.some(({ code }) => code === "EENVELOPE"));
  mail.behave("accept");
  await mail.waitFor(1, 20_000);
  await expectNoMore(1);
}, 60_000);

test("a mail that is refused for good is dropped, logged and counted, and no other waits for it", async () => {
  mail.behave({ refuse: 550, to: /^\d*[02468]-/ });
  const outages = await startOutages(20);
  const refused = outages.filter((_, i) => i % 2 === 0).map(({ id }) => id);
  await until("all others are mailed", () => recipients().length === 10, 20_000);
  const dropped = (): TestProcess["log"] =>
    cores.flatMap(({ log }) => log).filter(({ msg }) => String(msg).includes("refuses a mail for good"));
  await until("the refused ones are dropped", () => dropped().length === refused.length, 20_000);
  expect(dropped().map(({ workspaceId }) => workspaceId)).toEqual(expect.arrayContaining(refused));
  expect(JSON.stringify(dropped())).not.toContain(OWNER);
  const counted = await readMetrics(cores[0] as TestProcess);
  expect(valueOf(counted, "chatbridge_core_mails_dropped_total", 'reason="refused"')).toBe(refused.length);
  mail.behave("accept");
  await expectNoMore(10);
}, 60_000);

test("without SMTP_URL the mail is logged", async () => {
  await Promise.all(cores.map((core) => core.stop()));
  const core = await startCore(redis.url);
  cores = [core];
  clients.close();
  clients = connectToCore(core.port);
  const [workspace] = await startOutages(1);
  const logged = await until("the mail in the log", () =>
    core.log.find(({ subject }) => subject !== undefined),
  );
  expect(logged).toMatchObject({ to: `0-${OWNER}`, subject: "The bridge of games 0 has stopped polling" });
  expect(JSON.stringify(core.log)).not.toContain(workspace?.secret);
});
