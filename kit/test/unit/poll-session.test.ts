import { errorAnswer, pageAnswer } from "../../check/poll/fake-service";
import type { PollRequest } from "../../check/poll/poll-log";
import { PollSession } from "../../check/poll/poll-session";

const TO = { workspace: "6f1c0bd8-6d2f-4b5e-9a53-1f7c0c1d2e3f", secrets: ["a-secret"] };

function poll(after: string): PollRequest {
  const query = `after=${after}`;
  return {
    target: `/poll?${query}`,
    query,
    parameters: [["after", after]],
    after,
    limit: 100,
    signature: undefined,
    atMs: performance.now(),
    nowMs: Date.now(),
  };
}

// time: ordering
test("if one of two concurrent polls gets an error and the other a page, the next poll counts as the follow-up to both", async () => {
  const session = new PollSession({
    page: (content, next) => pageAnswer(content, next, TO),
    pollWithinMs: 1_000,
    filler: () => [],
  });
  session.begin("1");
  const answers = [poll("1"), poll("1")].map((each) => session.answer(each));
  const polled = session.answerNext(() => errorAnswer(503, "try again"), "the error");
  const passed = session.pass({ events: [] }, "the page");
  const [error, page] = await Promise.all(answers);
  expect([error?.status, page?.status]).toEqual([503, 200]);
  const { next } = JSON.parse(String(page?.body)) as { next: string };
  const last = session.answer(poll(next));
  await expect(polled).resolves.toMatchObject({ next: { after: next } });
  await expect(passed).resolves.toBeUndefined();
  session.close();
  await last;
});
