import * as fc from "fast-check";
import { many } from "../../../../test/harness/for-all";
import { createGame } from "../../index";
import { World } from "./world";

type Move = { readonly row: number };

function isMove(payload: unknown): payload is Move {
  // Throws for null, as the checks of many authors do.
  return typeof (payload as Move).row === "number";
}

/** A game with a checked button. Records what its handlers get. */
function moves(hasOtherAction: boolean) {
  const got: unknown[] = [];
  const game = createGame({ name: "moves" });
  const move = game.action<Move>("move", (_turn, { row }) => got.push(row), { check: isMove });
  game.command("show", "shows a button", (turn) =>
    turn.reply({ text: "go", buttons: [[move("Go", { row: 2 })]] }),
  );
  if (hasOtherAction) game.otherAction((turn) => turn.ephemeral("That button is outdated."));
  const world = new World(game);
  const run = world.start();
  const messageId = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const press = (action: string) => world.does({ $case: "action", value: { messageId, action } });
  return { world, run, press, got };
}

test("a handler gets only payloads that pass its check", async () => {
  const { run, press, got } = moves(false);
  await press('moves:move:{"row":2}');
  for (const payload of ["", ":null", ':"row"', ':{"row":"2"}', ":[]", ":{"])
    await press(`moves:move${payload}`);
  expect(got).toEqual([2]);
  expect(run.counts).toMatchObject({ handled: 1, ignored: 6, invalidPresses: 6, failed: 0 });
});

test("`otherAction` handles presses that have an invalid payload or no handler, but not the presses of other games' buttons", async () => {
  const { world, run, press } = moves(true);
  for (const action of ["moves:move:null", "moves:old", "moves:", "other:move:null", "moves"])
    await press(action);
  expect(world.shown).toEqual(Array.from({ length: 3 }, () => "room (ada): That button is outdated."));
  expect(run.counts).toMatchObject({ handled: 3, ignored: 2, invalidPresses: 3, failed: 0 });
});

test("no payload makes a checked handler fail", async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (payload) => {
      const { run, press, got } = moves(true);
      await press(`moves:move:${JSON.stringify(payload)}`.slice(0, 500));
      expect(run.counts.failed).toBe(0);
      expect(got.every((row) => typeof row === "number")).toBe(true);
    }),
    { numRuns: many(100) },
  );
});
