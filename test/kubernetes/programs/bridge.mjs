// Without an argument, this program is a bridge of several workspaces, which runs in a pod. The bridge polls, and
// receives pushes. With a command as its argument, the program sends this command to the bridge in the same pod, and
// prints the answer:
//
//   begin    starts to post commands, each from a different member in a different channel
//   finish   stops, waits until the game has answered all accepted commands, and returns the account
//   account  returns the account so far
import { createHmac, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Agent, createServer, request } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";

const CONTROL_PORT = 9000;
const REPEAT_AFTER_MS = 500;
const POLL_EVERY_MS = 500;
const ANSWER_WITHIN_MS = 10_000;
const ANSWERED_WITHIN_MS = 90_000;

const [, , command] = process.argv;
if (command !== undefined) {
  const answer = await fetch(`http://127.0.0.1:${CONTROL_PORT}/${command}`, { method: "POST" });
  process.stdout.write(await answer.text());
  process.exit(answer.ok ? 0 : 1);
}

const { EDGE_HOST = "", REQUESTS_PER_SECOND = "" } = process.env;
/** Each agent keeps its own connections, so that the requests are spread over all edges. */
const agents = Array.from({ length: 8 }, () => new Agent({ keepAlive: true, maxSockets: 16 }));
let requests = 0;
/** The bridge's workspaces, each with its id, its secret, and whether the bridge polls for its events. */
const workspaces = JSON.parse(readFileSync("/workspaces/workspaces.json", "utf8"));
/** The ids of the game's answers, by channel. */
const answeredIn = new Map();
/** Ids of received pushes. */
const pushed = new Set();
let load = newLoad();

function newLoad() {
  return {
    isOver: false,
    began: Date.now(),
    sent: 0,
    refusedFirst: 0,
    accepted: new Set(),
    others: {},
    slowestMs: 0,
    repeatedPushes: 0,
  };
}

function signatureOf(secret, raw) {
  const t = Math.floor(Date.now() / 1000);
  return `t=${t},v1=${createHmac("sha256", secret).update(`${t}.`).update(raw).digest("hex")}`;
}

/** Sends a request. Resolves with the body, and with the status or the code of the error. */
function send(method, path, headers, body = "") {
  const agent = agents[requests++ % agents.length];
  return new Promise((resolve) => {
    const sent = request({ host: EDGE_HOST, port: 80, agent, method, path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk) => (text += chunk));
      response.on("end", () => resolve({ status: String(response.statusCode), text }));
      response.on("error", (error) => resolve({ status: error.code ?? error.message, text }));
    });
    sent.setTimeout(ANSWER_WITHIN_MS, () => sent.destroy(new Error("no answer within 10 s")));
    sent.on("error", (error) => resolve({ status: error.code ?? error.message, text: "" }));
    sent.end(body);
  });
}

/** Posts a command, and repeats the request with the same id until the command is accepted. */
async function post({ id, secret }, current) {
  const channel = randomUUID();
  const event = { type: "command", id: randomUUID(), channel, user: { id: channel }, text: "say" };
  const body = JSON.stringify(event);
  current.sent++;
  for (let attempt = 1; ; attempt++) {
    const began = Date.now();
    const headers = {
      "Content-Type": "application/json",
      "Content-Length": Buffer.byteLength(body),
      "Service-Signature": signatureOf(secret, body),
    };
    const { status } = await send("POST", `/hooks/${id}`, headers, body);
    current.slowestMs = Math.max(current.slowestMs, Date.now() - began);
    if (status === "202") return void current.accepted.add(channel);
    if (attempt === 1) current.refusedFirst++;
    current.others[status] = (current.others[status] ?? 0) + 1;
    process.stdout.write(`${new Date().toISOString()} POST: ${status}\n`);
    await sleep(REPEAT_AFTER_MS);
  }
}

function show({ id, channel }) {
  answeredIn.set(channel, (answeredIn.get(channel) ?? new Set()).add(id));
}

async function pollForever({ id, secret }) {
  for (let after = "0"; ;) {
    const query = `after=${after}&limit=100`;
    const headers = { "Service-Signature": signatureOf(secret, query) };
    const { status, text } = await send("GET", `/hooks/${id}/events?${query}`, headers);
    if (status !== "200") process.stdout.write(`${new Date().toISOString()} poll: ${status}\n`);
    const page = status === "200" ? JSON.parse(text) : { events: [] };
    page.events.forEach(show);
    after = page.next ?? after;
    if (page.hasMore !== true) await sleep(POLL_EVERY_MS);
  }
}

async function receive(incoming, response) {
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const event = JSON.parse(body.toString());
  const { secret } = workspaces.find(({ id }) => id === event.workspace) ?? {};
  const [, t = "", sent = ""] = /^t=(\d+),v1=([0-9a-f]+)/.exec(incoming.headers["service-signature"]) ?? [];
  const expected = createHmac("sha256", secret ?? "")
    .update(`${t}.`)
    .update(body)
    .digest("hex");
  if (sent !== expected) return void response.writeHead(401).end();
  if (pushed.has(event.id)) load.repeatedPushes++;
  pushed.add(event.id);
  show(event);
  response.writeHead(204).end();
}

function account() {
  const { began, sent, refusedFirst, accepted, others, slowestMs, repeatedPushes } = load;
  const answers = [...accepted].map((channel) => answeredIn.get(channel)?.size ?? 0);
  return {
    seconds: Math.round((Date.now() - began) / 1000),
    sent,
    refusedFirst,
    accepted: accepted.size,
    others,
    slowestMs,
    repeatedPushes,
    unanswered: answers.filter((count) => count === 0).length,
    answeredTwice: answers.filter((count) => count > 1).length,
  };
}

let posting = Promise.resolve();

async function postAll(current) {
  const posts = [];
  const began = performance.now();
  for (let number = 1; !current.isOver; number++) {
    posts.push(post(workspaces[number % workspaces.length], current));
    await sleep(Math.max(0, began + (number * 1000) / Number(REQUESTS_PER_SECOND) - performance.now()));
  }
  await Promise.all(posts);
}

const COMMANDS = {
  begin() {
    load = newLoad();
    posting = postAll(load);
    return {};
  },
  account,
  async finish() {
    load.isOver = true;
    await posting;
    const until = Date.now() + ANSWERED_WITHIN_MS;
    while (account().unanswered > 0 && Date.now() < until) await sleep(100);
    return account();
  },
};

createServer((incoming, response) => {
  void Promise.resolve(COMMANDS[incoming.url.slice(1)]()).then((answer) =>
    response.end(JSON.stringify(answer)),
  );
}).listen(CONTROL_PORT, "127.0.0.1");
createTlsServer(
  { cert: readFileSync("/tls/tls.crt"), key: readFileSync("/tls/tls.key") },
  (...exchange) => void receive(...exchange),
).listen(8443);
for (const each of workspaces.filter(({ polls }) => polls)) void pollForever(each);
