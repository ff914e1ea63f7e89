import { createSigningSecret } from "../../core/domain/workspace";
import { changesBetween, createChange } from "../../core/domain/workspace-changes";
import { newWorkspace } from "../harness/new-workspace";

const BEFORE = newWorkspace({ name: "Old", ownerEmail: "old@example.com", targetUrl: "" });
const SECRET = createSigningSecret("a new secret", 1);
const shown = (...args: Parameters<typeof changesBetween>): readonly string[] =>
  changesBetween(...args).map(({ by, change, detail }) => `${by} ${change} ${detail}`.trim());

test.each([
  ["the name", { name: "New" }, ["ann renamed Old → New"]],
  [
    "the owner's email",
    { ownerEmail: "new@example.com" },
    ["ann email-changed old@example.com → new@example.com"],
  ],
  ["an email that is removed", { ownerEmail: "" }, ["ann email-changed old@example.com → none"]],
  [
    "two fields",
    { name: "New", ownerEmail: "" },
    ["ann renamed Old → New", "ann email-changed old@example.com → none"],
  ],
  ["a target URL", { targetUrl: "https://b.example/e" }, ["ann target-url-set https://b.example/e"]],
  ["a disconnection", { connected: false, secrets: [] }, ["ann disconnected"]],
  ["a new secret", { secrets: [SECRET] }, ["ann secret-rotated"]],
  ["nothing", {}, []],
])("a write that changes %s is logged with the old and the new value", (_what, change, logged) => {
  expect(shown(BEFORE, { ...BEFORE, ...change }, "ann")).toEqual(logged);
});

test("a connection, a cleared target URL and a new workspace are logged", () => {
  const disconnected = { ...BEFORE, connected: false, secrets: [] };
  expect(shown(disconnected, { ...BEFORE, secrets: [SECRET] }, "ann")).toEqual(["ann connected"]);
  const pushes = { ...BEFORE, targetUrl: "https://b.example/e" };
  expect(shown(pushes, BEFORE, "ann")).toEqual(["ann target-url-cleared https://b.example/e"]);
  expect(shown(undefined, pushes, "ann")).toEqual([
    "ann created Old",
    "ann target-url-set https://b.example/e",
  ]);
});

test("the log contains neither secrets nor the queries of target URLs, and its details are bounded in length", () => {
  const after = { ...BEFORE, secrets: [SECRET], targetUrl: "https://b.example/e?key=hidden#hidden" };
  expect(shown(BEFORE, after, "ann")).toEqual([
    "ann secret-rotated",
    "ann target-url-set https://b.example/e?…",
  ]);
  const { detail } = createChange("ann", "renamed", "x".repeat(5_000));
  expect([detail.length, detail.endsWith("x…")]).toEqual([512, true]);
});
