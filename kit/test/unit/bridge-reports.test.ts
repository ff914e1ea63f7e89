import { createReports } from "../../bridge-reports";
import { createReportedIds } from "../../reported-ids";
import { reportedInMemory } from "../../reported-store";
import type { SendResult } from "../../sender";
import { createShownMessages } from "../../shown-messages";
import { dm } from "./reduce-events";

test("the member of each sent report is noted, even while 1,000 reports are pending", async () => {
  const report = () => undefined;
  const reported = createReportedIds({ store: reportedInMemory(), isForChannels: true, report });
  await reported.load([], false);
  const sent: string[] = [];
  const answers: (() => void)[] = [];
  const sender = {
    send: ({ user }: { user: { id: string } }) => {
      sent.push(user.id);
      return new Promise<SendResult>((resolve) => {
        answers.push(() => resolve({ outcome: "accepted", id: "r", attempts: 1 }));
      });
    },
  };
  const signal = new AbortController().signal;
  const { reports, idle } = createReports({ sender, shown: createShownMessages(), reported, signal, report });
  const users = Array.from({ length: 1_002 }, (_, i) => `u${i}`);
  for (const user of users) void reports.command({ channel: "c1", user, text: "start" });
  // Only 1,000 reports can wait for the store at a time, so the last two reports are sent without waiting.
  expect(sent).toEqual(["u1000", "u1001"]);
  expect(users.filter((user) => reported.faultOf(dm(user, 1)) !== undefined)).toEqual([]);
  while (answers.length < users.length) await new Promise(setImmediate);
  for (const answer of answers) answer();
  await idle();
});
