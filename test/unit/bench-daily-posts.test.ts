import { dailyPosts } from "../../bench/daily-posts";

const MB = 1024 * 1024;
/** 36 hours and 10 minutes, in seconds. */
const ID_SECONDS = 130_200;

test("if core removes acked events, the request ids alone decide how many POSTs fit into 512 MB", () => {
  const { perSecond } = dailyPosts({ emptyBytes: 12 * MB, idBytes: 40, ackedBytes: 0 });
  expect(perSecond).toBeCloseTo((500 * MB) / (40 * ID_SECONDS));
});

test("an acked event that stays in the logs occupies memory for a day", () => {
  const { perSecond, lines } = dailyPosts({ emptyBytes: 0, idBytes: 51, ackedBytes: 173 });
  expect(perSecond).toBeCloseTo((512 * MB) / (51 * ID_SECONDS + 173 * 86_400));
  expect(lines).toEqual([
    "  request id: 51.0 bytes for at most 36.2 hours, so 6.33 MB for one POST per second",
    "  acked event in the logs: 173.0 bytes for at most 24.0 hours, so 14.25 MB for one POST per second",
    "  (512 MB - 0.0 MB of an empty service) / 20.59 MB = 24.9 POSTs per second, averaged over a day, whose events one group acks",
  ]);
});
