import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { checkService, type ServiceCheckOptions } from "../../check/service/check-service";
import type { CheckResult } from "../../check/result";
import { readJson } from "../../read-event";
import { ACCEPTED, startBrokenService, type Alter } from "./broken-bridges/broken-service";
import { create, dm, ephemeral, update } from "../../../test/harness/contents";
import { publish } from "../../../test/harness/service";
import { sharedService } from "../../../test/harness/shared-service";

const service = sharedService();

const idsOf = ({ rules }: CheckResult, wanted: string) =>
  rules.filter(({ verdict }) => verdict === wanted).map(({ id }) => id);
const failed = (result?: CheckResult) => (result?.rules ?? []).filter(({ verdict }) => verdict === "failed");

/** Checks the service. Uses a new workspace unless `change` names a workspace. */
async function check(change: Partial<ServiceCheckOptions> = {}): Promise<CheckResult> {
  const { id, secret } = await service.workspaces.make();
  return checkService({ url: new URL(service.url), workspace: id, secrets: [secret], ...change });
}

// contract: order, poll-query-400, poll-signed-response
test("the service breaks no rule, even with held events of all message types and during a rotation of the secret", async () => {
  const { id, secret } = await service.workspaces.make();
  const contents = [create("c1"), update("c1"), ephemeral("c1", "u1"), dm("u1")];
  await publish(service.clients, ...contents.map((content) => ({ workspaceId: id, content })));
  const { signingSecret } = await service.workspaces.rotate(id);
  const result = await check({ workspace: id, secrets: [signingSecret, secret] });
  expect(failed(result)).toEqual([]);
  expect(idsOf(result, "partly checked")).toEqual([
    "same-404",
    "repeats",
    "workspace-limit",
    "address-limit",
  ]);
  expect(result.ok).toBe(true);
});

test("for a workspace with a target URL, the rules about polling are reported as partly checked, not as broken", async () => {
  const { id, secret } = await service.workspaces.make({ targetUrl: "https://8.8.8.8/" });
  const result = await check({ workspace: id, secrets: [secret] });
  expect(failed(result)).toEqual([]);
  expect(result.rules.find((rule) => rule.id === "poll-mode")).toMatchObject({
    note: "the workspace has a target URL",
  });
  const polling = ["poll-query", "poll-query-signed", "page-signed", "poll-latest", "held-events", "cursors"];
  expect(idsOf(result, "partly checked")).toEqual(expect.arrayContaining(polling));
});

test.each<[string, Partial<ServiceCheckOptions>, RegExp]>([
  ["a wrong secret", { secrets: ["another"] }, /^failed: .* 401.*the dashboard showed/],
  ["an unknown workspace", { workspace: randomUUID() }, /^failed: .* 404.*no such workspace/],
  [
    "an address where nothing listens",
    { url: new URL("http://127.0.0.1:1/") },
    /^not reached: .*ECONNREFUSED.*--service/,
  ],
])("%s is reported for the first rule, and all other rules are skipped", async (_what, change, told) => {
  const result = await check(change);
  const [first, ...others] = result.rules;
  const { found, fix } = { found: "", fix: "", ...first };
  expect(`${first?.verdict}: ${found} ${fix}`).toMatch(told);
  expect(new Set(others.map(({ verdict }) => verdict))).toEqual(new Set(["skipped"]));
  expect(result.ok).toBe(false);
});

const rewrite =
  (status: number, change: (body: Record<string, unknown>) => object): Alter =>
  (answer) => {
    if (answer.status !== status) return answer;
    const body = JSON.parse(answer.body.toString()) as Record<string, unknown>;
    return { ...answer, body: Buffer.from(JSON.stringify(change(body))) };
  };
const restatus =
  (from: number, to: number): Alter =>
  (answer) => ({ ...answer, status: answer.status === from ? to : answer.status });

function refusal(status: number, field?: string): ReturnType<Alter> {
  const body = { statusCode: status, message: "invalid", error: STATUS_CODES[status], field };
  return { status, headers: {}, body: Buffer.from(JSON.stringify(body)) };
}

/**
 * Faulty services: the fault, the function that alters the answers, the ids of the broken rules, and a pattern for the
 * first finding.
 */
