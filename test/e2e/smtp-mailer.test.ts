import { createSmtpMailer } from "../../core/delivery/smtp-mailer";
import { MailRefused } from "../../core/ports/outside";
import { startMailServer, type MailBehaviour, type TestMailServer } from "../harness/mail-server";

const LOGIN = { user: "bridges", password: "right" };
const MAIL = { to: "owner@customer.test", subject: "Down", text: "It is down.\n", messageId: "m1" };

let server: TestMailServer | undefined;
afterEach(() => server?.close());

/** Sends an email; returns the outcome. */
async function outcomeOf(url: string, mail = MAIL): Promise<string> {
  const mailer = await createSmtpMailer({ url, from: "Bridges <bridges@service.test>" });
  try {
    await mailer.send(mail);
    return "sent";
  } catch (error) {
    if (!(error instanceof MailRefused)) return "unavailable";
    return error.isForGood ? "refused for good" : "refused for now";
  } finally {
    mailer.close();
  }
}

test.each<[string, MailBehaviour, string]>([
  ["accepts the email", "accept", "sent"],
  ["does not know the recipient", { refuse: 550 }, "refused for good"],
  ["rejects the message", { refuse: 554, at: "message" }, "refused for good"],
  ["rejects the sender's host after the recipient is named", { refuse: 554 }, "refused for now"],
  ["has no space for the recipient", { refuse: 452 }, "refused for now"],
  ["has no space for the message", { refuse: 452, at: "message" }, "refused for now"],
  ["shuts down", { refuse: 421 }, "unavailable"],
  ["requires a login first", { refuse: 530 }, "unavailable"],
  ["rejects the sender, which is the same for all emails", { refuse: 550, at: "sender" }, "unavailable"],
])("an email has the right outcome if the server %s", async (_what, behaviour, outcome) => {
  server = await startMailServer();
  server.behave(behaviour);
  expect(await outcomeOf(server.url)).toBe(outcome);
});

test("an email to an invalid address is permanently rejected", async () => {
  server = await startMailServer();
  expect(await outcomeOf(server.url, { ...MAIL, to: "nobody" })).toBe("refused for good");
});

test.each(["owner@customer.test, other@customer.test", "group:owner@customer.test;", "owner@customer.test;"])(
  "an email to %j, which is not a single address, is not sent to anyone",
  async (to) => {
    server = await startMailServer();
    expect(await outcomeOf(server.url, { ...MAIL, to })).toBe("refused for good");
    expect(server.messages).toEqual([]);
  },
);

test.each([
  "=?UTF-8?Q?Your_invoice?=",
  "Test of operator events: =?utf-8?B?WW91ciBpbnZvaWNl?= and =?UTF-8?Q?more?=",
  `Ä =?UTF-8?Q?x?= "quoted" ${"=?UTF-8?Q?long?= ".repeat(10).trim()}`,
  "plain",
  "Grüße",
])("mail programs show the subject %j unchanged", async (subject) => {
  server = await startMailServer();
  expect(await outcomeOf(server.url, { ...MAIL, subject })).toBe("sent");
  const [, header = ""] = /^Subject: (.*(?:\r?\n[ \t].*)*)/m.exec(server.messages[0]?.raw ?? "") ?? [];
  expect(decodeHeader(header)).toBe(subject);
});

/** Decodes the encoded words of a header as a mail program does (RFC 2047). */
function decodeHeader(header: string): string {
  return header
    .replaceAll(/\r?\n(?=[ \t])/g, "")
    .replaceAll(/(\?=)\s+(?==\?)/g, "$1")
    .replaceAll(/(?:=\?utf-8\?[qb]\?[^?\s]*\?=)+/gi, (words) =>
      Buffer.concat([...words.matchAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi)].map(decodeWord)).toString(),
    );
}

function decodeWord([, encoding = "", text = ""]: RegExpMatchArray): Buffer {
  if (encoding.toUpperCase() === "B") return Buffer.from(text, "base64");
  const bytes = text
    .replaceAll("_", " ")
    .replaceAll(/=([0-9A-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1");
}

test("a server that is down or rejects the login counts as unavailable", async () => {
  server = await startMailServer({ login: LOGIN });
  const url = (password: string): string => `smtp://${LOGIN.user}:${password}@127.0.0.1:${server?.port}`;
  expect(await outcomeOf(url("right"))).toBe("sent");
  expect(await outcomeOf(url("wrong"))).toBe("unavailable");
  await server.stop();
  expect(await outcomeOf(url("right"))).toBe("unavailable");
});
