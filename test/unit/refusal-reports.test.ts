import { randomUUID } from "node:crypto";
import { jsonFault } from "../../edge/public/json-fault";
import { createRefusalReports } from "../../edge/public/refusal-reports";
import { EdgeRefusal, type ReportRefusalsRequest } from "../../proto/gen/chatbridge/v1/bridge";
import { until } from "../harness/wait";

const { NOT_JSON } = EdgeRefusal;
const sample = () => ({ isPoll: false });

// time: ordering
test("an address that sends requests for many workspaces uses only its share of a report, and requests of other addresses are still reported", async () => {
  const sent: ReportRefusalsRequest[] = [];
  const reports = createRefusalReports(async (request) => sent.push(request), 5);
  const other = randomUUID();
  for (let i = 0; i < 1_000; i++) reports.add(randomUUID(), NOT_JSON, `2001:db8::${i.toString(16)}`, sample);
  for (let i = 0; i < 3; i++) reports.add(other, NOT_JSON, "192.0.2.1", sample);
  reports.add("no id", NOT_JSON, "192.0.2.1", sample);
  await until("a report is sent", () => sent.length > 0);
  reports.close();
  expect(sent[0]?.refusals).toHaveLength(9);
  expect(sent[0]?.refusals.find(({ workspaceId }) => workspaceId === other)?.count).toBe(3);
  expect(reports.unreported).toBe(992);
});

// time: ordering
test("a report that core does not accept is counted as unreported, and the next report is sent", async () => {
  let calls = 0;
  const reports = createRefusalReports(async () => {
    calls += 1;
    if (calls === 1) throw new Error("unavailable");
  }, 5);
  reports.add(randomUUID(), NOT_JSON, "192.0.2.1", sample);
  await until("the report fails", () => reports.unreported === 1);
  reports.add(randomUUID(), NOT_JSON, "192.0.2.1", sample);
  await until("the next report is sent", () => calls === 2);
  reports.close();
  expect(reports.unreported).toBe(1);
});

test.each([
  ["", "the body is empty"],
  ["payload=%7B%7D&a=1", "the body is a form; send JSON"],
  ["<html>", "the body is HTML or XML; send JSON"],
  ["{'a': 1}", "the strings of the body are in single quotes; JSON needs double quotes"],
  ['\ufeff{"a":1}', "the body begins with a byte order mark; leave it out"],
  ['{"a":', "the body ends too early"],
])("the fault of the body %j is: %s", (body, fault) => {
  expect(jsonFault(Buffer.from(body))).toBe(fault);
});

test("the message says so if a body is compressed or is not UTF-8", () => {
  expect(jsonFault(Buffer.from([0x1f, 0x8b, 8, 0]))).toContain("gzip");
  expect(jsonFault(Buffer.from([0x22, 0xff, 0x22]))).toBe("the body is not UTF-8");
  expect(jsonFault(Buffer.from('{"secret": nope}'))).not.toContain("nope");
});
