import { createHmac } from "node:crypto";
import { createRequestNotes } from "../../core/operations/note-request";
import type { RefusedRequests } from "../../core/ports/hour-counts";
import type { Workspaces } from "../../core/ports/workspaces";
import { newWorkspace } from "../harness/new-workspace";

const BODY = Buffer.from('{"a":1}');
const DIGEST = `v1=${createHmac("sha256", "another secret").update(BODY).digest("hex")}`;

/** Returns notes for `count` workspaces, and the samples that were kept. */
function start(count: number) {
  const all = Array.from({ length: count }, () => newWorkspace());
  const recall = (id: string) => ({ workspace: all.find((each) => each.id === id), version: "1" });
  const kept: string[] = [];
  const notes = createRequestNotes({
    now: Date.now,
    workspaces: { recall } as unknown as Workspaces,
    hourCounts: { add: () => undefined, read: async () => new Map() },
    refusedRequests: {
      isWanted: () => true,
      keep: (id: string, sampleClass: string) =>
        kept.push(`${all.findIndex((each) => each.id === id)} ${sampleClass}`),
    } as unknown as RefusedRequests,
  });
  /** Refuses one request for each workspace whose index is between `first` and `last`. Returns the kept samples. */
  function refuse(first: number, last: number, signature: string | undefined): readonly string[] {
    kept.length = 0;
    for (const { id: workspaceId } of all.slice(first, last + 1)) {
      const caller = {
        workspaceId,
        sourceAddress: "127.0.0.1",
        signature,
        signed: BODY,
        method: "POST" as const,
      };
      notes.refused(caller, { refused: "signature" });
    }
    return [...kept];
  }
  return { refuse };
}

// time: controlled
test("floods of wrong digests at many workspaces do not prevent the diagnosis of wrong digests at other workspaces", () => {
  const clock = jest.spyOn(performance, "now");
  const { refuse } = start(41);
  for (let second = 1; second <= 5; second++) {
    clock.mockReturnValue(second * 1_000);
    const flooded = refuse(0, 19, `t=1,${DIGEST}`);
    expect(flooded).toHaveLength(second === 1 ? 20 : 10);
    const other = refuse(20 + second, 20 + second, `t=1,${DIGEST}`);
    expect(other).toHaveLength(second === 1 ? 0 : 1);
  }
  clock.mockRestore();
});

// time: controlled
test("requests without a digest do not use up the diagnosis of a wrong digest", () => {
  const clock = jest.spyOn(performance, "now").mockReturnValue(1_000);
  const { refuse } = start(1);
  expect(refuse(0, 0, undefined)).toEqual(["0 signature-missing"]);
  expect(refuse(0, 0, "t=1,v1=zz")).toEqual(["0 signature-malformed"]);
  expect(refuse(0, 0, "t=1,v1=00")).toEqual(["0 signature-unknown"]);
  expect(refuse(0, 0, `t=1,${DIGEST}`)).toEqual(["0 signature-unknown"]);
  expect(refuse(0, 0, `t=1,${DIGEST}`)).toEqual([]);
  clock.mockRestore();
});
