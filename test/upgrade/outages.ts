import { poll } from "../harness/bridge";
import { textEvents } from "../harness/push";
import { publish } from "../harness/service";
import { until } from "../harness/wait";
import type { Fill } from "./contents";
import { healthOf } from "./workspaces";

const OUTAGE_MS = 10 * 60_000;
const LATER = "later@example.com";

/** Bridges that have stopped polling: one whose owner got an email, and one whose owner's email is still waiting. */
export const outages: Fill = async ({ workspaces, clients, mail, due, url }) => {
  mail.behave({ refuse: 450, to: /^later@/ });
  const told = await workspaces.make({ name: "told", ownerEmail: "told@example.com" });
  const later = await workspaces.make({ name: "later", ownerEmail: LATER });
  const both = [told, later];
  const emailsTo = (address: string) => mail.messages.filter(({ to }) => to.includes(address)).length;
  const health = () => Promise.all(both.map(async ({ id }) => healthOf(await workspaces.get(id))));
  const stopPolling = async (): Promise<void> => {
    for (const { id } of both) {
      await publish(clients, ...textEvents(id, 1));
      await due.pass(id, OUTAGE_MS);
    }
    await until("both bridges fail", async () => (await health()).every(({ failing }) => failing));
  };
  await stopPolling();
  await until("the email to the first owner", () => emailsTo("told@example.com") === 1);
  let expected = await health();
  let emails = 1;
  return {
    // The mail server accepts the waiting email from now on, so the next release can send it.
    stopped: () => mail.behave("accept"),
    async check() {
      expect(await health()).toEqual(expected);
      await until("the email to the second owner", () => emailsTo(LATER) === emails);
      expect(emailsTo("told@example.com")).toBe(emails);
      for (const each of both) expect((await poll(url, each)).status).toBe(200);
      expected = await health();
      expect(expected.map(({ failing }) => failing)).toEqual([false, false]);
    },
    async add() {
      mail.behave({ refuse: 450, to: /^later@/ });
      emails += 1;
      await stopPolling();
      await until("the email to the first owner", () => emailsTo("told@example.com") === emails);
      expected = await health();
    },
  };
};
