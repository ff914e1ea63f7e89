import { savingChat } from "../../bridge-chat";
import { createReports } from "../../bridge-reports";
import { storeInMemory } from "../../message-store";
import { PendingCalls } from "../../pending-calls";
import { createReportedIds } from "../../reported-ids";
import { reportedInMemory } from "../../reported-store";
import type { SendResult } from "../../sender";
import { createShownMessages } from "../../shown-messages";
import { recordingChat } from "../harness/bridge-chat";
import { gate } from "../harness/gate";
import { create, dm } from "./reduce-events";

test("the member of each sent report counts as reported, even while 1,000 reports are pending", async () => {
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
  const [shown, calls] = [createShownMessages(), new PendingCalls()];
  const { reports, idle } = createReports({ sender, shown, calls, reported, signal, report });
  const users = Array.from({ length: 1_002 }, (_, i) => `u${i}`);
  for (const user of users) void reports.command({ channel: "c1", user, text: "start" });
  // Only 1,000 reports can wait for the store at a time, so the last two reports are sent without waiting.
  expect(sent).toEqual(["u1000", "u1001"]);
  expect(users.filter((user) => reported.faultOf(dm(user, 1)) !== undefined)).toEqual([]);
  while (answers.length < users.length) await new Promise(setImmediate);
  for (const answer of answers) answer();
  await idle();
});

// time: ordering
test("a member can answer a message before the chat has returned its id", async () => {
  const report = () => undefined;
  const { signal } = new AbortController();
  const [shown, calls] = [createShownMessages(), new PendingCalls()];
  const { open, opened } = gate();
  const { messages } = storeInMemory();
  const chat = { ...recordingChat().chat, post: () => opened.then(() => "chat-1") };
  const posted = savingChat({ chat, shown, calls, messages, report }).post(create("c1", 1), signal);
  const sent: object[] = [];
  const send = async (event: object): Promise<SendResult> => {
    sent.push(event);
    return { outcome: "accepted", id: "r", attempts: 1 };
  };
  const { reports } = createReports({ sender: { send }, shown, calls, signal, report });
  const answers = [
    reports.action({ chatMessageId: "chat-1", user: "u1", action: "join" }),
    reports.message({ channel: "c1", user: "u1", text: "42", replyTo: "chat-1" }),
  ];
  open();
  await posted;
  expect(await Promise.all(answers)).toMatchObject([{ outcome: "accepted" }, { outcome: "accepted" }]);
  expect(sent).toMatchObject([{ messageId: "msg_1" }, { replyTo: "msg_1" }]);
  expect(await reports.action({ chatMessageId: "chat-2", user: "u1", action: "join" })).toEqual({
    outcome: "unknown-message",
  });
});

test.each([
  ["action", "an action"],
  ["message", "a message"],
  ["command", "a command"],
] as const)("a problem names the dropped event: %s", async (type, words) => {
  const problems: string[] = [];
  const shown = createShownMessages();
  const { messages } = storeInMemory();
  const [calls, { signal }] = [new PendingCalls(), new AbortController()];
  const report = ({ message }: Error) => void problems.push(message);
  const chat = { ...recordingChat().chat, post: async () => "chat-1" };
  await savingChat({ chat, shown, calls, messages, report }).post(create("c1", 1), signal);
  const given = { outcome: "given-up", reason: "timeout", attempts: 3 } as const;
  const send = async () => ({ ...given, id: "r" }) as unknown as SendResult;
  const { reports } = createReports({ sender: { send }, shown, calls, signal, report });
  if (type === "action") await reports.action({ chatMessageId: "chat-1", user: "u1", action: "join" });
  else await reports[type]({ channel: "c1", user: "u1", text: "42" });
  expect(problems).toEqual([`${words} was dropped after 3 attempts: timeout`]);
});
