import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sign } from "../../kit/signature";
import { openApiDocument } from "../../edge/openapi/document";
import { INBOUND_EXAMPLES, OUTBOUND_EXAMPLES, PAGE_EXAMPLES } from "../../edge/openapi/example-events";
import { ROOT } from "../harness/compose-file";
import { docBlocks } from "../harness/doc-blocks";

const GUIDE = "docs/bridge-guide.md";
const REFERENCE = "docs/events.md";
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

test("the event reference and the examples in the bridge guide are up to date", () => {
  const args = ["scripts/events-page.mjs", "--check"];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

test("the JSON in the bridge guide consists of every example event, an error answer and an observation", () => {
  const blocks = docBlocks(GUIDE, "json").map((block) => JSON.parse(block) as object);
  const events = [
    ...Object.values(INBOUND_EXAMPLES),
    ...Object.values(OUTBOUND_EXAMPLES),
    PAGE_EXAMPLES.events,
  ];
  const post = openApiDocument().paths["/hooks/{workspaceId}"]?.post;
  const error = post?.responses["400"]?.content?.["application/json"].examples["invalid"]?.value;
  expect(blocks.filter((block) => !("messages" in block))).toEqual([...events, error]);
});

test("the signatures in the bridge guide are valid", () => {
  const rows = [...read(GUIDE).matchAll(/^\| (?:`(.*?)`|\(empty\)) +\| `([0-9a-f]{64})` \|$/gm)];
  const expected = rows.map(([, raw = ""]) => sign(raw, ["example-secret"], 1_767_605_400_000));
  expect(rows.map(([, , v1]) => `t=1767605400,v1=${v1}`)).toEqual(expected);
  expect(rows.map(([, raw]) => raw)).toEqual(['{"ok":true}', "after=1767605412031507&limit=10", undefined]);
});

test("the diagram of a button press and the text below it describe the same steps", () => {
  const [diagram = ""] = docBlocks(REFERENCE, "mermaid");
  const drawn = [...diagram.matchAll(/^ +(\w+)->>(\w+): (.+)$/gm)].map(([, ...step]) => step);
  const written = [...read(REFERENCE).matchAll(/^\d+\. \*\*(\w+) → (\w+)\*\*: (.+)$/gm)].map(
    ([, ...step]) => step,
  );
  expect(drawn.length).toBeGreaterThan(10);
  expect(written).toEqual(drawn);
});