const BROKEN_SERVICES: readonly [what: string, Alter, breaks: string, RegExp][] = [
  ["answers an event with 200", restatus(202, 200), "accepts", /answered with 200 \{"ok":true\}, not 202/],
  [
    "answers an event with the wrong body",
    rewrite(202, () => ({ message: "" })),
    "accepts",
    /not 202 \{"ok":true\}/,
  ],
  [
    "does not name the invalid field",
    rewrite(400, ({ field: _field, ...body }) => body),
    "field-rules unknown-fields dm-channels body-size poll-query",
    /names no field; expected: id/,
  ],
  [
    "names only the last part of a nested field",
    rewrite(400, ({ field, ...body }) => ({ ...body, field: String(field).split(".").at(-1) })),
    "field-rules unknown-fields body-json",
    /names the field "id"; expected: channel\.id/,
  ],
  [
    "answers with 401 instead of 404",
    restatus(404, 401),
    "check-order same-404",
    /\(unknown workspace\) .* 401.*not 404/,
  ],
  [
    "answers with 401 instead of 409",
    restatus(409, 401),
    "clock check-order",
    /signed 1440 minutes ago .* 401.*not 409/,
  ],
  [
    "has `error` in the body of a 413",
    rewrite(413, (body) => ({ ...body, error: "Payload Too Large" })),
    "body-size",
    /error is "Payload Too Large"; expected: none/,
  ],
  [
    "has the status in the body as a string",
    rewrite(401, (body) => ({ ...body, statusCode: "401" })),
    "signatures-refused check-order poll-query-signed",
    /statusCode is not 401/,
  ],
  [
    "omits the Service-Workspace header of a page",
    (answer) => ({ ...answer, headers: { ...answer.headers, "service-workspace": undefined } }),
    "page-signed",
    /Service-Workspace is missing/,
  ],
  [
    "omits `sequence` from the events of a page",
    rewrite(200, (page) => ({
      ...page,
      events: (page["events"] as object[]).map((event) => ({ ...event, sequence: undefined })),
    })),
    "page-signed held-events",
    /not valid under any secret/,
  ],
  [
    "changes the field `next` of a page",
    rewrite(200, (page) => ({ ...page, next: `1${String(page["next"])}` })),
    "page-signed poll-latest cursors",
    /not valid under any secret/,
  ],
  [
    "counts UTF-16 units instead of characters",
    (answer, _count, body) => {
      const { text } = { text: "", ...(readJson(body) as object | undefined) };
      return answer.status === 202 && text.length > 4_000 ? refusal(400, "text") : answer;
    },
    "field-rules",
    /a message whose text has 4000 characters above U\+FFFF was answered with 400/,
  ],
  [
    "computes the digest over the body after normalizing it to NFC",
    (answer, _count, body) => {
      const text = body.toString();
      return answer.status === 202 && text.normalize("NFC") !== text ? refusal(401) : answer;
    },
    "signatures-taken field-rules dm-channels",
    /a message with characters outside ASCII was answered with 401/,
  ],
  [
    "accepts a digest that was computed over the body decoded as Latin-1",
    (answer, _count, body) =>
      answer.status === 401 && /[^\0-\x7f]/.test(body.toString()) ? ACCEPTED : answer,
    "signatures-refused",
    /a body signed as if it was decoded as Latin-1 was answered with 202/,
  ],
  [
    "compares DM channels after normalization to NFC",
    (answer, _count, body) => {
      const { channel, user } = { channel: "", user: { id: "" }, ...(readJson(body) as object | undefined) };
      const isSame = answer.status === 400 && channel === `dm:${user.id}`.normalize("NFD");
      return isSame ? ACCEPTED : answer;
    },
    "dm-channels",
    /a DM channel that has the user's id in another normalization form was answered with 202/,
  ],
  [
    "accepts bodies in Latin-1",
    (answer, _count, body) => (readJson(body) === undefined && body.includes(0xe9) ? ACCEPTED : answer),
    "body-json",
    /a body in Latin-1, not in UTF-8, was answered with 202/,
  ],
];

describe("a broken service", () => {
  let results: ReadonlyMap<string, CheckResult>;
  /**
   * Runs all checks concurrently, with about 4,000 requests. Each check has its own client address, so that the checks
   * do not share a rate limit.
   */
  beforeAll(async () => {
    const checks = BROKEN_SERVICES.map(async ([what, alter], i): Promise<[string, CheckResult]> => {
      const { id, secret } = await service.workspaces.make();
      const event = { workspaceId: id, content: create("c1") };
      await publish(service.clients, event, event);
      const { url, close } = await startBrokenService(service.url, alter, `127.0.1.${i + 1}`);
      const result = await check({ url, workspace: id, secrets: [secret] });
      await close();
      return [what, result];
    });
    results = new Map(await Promise.all(checks));
  }, 300_000);

  test.each(BROKEN_SERVICES)("is detected if it %s", (what, _alter, breaks, told) => {
    const all = failed(results.get(what));
    expect(all.map(({ id }) => id).join(" ")).toBe(breaks);
    expect(all[0]?.verdict === "failed" && all[0].found).toMatch(told);
  });
});
