// A game that answers each command once. It runs in a pod, with the game kit of the image.
import { createRequire } from "node:module";

const { createGame, startGame } = createRequire("/app/dist/")("./kit/game/index.js");

const game = createGame({ name: "echo", per: "workspace", state: () => ({ answers: 0 }) });
game.command("say", "answers", (turn) => {
  turn.state.answers++;
  turn.reply("heard");
});
await startGame(game);
