import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { signatureOf } from "../harness/bridge";
import { docProgram } from "../harness/doc-blocks";
import { testFolder } from "../harness/folder";
import { testWith } from "../harness/installed";
import { startProgram } from "../harness/program";
import { exchange } from "../harness/raw-http";
import { create, message } from "../harness/sample-events";
import { until } from "../harness/wait";

/** Timeout in ms. The first compilation with Go takes a long time. */
const COMPILE_MS = 400_000;
const SECRET = "s3cret";
const folder = testFolder();

/** The steps at which the test kills the bridge. The bridge pauses before the given line of the program. */
const STEPS = {
  "before the event is stored": "\t\terr = os.Rename(path",
  "after the event is stored, before the answer": "\twork <- func() { take(e) }",
  "after the answer, before the event is shown": "\tif e.ExpiresAt == nil ||",
  "while the event is shown": '\tfmt.Printf("%s: %s\\n", channel',
  "after the event is shown, before the record": "\tfinish(e.ID)",
} as const;
type Step = keyof typeof STEPS;

/** A function that pauses the program at the step that `STOP_AT` names, so that the test can kill the program there. */
const STOP_AT = `package main

import ("fmt"; "os")

func stopAt(step string) {
	if os.Getenv("STOP_AT") == step {
		fmt.Println("stopped", step)
		select {}
	}
}
`;

/** Compiles the guide's Go bridge with calls to `stopAt`. Returns the path of the program. */
function compile(): string {
  let program = docProgram("docs/bridge-guide.md", "go", "push.go");
  for (const [step, line] of Object.entries(STEPS)) {
    if (program.split(line).length !== 2)
      throw new Error(`the guide must contain this line exactly once: ${line}`);
    program = program.replace(line, () => `\tstopAt(${JSON.stringify(step)})\n${line}`);
  }
  const source = join(folder, "source");
  mkdirSync(source);
  writeFileSync(join(source, "push.go"), program);
  writeFileSync(join(source, "stop.go"), STOP_AT);
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, GOTOOLCHAIN: "local" };
  execFileSync("go", ["build", "-o", "push", "push.go", "stop.go"], { cwd: source, env, stdio: "pipe" });
  return join(source, "push");
}

/** Starts the program in `cwd`, where it stores events. */
async function start(program: string, cwd: string, step?: Step) {
  const environment = { SIGNING_SECRET: SECRET, LISTEN: "127.0.0.1:0", ...(step && { STOP_AT: step }) };
  const bridge = startProgram([program], { cwd, environment });
  const port = await until("the bridge listens", () => /listening on .*:(\d+)/.exec(bridge.output())?.[1]);
  const url = `http://127.0.0.1:${port}/events`;
  return {
    /** Pushes an event as the service does. Resolves to the status, or to 0 when the bridge does not answer. */
    async push(number: number): Promise<number> {
      const event = { ...create(number), message: { ...message(number), text: `event ${number}.` } };
      const body = JSON.stringify(event);
      const headers = { "Service-Signature": signatureOf(SECRET, body), "Service-Event-Id": event.id };
      return fetch(url, { method: "POST", headers, body }).then(
        ({ status }) => status,
        () => 0,
      );
    },
    /** Resolves when the program has shown the event. */
    shows: (number: number) =>
      until(`event ${number} is shown`, () => bridge.output().includes(`event ${number}.`)),
    timesShown: (number: number) => bridge.output().split(`event ${number}.\n`).length - 1,
    isStopped: () => bridge.output().includes(`stopped ${step}\n`),
    url,
    kill: () => bridge.stop("SIGKILL"),
  };
}

let program = "";
const testGo = testWith(["go", "version"]);
testGo("the guide's Go bridge compiles with stops", () => void (program = compile()), COMPILE_MS);

testGo.each(Object.keys(STEPS) as Step[])(
  "the guide's Go bridge loses no event that it has answered with 2xx: killed %s",
  async (step) => {
    const cwd = mkdtempSync(join(folder, "state-"));
    const first = await start(program, cwd, step);
    const pushed = first.push(1);
    await until("the bridge is at the step", first.isStopped);
    const isAnswered = step !== "before the event is stored" && !step.includes("before the answer");
    if (isAnswered) expect(await pushed).toBe(204);
    await first.kill();
    if (!isAnswered) expect(await pushed).toBe(0);
    expect(first.timesShown(1)).toBe(step === "after the event is shown, before the record" ? 1 : 0);

    const second = await start(program, cwd);
    if (step !== "before the event is stored") await second.shows(1);
    expect(await second.push(1)).toBe(204); // the service repeats a push that was not answered
    expect(await second.push(2)).toBe(204);
    await second.shows(2);
    expect(second.timesShown(1)).toBe(1);
    await second.kill();

    // The bridge may have been killed before it recorded event 2, so the test does not push event 2 again.
    const third = await start(program, cwd);
    expect(await third.push(1)).toBe(204);
    expect(await third.push(3)).toBe(204);
    await third.shows(3);
    expect(third.timesShown(1)).toBe(0);
    await third.kill();
  },
);

testGo(
  "the guide's Go bridge answers 503 while 500 events wait, and shows all of them after a kill and a restart",
  async () => {
    const cwd = mkdtempSync(join(folder, "state-"));
    const stuck = await start(program, cwd, "while the event is shown");
    for (let number = 1; number <= 500; number += 1) expect(await stuck.push(number)).toBe(204);
    expect(await stuck.push(501)).toBe(503);
    await stuck.kill();
    const again = await start(program, cwd);
    await again.shows(500);
    const times = Array.from({ length: 501 }, (_, index) => again.timesShown(index + 1));
    expect(times).toEqual([...Array<number>(500).fill(1), 0]);
    await again.kill();
  },
);

testGo("the guide's Go bridge rejects invalid pushes, and accepts the next push", async () => {
  const bridge = await start(program, mkdtempSync(join(folder, "state-")));
  const body = JSON.stringify(create(1));
  const post = (headers: string, bytes: string | Buffer) =>
    Buffer.concat([
      Buffer.from(`POST /events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${headers}\r\n\r\n`),
      Buffer.from(bytes),
    ]);
  const signed = (bytes: string | Buffer, t?: string) =>
    `Service-Signature: ${signatureOf(SECRET, Buffer.from(bytes), t)}`;
  const length = (bytes: string | Buffer) => `Content-Length: ${Buffer.byteLength(bytes)}`;
  const latin = Buffer.from('{"id":"é"}', "latin1");
  const huge = "x".repeat(1 << 18);
  const pushes: readonly (readonly [string, Buffer, number])[] = [
    ["a time of 5,000 digits", post(`${signed(body, "9".repeat(5_000))}\r\n${length(body)}`, body), 401],
    ["no signature", post(length(body), body), 401],
    ["no body", post(signed(""), ""), 400],
    ["a body that is not UTF-8", post(`${signed(latin)}\r\n${length(latin)}`, latin), 400],
    ["a body that is too long", post(`${signed(huge)}\r\n${length(huge)}`, huge), 401],
    ["a list", post(`${signed("[]")}\r\n${length("[]")}`, "[]"), 400],
    [
      "an id that is a path",
      post(`${signed('{"id":"../a"}')}\r\n${length('{"id":"../a"}')}`, '{"id":"../a"}'),
      400,
    ],
  ];
  for (const [name, bytes, status] of pushes) {
    const { answers } = await exchange(bridge.url, bytes);
    expect([name, answers[0]?.status]).toEqual([name, status]);
  }
  expect(await bridge.push(1)).toBe(204);
  await bridge.shows(1);
  await bridge.kill();
});
