import { shardOf } from "../../core/domain/shard";
import { poll } from "../harness/bridge";
import { startMailServer, type TestMailServer } from "../harness/mail-server";
import { readMetrics, valueOf } from "../harness/metrics";
import { openPollDue, type PollDue } from "../harness/poll-due";
import { startCore } from "../harness/processes";
import { publish, startService, textEvent, type TestService } from "../harness/service";
import { sharedService } from "../harness/shared-service";
import { until } from "../harness/wait";

const SHARDS = 16;
const FIVE_MINUTES_MS = 5 * 60 * 1000;

interface MailedWorkspace {
  readonly id: string;
  readonly secret: string;
  readonly ownerEmail: string;
}

const shared = sharedService();
let mail: TestMailServer;
let settings: Record<string, string>;
let service: TestService;
let due: PollDue;
let witnesses: readonly MailedWorkspace[];
beforeAll(async () => {
  mail = await startMailServer();
  settings = { SMTP_URL: mail.url, MAIL_FROM: "Bridges <bridges@service.test>" };
  service = await startService({ core: settings });
  due = await openPollDue(service.redis);
  const byShard = new Map<number, MailedWorkspace>();
  while (byShard.size < SHARDS) {
    const workspace = await service.workspaces.make({ ownerEmail: `${byShard.size}@witness.test` });
    if (!byShard.has(shardOf(workspace.id, SHARDS))) byShard.set(shardOf(workspace.id, SHARDS), workspace);
  }
  witnesses = [...byShard.values()];
});
afterAll(async () => {
  await due.close();
  await service.close();
  await mail.close();
});

/** Publishes an event to each workspace, and changes the store as if each event had waited for five minutes. */
async function startOutages(workspaces: readonly MailedWorkspace[]): Promise<void> {
  for (const { id } of workspaces) await publish(service.clients, textEvent(id, "hello"));
  await Promise.all(workspaces.map(({ id }) => due.pass(id, FIVE_MINUTES_MS)));
}

let owners = 0;
/** Creates workspaces on various shards, each with its own owner, and starts their outages. */
async function makeOutages(count: number): Promise<readonly MailedWorkspace[]> {
  const failing: MailedWorkspace[] = [];
  for (let i = 0; i < count; i++)
    failing.push(
      await service.workspaces.make({ name: `games ${i}`, ownerEmail: `${++owners}-${i % 2}@customer.test` }),
    );
  await startOutages(failing);
  return failing;
}

const mailsTo = (workspaces: readonly MailedWorkspace[]) =>
  mail.messages.filter(({ to }) => workspaces.some(({ ownerEmail }) => to.includes(ownerEmail)));
const mailed = (workspaces: readonly MailedWorkspace[], count: number): Promise<boolean> =>
  until(`${count} emails arrive`, () => mailsTo(workspaces).length >= count);

/** Waits until core has checked every shard again: makes an email due in each shard, and waits for these emails. */
async function laterMailsCame(): Promise<void> {
  for (const witness of witnesses) await poll(service.url, witness);
  const before = mailsTo(witnesses).length;
  await startOutages(witnesses);
  await mailed(witnesses, before + SHARDS);
}

// time: ordering
// contract: health-mail-once
test("the owner is emailed once per outage, and again in the next outage", async () => {
  const failing = await makeOutages(1);
  const [workspace] = failing;
  if (workspace === undefined) throw new Error("no workspace");
  await mailed(failing, 1);
  const [first] = mailsTo(failing);
  expect(first?.to).toEqual([workspace.ownerEmail]);
  expect(first?.raw).toContain("Subject: The bridge of games 0 has stopped polling");
  expect(first?.raw).toContain(workspace.id);
  expect(first?.raw).not.toContain(workspace.secret);
  await publish(service.clients, textEvent(workspace.id, "still waiting"));
  await laterMailsCame();
  expect(mailsTo(failing)).toHaveLength(1);
  await poll(service.url, workspace);
  await startOutages(failing);
  await mailed(failing, 2);
  await laterMailsCame();
  expect(mailsTo(failing)).toHaveLength(2);
});

// time: ordering
// contract: health-mail-once
test("with three cores, each owner gets one email; if a core is killed, a repeat of the email has the same Message-ID", async () => {
  const others = await Promise.all([1, 2].map(() => startCore(service.redis.url, settings)));
  const failing = await makeOutages(20);
  await mailed(failing, 1);
  await others[1]?.stop("SIGKILL");
  const recipients = () => new Set(mailsTo(failing).flatMap(({ to }) => to));
  await until("all owners are emailed", () => recipients().size === failing.length);
  await laterMailsCame();
  // If a core dies before it records an email as sent, the email can be sent again with the same Message-ID. So the
  // test counts the Message-IDs.
  const ids = mailsTo(failing).map(({ raw }) => /^Message-ID:\s*(<[^>]+>)/im.exec(raw)?.[1]);
  expect(new Set(ids).size).toBe(failing.length);
  await others[0]?.stop();
});

// time: ordering
test("an email that the mail server permanently rejects is dropped, logged and counted, and does not delay other emails", async () => {
  mail.behave({ refuse: 550, to: /-0@/ });
  const failing = await makeOutages(6);
  const refused = failing.filter(({ ownerEmail }) => /-0@/.test(ownerEmail)).map(({ id }) => id);
  await mailed(failing, 3);
  const dropped = () =>
    service.core.log.filter(({ msg }) => String(msg).includes("rejected an email permanently"));
  await until("the rejected emails are dropped", () => dropped().length === refused.length);
  expect(dropped().map(({ workspaceId }) => workspaceId)).toEqual(expect.arrayContaining(refused));
  expect(JSON.stringify(dropped())).not.toContain("@customer.test");
  const counted = await readMetrics(service.core);
  expect(valueOf(counted, "chatbridge_core_mails_dropped_total", 'reason="refused"')).toBe(refused.length);
  mail.behave("accept");
  await laterMailsCame();
  expect(mailsTo(failing)).toHaveLength(3);
});

test("without SMTP_URL, core logs the email instead of sending it", async () => {
  const own = await openPollDue(shared.redis);
  const workspace = await shared.workspaces.make({ name: "unmailed", ownerEmail: "owner@unmailed.test" });
  await publish(shared.clients, textEvent(workspace.id, "hello"));
  await own.pass(workspace.id, FIVE_MINUTES_MS);
  const logged = await until("the email is in the log", () =>
    shared.core.log.find(({ to }) => to === "owner@unmailed.test"),
  );
  expect(logged).toMatchObject({ subject: "The bridge of unmailed has stopped polling" });
  expect(JSON.stringify(shared.core.log)).not.toContain(workspace.secret);
  await own.close();
});
