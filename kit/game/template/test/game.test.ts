// test/game.test.ts: plays the game in a chat in memory
import test from "node:test";
import { testGame } from "chat-bridge-game/testing";
import { game } from "../src/game.js";

test("a member guesses the word of another member", async () => {
  const chat = testGame(game);
  const ada = chat.member("Ada");
  const bo = chat.member("Bo");
  await ada.types("/word start");
  ada.sees("Which word");
  await ada.replies("Tiger");
  chat.room.shows("t····");
  await bo.presses("Hint");
  chat.room.shows("ti···");
  await chat.restart(); // the state survives
  await bo.types("tiger");
  chat.room.shows("**Bo** knew it: **tiger**");
  await chat.stop();
});

test("nobody guesses the word in time", async () => {
  const chat = testGame(game);
  const ada = chat.member("Ada");
  await ada.types("/word start");
  await ada.replies("zebra");
  await chat.clock.advance("59 s");
  chat.room.hides("Nobody");
  await chat.clock.advance("1 s");
  chat.room.shows("**Nobody** knew it: **zebra**");
  await chat.redeliver(); // no event counts twice
  await chat.stop();
});
