import type { EventPage } from "../../events";
import { PollRefused } from "../../poll";
import { pollForever, pollHeld } from "../../poll-forever";
import { status, type Behaviour } from "../../../test/harness/behaviours";
import { create } from "../../../test/harness/sample-events";
import { pageOf, startPolledService, type PolledService } from "../harness/polled-service";
import { skipTime } from "../harness/skipped-time";

let service: PolledService;
beforeEach(async () => {
  service = await startPolledService();
});
afterEach(() => service.close());

/** Answers the first requests with `answers` in turn. A further request calls `onFurther`. */
function answerWith(answers: readonly Behaviour[], onFurther: () => void): void {
  service.behave(() => {
    const answer = answers[service.requests.length - 1];
    if (answer === undefined) onFurther();
    return answer ?? status(500);
  });
}

// time: controlled
test("after a successful poll, a refusal is reported, and polls continue after 30 seconds", async () => {
  const abort = new AbortController();
  const timing = skipTime();
  const problems: [string, boolean | undefined][] = [];
  let pages = 0;
  answerWith([pageOf(), status(404), pageOf()], () => abort.abort());
  await pollForever({
    ...service.options(),
    timing,
    signal: abort.signal,
    onPage: () => pages++,
    onProblem: ({ message }, isConnected) => problems.push([message, isConnected]),
  });
  expect(pages).toBe(2);
  expect(problems).toEqual([[expect.stringMatching("^the service answered with 404: "), false]]);
  expect(timing.pauses).toContain(30_000);
});

test("pollForever rejects if the service refuses the first poll", async () => {
  answerWith([status(503), status(401)], () => undefined);
  const problems: (boolean | undefined)[] = [];
  const polled = pollForever({
    ...service.options(),
    timing: skipTime(),
    signal: new AbortController().signal,
    onPage: () => undefined,
    onProblem: (_problem, isConnected) => problems.push(isConnected),
  });
  await expect(polled).rejects.toThrow(PollRefused);
  expect(problems).toEqual([false]);
});

// time: controlled
test.each([408, 409])(
  "a %d to the first poll is reported, and the poll is repeated after 30 seconds",
  async (code) => {
    const abort = new AbortController();
    const timing = skipTime();
    const problems: string[] = [];
    let pages = 0;
    answerWith([status(code), pageOf()], () => abort.abort());
    await pollForever({
      ...service.options(),
      timing,
      signal: abort.signal,
      onPage: () => pages++,
      onProblem: ({ name }) => problems.push(name),
    });
    expect([pages, problems]).toEqual([1, ["PollRefused"]]);
    expect(timing.pauses[0]).toBe(30_000);
  },
);

// time: controlled
test("with isPatient, a poller continues after each refusal, even of the first poll", async () => {
  const abort = new AbortController();
  const timing = skipTime();
  const problems: string[] = [];
  let pages = 0;
  answerWith([status(403), pageOf(), status(403), pageOf()], () => abort.abort());
  await pollForever({
    ...service.options(),
    isPatient: true,
    timing,
    signal: abort.signal,
    onPage: () => pages++,
    onProblem: ({ name }) => problems.push(name),
  });
  expect(pages).toBe(2);
  expect(problems).toEqual(["PollRefused", "PollRefused"]);
  expect(timing.pauses.filter((ms) => ms === 30_000)).toHaveLength(2);
});

test("a cursor that cannot be saved is reported as a problem of the bridge, not of the service", async () => {
  const abort = new AbortController();
  const problems: [string, boolean | undefined][] = [];
  answerWith([pageOf()], () => abort.abort());
  await pollForever({
    ...service.options(),
    cursors: { load: async () => undefined, save: () => Promise.reject(new Error("the disk is full")) },
    timing: skipTime(),
    signal: abort.signal,
    onPage: () => undefined,
    onProblem: ({ message }, isConnected) => problems.push([message, isConnected]),
  });
  expect(problems).toEqual([["cannot save the cursor: the disk is full", true]]);
});

test("a page that is not handled is reported as a problem of the bridge, not of the service", async () => {
  const abort = new AbortController();
  const problems: [string, boolean | undefined][] = [];
  answerWith([pageOf({ events: [create(1)] })], () => abort.abort());
  await pollForever({
    ...service.options(),
    handle: () => Promise.reject(new Error("the chat is down")),
    timing: skipTime(),
    signal: abort.signal,
    onPage: () => undefined,
    onProblem: ({ message }, isConnected) => problems.push([message, isConnected]),
  });
  expect(problems).toEqual([["a page was not handled and will be polled again: the chat is down", true]]);
});

test("pollHeld fetches the held events page by page, and moves the cursor past the last event", async () => {
  const shown: EventPage["events"][number][] = [];
  const answers = [
    pageOf({ events: [create(1)], next: "1", hasMore: true }),
    pageOf({ events: [create(2)], next: "2" }),
  ];
  answerWith(answers, () => undefined);
  const options = { ...service.options(), handle: ({ events }: EventPage) => void shown.push(...events) };
  const { signal } = new AbortController();
  await pollHeld({ ...options, signal });
  expect(shown).toEqual([create(1), create(2)]);
  expect(await options.cursors.load()).toBe("2");
  expect(service.requests).toHaveLength(2);
});

test("pollHeld stops if a page does not move the cursor", async () => {
  const page = pageOf({ next: "7", hasMore: true });
  answerWith([page, page], () => undefined);
  await pollHeld({ ...service.options(), signal: new AbortController().signal });
  expect(service.requests).toHaveLength(2);
});

test("pollHeld fetches no events of a push workspace, and rejects if the service refuses or fails", async () => {
  answerWith([status(403), status(404), status(503)], () => undefined);
  const options = { ...service.options(), signal: new AbortController().signal };
  await pollHeld(options);
  await expect(pollHeld(options)).rejects.toThrow(PollRefused);
  await expect(pollHeld(options)).rejects.toThrow("the service answered with 503");
  await pollHeld({ ...options, start: "latest" });
  expect(service.requests).toHaveLength(3);
});
