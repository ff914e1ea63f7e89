import { randomUUID } from "node:crypto";
import type { CheckResult } from "../../bridge/check/result";
import { checkService } from "../../bridge/check/service/check-service";
import { startBrokenService, type Alter } from "./broken-bridges/broken-service";
import { create } from "../harness/contents";
import { createWorkspace, publish } from "../harness/service";
import { sharedService } from "../harness/shared-service";

const json = (body: Buffer) => JSON.parse(body.toString()) as Record<string, unknown>;
const rewrite =
  (status: number, change: (body: Record<string, unknown>) => object): Alter =>
  (answer) =>
    answer.status === status
      ? { ...answer, body: Buffer.from(JSON.stringify(change(json(answer.body)))) }
      : answer;

/** What a service does wrong, the rules that it breaks, and what is told of the first. */
const BROKEN_SERVICES: readonly [string, Alter, readonly string[], RegExp][] = [
  [
    "answers 200 to an event",
    (answer) => ({ ...answer, status: answer.status === 202 ? 200 : answer.status }),
    ["accepts"],
    /answered 200 \{"ok":true\}, not 202/,
  ],
  [
    "answers an event with words",
    rewrite(202, () => ({ message: "thank you" })),
    ["accepts"],
    /not 202 \{"ok":true\}/,
  ],
  [
    "does not name the field at fault",
    rewrite(400, ({ field: _field, ...body }) => body),
    ["field-rules", "unknown-fields", "dm-channels", "body-size", "poll-query"],
    /names no field, not id/,
  ],
  [
    "names only the last part of a nested field",
    rewrite(400, ({ field, ...body }) => ({ ...body, field: String(field).split(".").at(-1) })),
    ["field-rules", "unknown-fields", "body-json"],
    /names the field "id", not channel\.id/,
  ],
  [
    "answers an unknown workspace with 401",
    (answer) => (answer.status === 404 ? { ...answer, status: 401 } : answer),
    ["check-order", "same-404"],
    /faults: unknown workspace was answered 401.*not 404/,
  ],
  [
    "answers an old signature with 401",
    (answer) => (answer.status === 409 ? { ...answer, status: 401 } : answer),
    ["clock", "check-order"],
    /signed 1440 minutes ago was answered 401.*not 409/,
  ],
  [
    "says more in the body of a 413",
    rewrite(413, (body) => ({ ...body, error: "Payload Too Large" })),
    ["body-size"],
    /error is "Payload Too Large", not missing/,
  ],
  [
    "writes the status into the body as a text",
    rewrite(401, (body) => ({ ...body, statusCode: "401" })),
    ["signatures-refused", "check-order", "poll-query-signed"],
    /statusCode is not 401/,
  ],
  [
    "writes its pages anew after they were signed",
    (answer) =>
      answer.status === 200
        ? { ...answer, body: Buffer.from(JSON.stringify(json(answer.body), undefined, 1)) }
        : answer,
    ["page-signed"],
    /not right under any secret/,
  ],
  [
    "does not say whose page it is",
    (answer) => ({ ...answer, headers: { ...answer.headers, "service-workspace": undefined } }),
    ["page-signed"],
    /Service-Workspace is missing/,
  ],
  [
    "leaves fields out of held events",
    rewrite(200, (page) => ({
      ...page,
      events: (page["events"] as object[]).map((event) => ({ ...event, sequence: undefined })),
    })),
    ["page-signed", "held-events"],
    /not right under any secret/,
  ],
  [
    "has a next of its own making",
    rewrite(200, (page) => ({ ...page, next: `1${String(page["next"])}` })),
    ["page-signed", "poll-latest", "cursors"],
    /not right under any secret/,
  ],
];

const service = sharedService();
/** Each with a workspace and an address of its own, so that none meets a limit for another. */
let results: ReadonlyMap<string, CheckResult>;
beforeAll(async () => {
  const checked = BROKEN_SERVICES.map(async ([what, alter], i): Promise<[string, CheckResult]> => {
    const { id, secret } = await createWorkspace(service.clients);
    const event = { workspaceId: id, content: create("c1") };
    await publish(service.clients, event, event);
    const broken = await startBrokenService(service.url, alter, `127.0.1.${i + 1}`);
    try {
      return [what, await checkService({ url: broken.url, workspace: id, secrets: [secret] })];
    } finally {
      await broken.close();
    }
  });
  results = new Map(await Promise.all(checked));
}, 180_000);

test.each(BROKEN_SERVICES)("of a service that %s the check says so", (what, _alter, breaks, told) => {
  const failed = (results.get(what)?.rules ?? []).filter(({ verdict }) => verdict === "failed");
  expect(failed.map((rule) => rule.id)).toEqual(breaks);
  const [first] = failed;
  expect(first?.verdict === "failed" && first.found).toMatch(told);
});

test.each<[string, Alter, RegExp]>([
  ["never limits anybody", (answer) => answer, /all of \d+ requests in .* s were let through/],
  [
    "does not say when to come again",
    (answer, count) => (count > 600 ? { status: 429, headers: {}, body: LIMITED } : answer),
    /Retry-After of a 429 is ""/,
  ],
  [
    "limits who is under the limit",
    (answer, count) =>
      count > 100 ? { status: 429, headers: { "retry-after": "1" }, body: LIMITED } : answer,
    /only \d+ requests were let through/,
  ],
])(
  "of a service that %s the check of its limits says so",
  async (_what, alter, told) => {
    // It answers at once by itself, so that any machine is fast enough.
    const broken = await startBrokenService(undefined, alter);
    try {
      const options = { url: broken.url, workspace: randomUUID(), secrets: ["s"], withLimits: true };
      const { rules } = await checkService({ ...options, only: ["workspace-limit"] });
      const limit = rules.find((rule) => rule.id === "workspace-limit");
      expect(limit?.verdict === "failed" && limit.found).toMatch(told);
    } finally {
      await broken.close();
    }
  },
  60_000,
);

const LIMITED = Buffer.from('{"statusCode":429,"message":"too many","error":"Too Many Requests"}');
