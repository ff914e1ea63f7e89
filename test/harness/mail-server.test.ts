import { createTransport } from "nodemailer";
import { startMailServer, type MailServerOptions, type TestMailServer } from "./mail-server";
import { createTestCa, type TestCa } from "./test-ca";
import { until } from "./wait";

const MAIL = { from: "service@example.com", to: "owner@example.com", subject: "Down", text: "It is down.\n" };

let mail: TestMailServer | undefined;
afterEach(() => mail?.close());

async function start(options?: MailServerOptions): Promise<TestMailServer> {
  mail = await startMailServer(options);
  return mail;
}

/** Sends a message; answers what went wrong, if anything did. */
async function send(
  server: TestMailServer,
  options: object = {},
): Promise<{ code?: string; responseCode?: number }> {
  const transport = createTransport({ host: "127.0.0.1", port: server.port, ...options });
  try {
    await transport.sendMail(MAIL);
    return {};
  } catch (error) {
    return error as { code?: string; responseCode?: number };
  } finally {
    transport.close();
  }
}

test("a message is recorded with its envelope and its text", async () => {
  const server = await start();
  expect(await send(server)).toEqual({});
  const [message] = await server.waitFor(1);
  expect(message).toMatchObject({ from: MAIL.from, to: [MAIL.to] });
  expect(message?.raw).toContain("Subject: Down\r\n");
  expect(message?.raw).toContain("\r\n\r\nIt is down.\r\n");
  expect(server.connections).toBe(1);
});

test.each(["recipient", "message"] as const)(
  "a %s is refused with the code that was asked for",
  async (at) => {
    const server = await start();
    server.behave({ refuse: 451, at });
    expect(await send(server)).toMatchObject({ responseCode: 451 });
    expect(server.messages).toHaveLength(0);
    server.behave("accept");
    expect(await send(server)).toEqual({});
    expect(server.messages).toHaveLength(1);
  },
);

test("a server that hangs never greets", async () => {
  const server = await start();
  server.behave("hang");
  expect(await send(server, { greetingTimeout: 100 })).toMatchObject({ code: "ETIMEDOUT" });
  expect([server.connections, server.messages.length]).toEqual([1, 0]);
});

test("a server that is down refuses connections, and comes back at the same port", async () => {
  const server = await start();
  await server.stop();
  await server.stop();
  expect(await send(server)).toMatchObject({ code: "ESOCKET" });
  await server.start();
  expect(await send(server)).toEqual({});
});

test("stopping cuts those off that are connected", async () => {
  const server = await start();
  server.behave("hang");
  const sending = send(server, { greetingTimeout: 60_000 });
  await until("a connection", () => server.connections === 1);
  await server.stop();
  expect(await sending).toHaveProperty("code");
});

describe("with TLS and a login", () => {
  let ca: TestCa;
  beforeAll(() => {
    ca = createTestCa();
  });
  afterAll(() => ca.close());

  test("it demands both", async () => {
    const login = { user: "service", password: "correct" };
    const server = await start({ login, certificate: ca.issue(["127.0.0.1"]) });
    const trusting = { requireTLS: true, tls: { ca: ca.cert } };
    const auth = (pass: string) => ({ ...trusting, auth: { user: "service", pass } });
    expect(await send(server, auth("correct"))).toEqual({});
    expect(await send(server, auth("wrong"))).toMatchObject({ code: "EAUTH" });
    expect(await send(server, trusting)).toMatchObject({ responseCode: 530 });
    expect(await send(server, { ...auth("correct"), tls: {} })).toHaveProperty("code");
    expect(server.messages).toHaveLength(1);
  });
});
