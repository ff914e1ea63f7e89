import type { UnfinishedPage } from "../../page-progress";
import { ReadAhead } from "../../read-ahead";

test("the pages of an idle workspace take no memory, even if the handler finishes none of them", () => {
  const ahead = new ReadAhead();
  const progress = jest.fn<ReturnType<UnfinishedPage["progress"]>, []>(() => ({ is: "busy" }));
  for (let i = 1; i <= 10; i++) ahead.add({ events: [], next: `${i}`, unfinished: { progress } });
  expect(ahead.end).toBe("10");
  ahead.problem();
  expect(progress).toHaveBeenCalledTimes(1);
  progress.mockReturnValue({ is: "done" });
  expect(ahead.pass()).toBe("10");
});
