import { many } from "../harness/for-all";
import { answerBytes, piecesOf } from "./answer-bytes";
import { differenceOf, DIFFERENCES } from "./answer-differences";
import { coreAnswer } from "./core-answer";
import { nodeAnswers } from "./node-answer";
import { createRandom, SEED } from "./random";

const CASES = 200_000;
const BATCH = 500;
/** Timeout in ms. The test alone takes half a minute, but other tests slow it down when they run at the same time. */
const ALL_CASES_MS = 600_000;
const FOUND_MOST = 10;

test(
  `core and Node parse ${CASES} answers alike, except for the documented differences`,
  async () => {
    const random = createRandom(SEED);
    const explained = new Map<string, number>();
    const unexplained: string[] = [];
    for (let done = 0; done < many(CASES) && unexplained.length < FOUND_MOST; done += BATCH) {
      const cases = Array.from({ length: BATCH }, () => piecesOf(random, answerBytes(random)));
      const nodes = await nodeAnswers(cases);
      for (const [i, pieces] of cases.entries()) {
        const node = nodes[i];
        if (node === undefined) continue;
        const bytes = Buffer.concat(pieces);
        // Node rejects a line at its first invalid byte; core checks only complete heads and complete lines of chunks.
        const core = coreAnswer(pieces, node.error !== "");
        const difference = differenceOf(bytes.toString("latin1"), core, node);
        if (difference === undefined) continue;
        if ("reason" in difference)
          explained.set(difference.reason, (explained.get(difference.reason) ?? 0) + 1);
        else unexplained.push(`${difference.words}: ${JSON.stringify(bytes.toString("latin1"))}`);
      }
    }
    expect({ SEED, unexplained }).toEqual({ SEED, unexplained: [] });
    // If a documented difference never occurs, remove it from `DIFFERENCES` and from
    // docs/decisions/0018-own-push-client.md.
    expect([...explained.keys()].toSorted()).toEqual(DIFFERENCES.map(({ reason }) => reason).toSorted());
  },
  ALL_CASES_MS,
);
