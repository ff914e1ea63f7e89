import { createCatchUp } from "../../../bridge/catch-up";
import type { EventPage } from "../../../bridge/events";

test("a gap is told once, though every page of an idle workspace tells of it", async () => {
  const told: string[] = [];
  const never = (): Promise<never> => Promise.reject(new Error("nothing is to be shown"));
  const catchUp = createCatchUp({
    chat: { post: never, dm: never, edit: never, ephemeral: never },
    onEffect: ({ type }) => told.push(type),
  });
  const page = (next: string, gap: boolean): EventPage => ({ events: [], next, hasMore: false, gap });
  for (let i = 0; i < 3; i++) await catchUp.handlePage(page("7", true));
  expect(told).toEqual(["missed"]);
  await catchUp.handlePage(page("7", false));
  await catchUp.handlePage(page("7", true));
  await catchUp.handlePage(page("9", true));
  expect(told).toEqual(["missed", "missed", "missed"]);
  await catchUp.close();
});
